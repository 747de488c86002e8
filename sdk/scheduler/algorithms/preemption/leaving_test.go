package preemption_test

import (
	"slices"
	"testing"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/preemption"
)

// TestLeaving follows attempts from the preemption to their end or suspension. A restarted policy
// whose snapshot lacks the preemption continues from what was known.
func TestLeaving(t *testing.T) {
	v := full(t)
	var all preemption.Leaving
	after := func(want preemption.Leaving, events ...scheduler.Event) {
		t.Helper()
		play(t, v, nil, events...)
		before := slices.Clone(all)
		next := all.After(v, events)
		if !slices.Equal(next, want) {
			t.Errorf("%v are leaving, want %v", next, want)
		}
		if again := before.Start(v); !slices.Equal(again, want) {
			t.Errorf("%v are leaving for one that starts, want %v", again, want)
		}
		all = next
	}
	taken := func(mode scheduler.PreemptMode, accepted bool, victims ...scheduler.AttemptID) scheduler.Event {
		return scheduler.Outcome{Kind: scheduler.DecisionPreempt, Accepted: accepted, Preempt: scheduler.Preempt{For: 7, Mode: mode, Victims: victims}}
	}
	after(nil, taken(scheduler.PreemptKill, false, 1))
	after(preemption.Leaving{{2, 7}, {4, 7}}, taken(scheduler.PreemptKill, true, 4, 2))
	after(preemption.Leaving{{2, 7}, {4, 7}})
	after(preemption.Leaving{{4, 7}, {5, 7}}, scheduler.AttemptEnded{Attempt: 2, Outcome: scheduler.Preempted}, taken(scheduler.PreemptSuspend, true, 5))
	after(preemption.Leaving{{4, 7}}, scheduler.AttemptSuspended{Attempt: 5})

	fresh := full(t) // its snapshot lacks it
	if got := (preemption.Leaving{{4, 7}, {99, 7}}).Start(fresh); !slices.Equal(got, preemption.Leaving{{4, 7}}) {
		t.Errorf("%v are leaving, of a checkpoint", got)
	}
}
