package preemptivefair

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/settings"
)

// betweenStages is five slots, job 1 running three of them, and job 2 between its stages.
func betweenStages(t *testing.T, settings string) *site {
	s := start(t, settings, 1)
	s.launcher(1, 5)
	s.events(append([]scheduler.Event{s.submit(1, 20), s.submit(2, 1)}, s.running(1, 3, 1)...)...)
	s.events(s.running(2, 1, 1)...)
	s.settled()
	s.events(s.ended(s.attempt, scheduler.Finished))
	return s
}

func TestSlotsAreHeldBetweenStages(t *testing.T) {
	for _, c := range []struct {
		settings   string
		now, after int // launches of job 1 at once, and once hold-max has passed
		wakes      time.Duration
	}{
		{"", 1, 2, holdMaxDefault}, // one is held: job 2 has one reduce left
		{"hold: all", 0, 2, holdMaxDefault},
		{"hold: all\nhold-max: 30s", 0, 2, 30 * time.Second},
		{"hold: all\nhold-max: 0s", 0, 0, 0},
		{"hold: none", 2, 2, 0},
	} {
		s := betweenStages(t, c.settings)
		r := free(1, 2)
		r.Events = s.ready(1, 9)
		d := s.round(r)
		wakes := scheduler.Time(0)
		if c.wakes > 0 {
			wakes = s.now.Add(c.wakes)
		}
		if len(d.Launch) != c.now || d.WakeAt != wakes {
			t.Errorf("%q: %d launches, wakes at %d, want %d and %d", c.settings, len(d.Launch), d.WakeAt, c.now, wakes)
		}
		if x, _ := s.policy.Explain(1); c.now < 2 && (x.Reason != scheduler.WaitHeld || !strings.Contains(x.Detail, "held for job-2")) {
			t.Errorf("%q: Explain %+v", c.settings, x)
		}
		s.now = s.now.Add(max(c.wakes, time.Hour))
		if d := s.events(scheduler.TimePassed{At: s.now}); len(d.Launch) != c.after {
			t.Errorf("%q: %d launches later, want %d", c.settings, len(d.Launch), c.after)
		}
	}
	// The stage is ready: its job has the fewest slots and is served first.
	s := betweenStages(t, "hold: all")
	r := free(1, 2)
	r.Events = append(s.ready(1, 9), s.ready(2, 1)...)
	if got := s.launchedBy(s.round(r)); !slices.Equal(got, []scheduler.JobID{2, 1}) {
		t.Errorf("launched %v", got)
	}
}

// TestSlotsAreCollectedForLargeWork: slots that free one by one go to smaller
// work, but not for ever.
func TestSlotsAreCollectedForLargeWork(t *testing.T) {
	for _, c := range []struct {
		settings string
		after    time.Duration
		want     []scheduler.JobID
	}{
		{"", settings.CollectAfterDefault - 1, []scheduler.JobID{1}},
		{"", settings.CollectAfterDefault, nil},
		{"collect-after: 1s", time.Second, nil},
		{"collect-after: 0s", time.Hour, []scheduler.JobID{1}},
	} {
		s := start(t, "preemption: none\n"+c.settings, 1)
		s.launcher(1, 4)
		g := scheduler.Group{Kind: scheduler.DefaultKind, Slots: 1}
		s.bundle++
		gang := s.bundle
		s.owner[gang] = 2
		events := append([]scheduler.Event{s.submit(1, 20), s.submit(2, 2)}, s.running(1, 4, 1)...)
		s.events(append(events, scheduler.BundleReady{At: s.now, Job: 2, Bundle: gang, Groups: []scheduler.Group{g, g}})...)
		s.now = s.now.Add(c.after)
		r := free(1, 1)
		r.Events = append(s.ready(1, 5), s.ended(1, scheduler.Finished))
		if got := s.launchedBy(s.round(r)); !slices.Equal(got, c.want) {
			t.Errorf("%q after %s: one slot went to %v, want %v", c.settings, c.after, got, c.want)
		}
		if c.want != nil {
			continue
		}
		if x, _ := s.policy.Explain(1); !strings.Contains(x.Detail, "collected for bundle") {
			t.Errorf("Explain %+v", x)
		}
		r = free(1, 2)
		r.Events = []scheduler.Event{s.ended(2, scheduler.Finished)}
		if got := s.launchedBy(s.round(r)); !slices.Equal(got, []scheduler.JobID{2}) {
			t.Errorf("%q: two slots went to %v", c.settings, got)
		}
	}
}

func TestIdleOrWorkConserving(t *testing.T) {
	for settings, want := range map[string]int{"": 2, "work-conserving: false": 1} {
		s := start(t, settings+"\nhold: none", 1)
		s.launcher(1, 6)
		s.events(append([]scheduler.Event{s.submit(1, 9), s.submit(2, 1)}, s.running(1, 2, 1)...)...)
		s.settled()
		r := free(1, 2)
		r.Events = s.ready(1, 7) // job 2, with a share of 3, has nothing ready
		if d := s.round(r); len(d.Launch) != want {
			t.Errorf("%q: %d launches, want %d: the share is 3 and two run", settings, len(d.Launch), want)
		}
		if x, _ := s.policy.Explain(1); want == 1 && x.Reason != scheduler.WaitAtLimit {
			t.Errorf("Explain %+v", x)
		}
	}
}

// A job waits for two kinds of slots: a gang does not fit into one, and of the other a slot stays
// free because the job has its share. The free slot is the reason that is given.
func TestTheReasonIsWhySlotsStayFree(t *testing.T) {
	s := start(t, "work-conserving: false\nhold: none", 1)
	const rare = scheduler.SlotKind("rare")
	has := []scheduler.SlotCount{{Kind: scheduler.DefaultKind, Count: 2}, {Kind: rare, Count: 2}}
	s.events(scheduler.LauncherJoined{At: s.now, Launcher: 1, Name: "l1", Host: "h1", Slots: has, Memory: 1 << 30})
	twoKinds := func(j *scheduler.Job) { j.Stages[1].Groups, j.Stages[1].Kind = 3, rare }
	s.events(s.submit(1, 3, twoKinds), s.submit(2, 3, twoKinds)) // the share of each job is one slot of each kind
	s.settled()
	r := scheduler.Round{Offers: []scheduler.Offer{{Launcher: 1, Free: has, Memory: 1 << 30}}}
	r.Events = s.ready(1, 2, func(g *scheduler.Group) { g.Kind = rare })
	gang := s.ready(1, 1)[0].(scheduler.BundleReady)
	gang.Groups = append(gang.Groups, gang.Groups[0], gang.Groups[0])
	r.Events = append(r.Events, gang)
	if d := s.round(r); len(d.Launch) != 1 || len(d.Waiting) != 1 || d.Waiting[0].Reason != scheduler.WaitAtLimit {
		t.Errorf("%+v, want one rare slot in use, and why the other is free", d)
	}
}
