package preemptivefair

import (
	"slices"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// TestPreemptedTooOftenIsSpared: job 1's newest bundle would lose to the newcomer,
// unless it lost so often before; then the next newest does.
func TestPreemptedTooOftenIsSpared(t *testing.T) {
	for _, c := range []struct {
		settings string
		before   int
		want     scheduler.AttemptID
	}{
		{"", timesMaxDefault - 1, 6},
		{"", timesMaxDefault, 5},
		{"times-max: 1", 1, 5},
		{"times-max: 0", 99, 6},
	} {
		s := busy(t, "attempt-loses: newest\n"+c.settings, 1, plain, plain)
		s.policy.State().memory.Times = []times{{Bundle: 6, Times: c.before}}
		if got := victims(s.comes(1)); !slices.Equal(got, []scheduler.AttemptID{c.want}) {
			t.Errorf("%q, preempted %d times before: %v loses, want %d", c.settings, c.before, got, c.want)
		}
	}
}

// TestTimesAreForgottenWithTheirBundles: nothing is kept of what ended.
func TestTimesAreForgottenWithTheirBundles(t *testing.T) {
	s := busy(t, "", 1, plain, plain)
	d := s.comes(20)
	s.events(s.accepted(d)...)
	if got := len(s.policy.State().memory.Times); got != 3 {
		t.Fatalf("%d bundles are remembered, want 3", got)
	}
	var events []scheduler.Event
	for id := scheduler.AttemptID(1); id <= 10; id++ {
		events = append(events, s.ended(id, scheduler.Killed))
	}
	for id := scheduler.JobID(1); id <= 2; id++ {
		events = append(events, scheduler.JobFinished{At: s.now, Job: id, Outcome: scheduler.JobKilled})
	}
	s.events(events...)
	if got := s.policy.State().memory.Times; len(got) > 0 {
		t.Errorf("%v are remembered of jobs that ended", got)
	}
}

// TestSparedLoseAfterAllOthers: a bundle that lost as often as times-max says loses to a newcomer
// where nothing else can, but never as the last one of its job, and Explain says so.
func TestSparedLoseAfterAllOthers(t *testing.T) {
	s := busy(t, "", 1, plain, plain)
	for b := scheduler.BundleID(1); b <= 10; b++ {
		s.policy.State().memory.Times = append(s.policy.State().memory.Times, times{Bundle: b, Times: timesMaxDefault})
	}
	if got := len(victims(s.comes(3))); got != 3 {
		t.Errorf("%d attempts lose to a newcomer, want its first share of 3", got)
	}

	alone := start(t, "", 1)
	alone.launcher(1, 1)
	alone.events(alone.submit(1, 2))
	alone.events(alone.running(1, 1, 1)...)
	alone.settled()
	alone.policy.State().memory.Times = []times{{Bundle: 1, Times: timesMaxDefault}}
	if got := victims(alone.comes(1)); len(got) > 0 {
		t.Errorf("%v loses, the last of its job", got)
	}
	x, err := alone.policy.Explain(3)
	if want := "1 were preempted 3 times (times-max) and are the last of their jobs"; err != nil || !strings.Contains(x.Detail, want) {
		t.Errorf("Explain says %q, %v, want that %q", x.Detail, err, want)
	}
}
