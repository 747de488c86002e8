package cluster_test

import (
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/policytest/cluster"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// TestLostPartOfAGang: what a finished group of a gang stored is lost while another group
// runs, so that all of the gang has to run again.
func TestLostPartOfAGang(t *testing.T) {
	c := cluster.New(1)
	c.Started(scheduler.Description{Name: "by hand", Version: "1"})
	for id := scheduler.LauncherID(1); id <= 2; id++ {
		c.Join(id, "", 8<<30, scheduler.SlotCount{Kind: scheduler.DefaultKind, Count: 1})
	}
	one := cluster.GroupSpec{Kind: scheduler.DefaultKind, Slots: 1}
	c.Submit(cluster.Spec{Name: "gang", Layers: []cluster.Layer{
		{Bundles: 1, Run: time.Minute, Groups: []cluster.GroupSpec{one, one}},
		{Bundles: 1, Run: time.Second, Groups: []cluster.GroupSpec{one}, After: []int{0}},
	}})
	var v view.View
	round := func() (ended []scheduler.AttemptEnded) {
		r := c.Round()
		if err := v.Apply(r); err != nil {
			t.Fatal(err)
		}
		for _, e := range v.Ended() {
			ended = append(ended, e.Event)
		}
		var d scheduler.Decisions
		for b := range v.Ready() {
			if where, ok := v.Fit(b); ok {
				d.Launch = append(d.Launch, v.Launch(b, where))
			}
		}
		c.Apply(r.Number, d)
		return ended
	}
	where := map[scheduler.AttemptID]scheduler.LauncherID{}
	var first []scheduler.AttemptEnded
	for len(first) == 0 && c.Step() {
		for _, j := range v.Jobs() {
			for _, a := range j.Attempts() {
				where[a.ID] = a.Launcher
			}
		}
		first = round()
	}
	c.Lose(where[first[0].Attempt])
	var second []scheduler.AttemptEnded
	for len(second) == 0 && c.Step() {
		second = round()
	}
	if len(first) != 1 || first[0].Outcome != scheduler.Finished || len(second) != 1 || second[0].Outcome != scheduler.Lost {
		t.Errorf("the first to end %+v, then %+v", first, second)
	}
	if ready := v.Job(1).ReadyCount(); ready != 1 {
		t.Errorf("%d bundles may start, want the gang", ready)
	}
}
