package policies

import (
	"testing"

	"github.com/hamadryad/hamadryad/policytest"
	"github.com/hamadryad/hamadryad/policytest/cluster"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// TestConformance runs each policy through the kit, and sees that it did what it
// is there for.
func TestConformance(t *testing.T) {
	for _, c := range []struct {
		name string
		new  func() scheduler.TaskScheduler
		did  func(cluster.Tally) bool
	}{
		{"suspend", Suspend, func(t cluster.Tally) bool {
			return t.Suspensions > 0 && t.Resumptions > 0 && t.ForSuspended > 0 && t.Stuck > 0 && t.Overdue > 0 && t.Raced > 0
		}},
		{"gang", Gang, func(t cluster.Tally) bool { return t.Victims > 0 && t.Suspensions == 0 }},
		{"reserve", Reserve, func(t cluster.Tally) bool { return t.Planned > 0 && t.PlannedUsed > 0 && t.Victims == 0 }},
		{"load", Load, func(t cluster.Tally) bool { return t.Loads > 0 && t.Busy == 0 }},
		{"delay", Delay, func(t cluster.Tally) bool { return t.Local > 0 }},
		{"admit", Admit, func(t cluster.Tally) bool { return t.Admitted > 0 && t.RefusedJobs > 0 }},
		{"pages", Pages, func(t cluster.Tally) bool { return t.Answers > 0 && t.Notes > 0 && t.Checkpoints > 0 }},
		{"remember", Remember, func(t cluster.Tally) bool { return t.Checkpoints > 0 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := policytest.Run(t, c.new, policytest.Options{})
			if r.Tally.StagesGrown == 0 {
				t.Error("no game had a stage whose groups were chosen by bytes")
			}
			if !t.Failed() && !c.did(r.Tally) {
				t.Errorf("the games did not call for what %s is there for", c.name)
			}
		})
	}
}

// TestOthersLaunchOnBusyMachines: that Load never does is not for want of any.
func TestOthersLaunchOnBusyMachines(t *testing.T) {
	r := policytest.Run(t, func() scheduler.TaskScheduler {
		p := Gang().(*base)
		p.about.Abilities |= scheduler.AbilityLoad // it receives loads, and ignores them
		return p
	}, policytest.Options{})
	if r.Tally.Busy == 0 {
		t.Error("no machine that had room was ever busy")
	}
}

// TestDelayFindsHomes compares the local work of Delay with that without waiting.
func TestDelayFindsHomes(t *testing.T) {
	waits := policytest.Run(t, Delay, policytest.Options{Seeds: 80, Restarts: -1})
	none := scheduler.Config{Text: []byte("wait: 0s\n")}
	takesAny := policytest.Run(t, Delay, policytest.Options{Seeds: 80, Restarts: -1, Config: none})
	if waits.Tally.Local <= takesAny.Tally.Local {
		t.Errorf("%d of %d groups at home with waiting, %d of %d without",
			waits.Tally.Local, waits.Tally.Located, takesAny.Tally.Local, takesAny.Tally.Located)
	}
}

// TestProgressTellsEachGame: a check that takes long says where it is.
func TestProgressTellsEachGame(t *testing.T) {
	told := 0
	o := policytest.Options{Seeds: 3, NoStories: true, Progress: func(game string, done, all int) {
		if game == "" || done != told || all != 3 {
			t.Errorf("game %q, %d of %d done, after %d were told", game, done, all, told)
		}
		told++
	}}
	if r := policytest.Check(t.Context(), policytest.InProcess(Admit), o); r.Err() != nil || told != r.Games {
		t.Errorf("%d games told, %d played: %v", told, r.Games, r.Err())
	}
}
