package cluster_test

import (
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/policytest/cluster"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// TestLaunchesAhead: while one job alone waits, a policy launches ahead by view.LaunchAhead. No more
// attempts hold slots than there are slots. With a second job that waits, it launches nothing ahead.
func TestLaunchesAhead(t *testing.T) {
	c := cluster.New(1)
	c.Started(scheduler.Description{Name: "ahead", Version: "1", Abilities: scheduler.AbilityAhead})
	c.Join(1, "", 8<<30, scheduler.SlotCount{Kind: scheduler.DefaultKind, Count: 2})
	one := []cluster.GroupSpec{{Kind: scheduler.DefaultKind, Slots: 1}}
	c.Submit(cluster.Spec{Name: "first", Layers: []cluster.Layer{{Bundles: 40, Groups: one, Run: 40 * time.Millisecond}}})
	var v view.View
	ahead, took, beside, second := 0, 0, 0, false
	for c.Step() {
		r := c.Round()
		if err := v.Apply(r); err != nil {
			t.Fatal(err)
		}
		for _, e := range r.Events {
			if _, is := e.(scheduler.AttemptTookSlots); is {
				took++
			}
		}
		if held := len(v.Launcher(1).Attempts()); held > 2 {
			t.Fatalf("%d attempts hold slots of 2", held)
		}
		var d scheduler.Decisions
		for b := range v.Ready() {
			if where, fits := v.Fit(b); fits {
				d.Launch = append(d.Launch, v.Launch(b, where))
			}
		}
		n, both := len(d.Launch), len(v.Jobs()) == 2
		for _, j := range v.Jobs() {
			both = both && j.FirstReady() != nil
		}
		d.Launch = v.LaunchAhead(d.Launch, nil, nil)
		if ahead += len(d.Launch) - n; len(d.Launch) > n && both {
			beside++
		}
		c.Apply(r.Number, d)
		if took == 10 && !second {
			second = true
			c.Submit(cluster.Spec{Name: "second", Layers: []cluster.Layer{{Bundles: 40, Groups: one, Run: 40 * time.Millisecond}}})
		}
	}
	if len(c.Faults) > 0 || c.Tally.Ended != 2 {
		t.Errorf("%d jobs ended, faults %q", c.Tally.Ended, c.Faults)
	}
	if took < 10 || took > ahead || beside > 0 {
		t.Errorf("%d were launched ahead and %d of them took slots; %d rounds launched ahead while another job waited", ahead, took, beside)
	}
}
