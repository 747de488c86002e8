package cluster_test

import (
	"fmt"
	"time"

	"github.com/hamadryad/hamadryad/policytest/cluster"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// A cluster runs a job under a policy that launches whatever fits.
func ExampleCluster() {
	c := cluster.New(1)
	c.Started(scheduler.Description{Name: "example", Version: "1"})
	c.Join(1, cluster.Rack(1), 8<<30, scheduler.SlotCount{Kind: scheduler.DefaultKind, Count: 2})
	one := []cluster.GroupSpec{{Kind: scheduler.DefaultKind, Slots: 1}}
	c.Submit(cluster.Spec{Name: "job", Layers: []cluster.Layer{{Bundles: 3, Groups: one, Run: time.Second}}})
	var v view.View
	for c.Step() {
		r := c.Round()
		if err := v.Apply(r); err != nil {
			fmt.Println(err)
		}
		var d scheduler.Decisions
		for b := range v.Ready() {
			if where, fits := v.Fit(b); fits {
				d.Launch = append(d.Launch, v.Launch(b, where))
			}
		}
		c.Apply(r.Number, d)
	}
	fmt.Println(c.Tally.Launches, "launches,", c.Tally.Ended, "job ended, faults", c.Faults)
	// Output: 3 launches, 1 job ended, faults []
}
