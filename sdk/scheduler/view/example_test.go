package view_test

import (
	"fmt"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// The smallest useful policy: launch whatever fits.
func Example() {
	var v view.View
	slots := []scheduler.SlotCount{{Kind: scheduler.DefaultKind, Count: 2}}
	group := scheduler.Group{Kind: scheduler.DefaultKind, Slots: 1}
	err := v.Apply(scheduler.Round{
		Number: 1,
		Events: []scheduler.Event{
			scheduler.LauncherJoined{Launcher: 1, Slots: slots},
			scheduler.JobSubmitted{Job: scheduler.Job{ID: 1, Stages: []scheduler.Stage{{Groups: 4, Kind: scheduler.DefaultKind, Slots: 1}}}},
			scheduler.BundleReady{Job: 1, Bundle: 10, Groups: []scheduler.Group{group, group, group}},
			scheduler.BundleReady{Job: 1, Bundle: 11, Groups: []scheduler.Group{group}},
		},
		Offers: []scheduler.Offer{{Launcher: 1, Free: slots}},
	})
	if err != nil {
		fmt.Println(err)
	}
	for b := range v.Ready() {
		if where, ok := v.Fit(b); ok {
			fmt.Println("launch", v.Launch(b, where))
		} else {
			fmt.Println(b.ID, "needs", len(b.Groups), "slots at once")
		}
	}
	// Output:
	// bundle-10 needs 3 slots at once
	// launch {bundle-11 [1] false}
}
