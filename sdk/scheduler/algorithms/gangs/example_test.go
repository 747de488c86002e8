package gangs_test

import (
	"fmt"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/gangs"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// A bundle needs three slots at once, and two are free. Once it was passed over for half a
// minute, smaller work no longer finds them.
func Example() {
	var v view.View
	free := []scheduler.SlotCount{{Kind: scheduler.DefaultKind, Count: 2}}
	one := scheduler.Group{Kind: scheduler.DefaultKind, Slots: 1}
	for minute := range 2 {
		r := scheduler.Round{
			Number: v.Round() + 1,
			Now:    scheduler.Time(0).Add(time.Duration(minute) * time.Minute),
			Offers: []scheduler.Offer{{Launcher: 1, Free: free}},
		}
		if minute == 0 {
			r.Events = []scheduler.Event{
				scheduler.LauncherJoined{Launcher: 1, Slots: []scheduler.SlotCount{{Kind: scheduler.DefaultKind, Count: 3}}},
				scheduler.JobSubmitted{Job: scheduler.Job{ID: 1, Stages: []scheduler.Stage{{Groups: 4, Kind: scheduler.DefaultKind, Slots: 1}}}},
				scheduler.BundleReady{Job: 1, Bundle: 1, Groups: []scheduler.Group{one, one, one}},
				scheduler.BundleReady{Job: 1, Bundle: 2, Groups: []scheduler.Group{one}},
			}
		}
		if err := v.Apply(r); err != nil {
			fmt.Println(err)
			return
		}
		var kept gangs.Holdback
		gang := v.Bundle(1)
		_, fits := v.Fit(gang)
		if _, ever := v.FitIfEmpty(gang); !fits && ever && gangs.Overdue(&v, gang, 30*time.Second) {
			kept.HoldFor(&v, gang, 30*time.Second)
		}
		_, fits = v.Fit(v.Bundle(2))
		fmt.Printf("after %d min: %d slots are kept, the small bundle fits: %t\n", minute, kept.Slots(scheduler.DefaultKind), fits)
		kept.Release(&v)
	}
	// Output:
	// after 0 min: 0 slots are kept, the small bundle fits: true
	// after 1 min: 2 slots are kept, the small bundle fits: false
}
