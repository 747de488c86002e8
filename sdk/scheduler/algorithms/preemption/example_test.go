package preemption_test

import (
	"fmt"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/preemption"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// A launcher's only slot is taken. The search finds whose attempt to stop for a bundle of
// another job.
func Example() {
	var v view.View
	one := []scheduler.Group{{Kind: scheduler.DefaultKind, Slots: 1}}
	stages := []scheduler.Stage{{Groups: 1, Kind: scheduler.DefaultKind, Slots: 1}}
	launch := scheduler.Launch{Bundle: 1, Launchers: []scheduler.LauncherID{1}}
	rounds := []scheduler.Round{
		{Number: 1, Events: []scheduler.Event{
			scheduler.LauncherJoined{Launcher: 1, Slots: []scheduler.SlotCount{{Kind: scheduler.DefaultKind, Count: 1}}},
			scheduler.JobSubmitted{Job: scheduler.Job{ID: 1, Stages: stages}},
			scheduler.BundleReady{Job: 1, Bundle: 1, Groups: one},
		}},
		{Number: 2, Events: []scheduler.Event{
			scheduler.Outcome{Kind: scheduler.DecisionLaunch, Accepted: true, Attempts: []scheduler.AttemptID{1}, Launch: launch},
			scheduler.AttemptStarted{Job: 1, Bundle: 1, Attempt: 1, Launcher: 1},
			scheduler.JobSubmitted{Job: scheduler.Job{ID: 2, Stages: stages}},
			scheduler.BundleReady{Job: 2, Bundle: 2, Groups: one},
		}, Offers: []scheduler.Offer{{Launcher: 1}}},
	}
	for _, r := range rounds {
		if err := v.Apply(r); err != nil {
			fmt.Println(err)
			return
		}
	}
	candidates := []*view.Attempt{v.Attempt(1)}
	search := preemption.Search{View: &v, Bundle: v.Bundle(2), Most: 64}
	victims, where := search.Find(func() (next []*view.Attempt) {
		next, candidates = candidates, nil
		return next
	}, nil)
	fmt.Println("victims by place:", victims, "then launch on", where)
	// Output: victims by place: [0] then launch on [1]
}
