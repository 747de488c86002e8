package hfsp

import (
	"testing"

	"github.com/hamadryad/hamadryad/policytest"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// A gang has groups for two kinds of slots. It is to be suspended, and its launcher can't suspend the attempt that has the
// stage's kind. When that has ended, the rest of the gang goes on.
func TestTheRestOfAGangGoesOn(t *testing.T) {
	const launcher, job, bundle = 1, 1, 1
	p := &Policy{}
	if _, err := p.Start(scheduler.Config{}, scheduler.Snapshot{Now: 1}, policytest.Environment()); err != nil {
		t.Fatal(err)
	}
	round := func(number uint64, free []scheduler.SlotCount, events ...scheduler.Event) scheduler.Decisions {
		t.Helper()
		d, err := p.AssignTasks(scheduler.Round{
			Number: number, Now: scheduler.Time(10 * number), Events: events,
			Offers: []scheduler.Offer{{Launcher: launcher, Free: free, Memory: 1 << 30}},
		})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	both := []scheduler.SlotCount{{Kind: "map", Count: 1}, {Kind: "reduce", Count: 1}}
	groups := []scheduler.Group{{Kind: "map", Slots: 1}, {Stage: 1, Kind: "reduce", Slots: 1}}
	d := round(1, both,
		scheduler.LauncherJoined{At: 10, Launcher: launcher, Host: "h", Slots: both, Memory: 1 << 30},
		scheduler.JobSubmitted{At: 10, Job: scheduler.Job{ID: job, Stages: []scheduler.Stage{
			{Groups: 1, Kind: "map", Slots: 1}, {ID: 1, Groups: 1, Kind: "reduce", Slots: 1},
		}}},
		scheduler.BundleReady{At: 10, Job: job, Bundle: bundle, Groups: groups})
	if len(d.Launch) != 1 {
		t.Fatalf("%+v, want a launch", d)
	}
	round(2, nil,
		scheduler.Outcome{At: 20, Round: 1, Kind: scheduler.DecisionLaunch, Accepted: true, Attempts: []scheduler.AttemptID{1, 2}, Launch: d.Launch[0]},
		scheduler.AttemptStarted{At: 20, Attempt: 1, Job: job, Bundle: bundle, Launcher: launcher},
		scheduler.AttemptStarted{At: 20, Attempt: 2, Job: job, Bundle: bundle, Group: 1, Stage: 1, Launcher: launcher},
		scheduler.AttemptSuspended{At: 20, Attempt: 2})
	d = round(3, both, scheduler.AttemptEnded{At: 30, Attempt: 1, Outcome: scheduler.Finished})
	if len(d.Resume) != 1 || d.Resume[0].Attempt != 2 {
		t.Errorf("%+v, want attempt 2 resumed", d)
	}
}
