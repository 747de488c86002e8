package policy_test

import (
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/policytest"
	"github.com/hamadryad/hamadryad/policytest/cluster"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/policy"
)

// TestReserveKeepsTheLimit: Reserve returns false at the site's limit, and a withdrawal makes room. The manager
// refuses nothing.
func TestReserveKeepsTheLimit(t *testing.T) {
	made, refused := 0, 0
	eager := policy.Policy[policy.None, policy.None]{Name: "eager", Version: "1", Assign: func(p *pass) error {
		made, refused = 0, 0
		for b := range p.Ready(policy.Filter{}) {
			if b.ID == 1 && p.Unreserve(b) && p.Unreserve(b) {
				t.Error("one reservation is withdrawn twice")
			}
		}
		for b := range p.Ready(policy.Filter{}) {
			switch {
			case b.ReservedUntil != 0 && b.ID != 1:
				made++ // before
			case b.ID == 1 && b.ReservedUntil != 0: // just withdrawn
			case p.Reserve(b, p.Now().Add(time.Hour)) && p.Reserve(b, p.Now().Add(2*time.Hour)):
				made++
			default:
				refused++
			}
		}
		return nil
	}}
	p := policytest.Play(t, "", eager.New)
	p.Launchers(1, 4)
	one := []cluster.GroupSpec{{Kind: scheduler.DefaultKind, Slots: 1}}
	const all = cluster.ReservationsMax + 3
	p.At(0, cluster.Spec{Name: "many", Layers: []cluster.Layer{{Bundles: all, Groups: one, Run: time.Minute}}})
	for i := range 3 { // the second round withdraws one, and reserves another
		p.Cluster.Step()
		p.Round()
		if made != cluster.ReservationsMax || made+refused < all-1 {
			t.Errorf("round %d: %d bundles of %d have a reservation, and %d were refused, want %d with one", i, made, all, refused, cluster.ReservationsMax)
		}
	}
}

// TestReserveKeepsToTheUserLimit: a reservation is dropped whose user is at the limit after the launches of the same pass,
// since the manager launches first and would refuse it. Before and after, Reserve says the same.
func TestReserveKeepsToTheUserLimit(t *testing.T) {
	reserved, after, launched := false, true, 0
	greedy := policy.Policy[policy.None, policy.None]{Name: "greedy", Version: "1", Assign: func(p *pass) error {
		for _, e := range p.Events() {
			if o, is := e.(scheduler.Outcome); is && !o.Accepted {
				t.Errorf("the manager refuses to %s: %s", o.Kind, o.Detail)
			}
		}
		for _, j := range p.Jobs() {
			first := j.FirstReady()
			if first == nil {
				continue
			}
			reserved = p.Reserve(first, p.Now().Add(time.Hour))
			for b := range p.Ready(policy.Filter{Job: j}) {
				if b != first && p.Launch(b) {
					launched++
				}
			}
			after = p.Reserve(first, p.Now().Add(time.Hour))
		}
		return nil
	}}
	p := policytest.Play(t, "", greedy.New)
	p.Launchers(1, 4)
	p.Cluster.LimitUsers(scheduler.UserLimit{Slots: 2}, nil)
	one := []cluster.GroupSpec{{Kind: scheduler.DefaultKind, Slots: 1}}
	p.At(0, cluster.Spec{Name: "many", User: "ann", Layers: []cluster.Layer{{Bundles: 4, Groups: one, Run: time.Minute}}})
	first := scheduler.Decisions{}
	p.Look = func(d scheduler.Decisions) {
		if len(d.Reserve) > 0 {
			t.Errorf("it decides %v, although its user is at the limit after its launches", d.Reserve)
		}
		if len(d.Launch) > 0 && len(first.Launch) == 0 {
			first = d
			if !reserved || after {
				t.Errorf("reserved before %t and after %t the launches, want before alone", reserved, after)
			}
		}
	}
	for range 3 {
		if p.Cluster.StepUntil(p.Begin.Add(30 * time.Second)) {
			p.Round()
		}
	}
	if len(first.Launch) != 2 || launched != 2 || reserved {
		t.Errorf("%d launched at first and %d in all, and reserved %t at the limit, want 2, 2 and false", len(first.Launch), launched, reserved)
	}
}
