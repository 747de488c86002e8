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
