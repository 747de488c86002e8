package view

import (
	"slices"
	"testing"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// aheadView has a launcher on host h with one slot, on which attempt 1 of job 1 runs, and ready
// bundles of both jobs.
func aheadView(t *testing.T, free int, ready ...scheduler.BundleReady) *View {
	stages := []scheduler.Stage{{Groups: 9, Kind: "map", Slots: 1}}
	events := []scheduler.Event{
		scheduler.LauncherJoined{Launcher: 1, Host: "h", Slots: []scheduler.SlotCount{{Kind: "map", Count: 2}}, Memory: 9},
		scheduler.JobSubmitted{Job: scheduler.Job{ID: 1, Stages: stages}},
		scheduler.JobSubmitted{Job: scheduler.Job{ID: 2, Stages: stages}},
		scheduler.BundleReady{Job: 1, Bundle: 1, Groups: []scheduler.Group{{Kind: "map", Slots: 1}}},
		scheduler.Outcome{Kind: scheduler.DecisionLaunch, Accepted: true, Attempts: []scheduler.AttemptID{1}, Launch: scheduler.Launch{Bundle: 1, Launchers: []scheduler.LauncherID{1}}},
	}
	for _, e := range ready {
		events = append(events, e)
	}
	v := &View{}
	o := scheduler.Offer{Launcher: 1, Memory: 9, Ahead: []scheduler.AheadRoom{{Job: 1, Count: 1}}}
	if free > 0 {
		o.Free = []scheduler.SlotCount{{Kind: "map", Count: free}}
	}
	apply(t, v, scheduler.Round{Number: 1, Events: events, Offers: []scheduler.Offer{o}})
	return v
}

// TestLaunchAhead: what is launched ahead takes nothing from another job, no nearer launcher and no
// free slot.
func TestLaunchAhead(t *testing.T) {
	ready := func(job scheduler.JobID, bundle scheduler.BundleID, host string) scheduler.BundleReady {
		g := scheduler.Group{Kind: "map", Slots: 1}
		if host != "" {
			g.Places = []scheduler.Place{{Host: host, Bytes: 1}}
		}
		return scheduler.BundleReady{Job: job, Bundle: bundle, Groups: []scheduler.Group{g}}
	}
	avoiding := ready(1, 2, "")
	avoiding.Avoid = []scheduler.LauncherID{1}
	for name, c := range map[string]struct {
		free  int
		ready []scheduler.BundleReady
		want  scheduler.BundleID // 0: nothing
	}{
		"one job":           {0, []scheduler.BundleReady{ready(1, 2, ""), ready(1, 3, "")}, 2},
		"nothing ready":     {0, nil, 0},
		"another job waits": {0, []scheduler.BundleReady{ready(1, 2, ""), ready(2, 3, "")}, 0},
		"of another job":    {0, []scheduler.BundleReady{ready(2, 3, "")}, 0},
		"a slot is free":    {1, []scheduler.BundleReady{ready(1, 2, "")}, 0},
		"input elsewhere":   {0, []scheduler.BundleReady{ready(1, 2, "x")}, 0},
		"input there":       {0, []scheduler.BundleReady{ready(1, 2, "x"), ready(1, 3, "h")}, 3},
		"launcher to avoid": {0, []scheduler.BundleReady{avoiding}, 0},
	} {
		v := aheadView(t, c.free, c.ready...)
		list := v.LaunchAhead(nil, nil, nil)
		switch {
		case c.want == 0 && len(list) > 0, c.want != 0 && (len(list) != 1 || list[0].Bundle != c.want || !list[0].Ahead):
			t.Errorf("%s: got %v, want %v ahead", name, list, c.want)
		}
		if list := v.LaunchAhead(nil, nil, func(*Job) bool { return false }); len(list) > 0 {
			t.Errorf("%s: got %v for a job that may not go on", name, list)
		}
	}
}

// TestLaunchAheadOfTheNext: the job that gets the next slots need not wait alone.
func TestLaunchAheadOfTheNext(t *testing.T) {
	ready := func(job scheduler.JobID, bundle scheduler.BundleID) scheduler.BundleReady {
		return scheduler.BundleReady{Job: job, Bundle: bundle, Groups: []scheduler.Group{{Kind: "map", Slots: 1}}}
	}
	v := aheadView(t, 0, ready(1, 2), ready(2, 3))
	if list := v.LaunchAhead(nil, v.Job(1), nil); len(list) != 1 || list[0].Bundle != 2 || !list[0].Ahead {
		t.Errorf("got %v, want bundle-2 ahead", list)
	}
	v = aheadView(t, 1, ready(1, 2), ready(2, 3))
	if list := v.LaunchAhead(nil, v.Job(1), nil); len(list) > 0 {
		t.Errorf("got %v although a slot is free", list)
	}
	v = aheadView(t, 0, ready(1, 2), ready(2, 3))
	if list := v.LaunchAhead(nil, v.Job(2), nil); len(list) > 0 {
		t.Errorf("got %v for a job that does not run there", list)
	}
}

// TestLaunchAheadOfALaunch: a bundle is launched ahead of one that the same round launches there.
func TestLaunchAheadOfALaunch(t *testing.T) {
	ready := func(bundle scheduler.BundleID) scheduler.BundleReady {
		return scheduler.BundleReady{Job: 1, Bundle: bundle, Groups: []scheduler.Group{{Kind: "map", Slots: 1}}}
	}
	v := aheadView(t, 1, ready(2), ready(3), ready(4))
	o := scheduler.Offer{Launcher: 1, Memory: 9, Free: []scheduler.SlotCount{{Kind: "map", Count: 1}}, Ahead: []scheduler.AheadRoom{{Job: 1, PerLaunch: 1}}}
	apply(t, v, scheduler.Round{Number: 2, Offers: []scheduler.Offer{o}})
	if list := v.LaunchAhead(nil, nil, nil); len(list) > 0 {
		t.Errorf("nothing is launched, and got %v ahead", list)
	}
	first := v.Bundle(2)
	if !v.Capacity.TakeFor(v.Launcher(1), first, &first.Groups[0]) {
		t.Fatal("the slot is not free")
	}
	list := v.LaunchAhead([]scheduler.Launch{v.Launch(first, []scheduler.LauncherID{1})}, nil, nil)
	if len(list) != 2 || list[1].Bundle != 3 || !list[1].Ahead {
		t.Errorf("ahead of bundle-2 got %v, want bundle-3 alone", list)
	}
}

// TestLaunchAheadInTurn: what is left is held by all launchers alike.
func TestLaunchAheadInTurn(t *testing.T) {
	v := aheadView(t, 0)
	var events []scheduler.Event
	for b := range scheduler.BundleID(5) {
		events = append(events, scheduler.BundleReady{Job: 1, Bundle: 2 + b, Groups: []scheduler.Group{{Kind: "map", Slots: 1}}})
	}
	var offers []scheduler.Offer
	for id := range scheduler.LauncherID(3) {
		if id > 0 {
			events = append(events, scheduler.LauncherJoined{Launcher: 1 + id, Host: "h", Slots: []scheduler.SlotCount{{Kind: "map", Count: 2}}, Memory: 9})
		}
		offers = append(offers, scheduler.Offer{Launcher: 1 + id, Memory: 9, Ahead: []scheduler.AheadRoom{{Job: 1, Count: 4}}})
	}
	apply(t, v, scheduler.Round{Number: 2, Events: events, Offers: offers})
	var got []scheduler.LauncherID
	for _, d := range v.LaunchAhead(nil, nil, nil) {
		got = append(got, d.Launchers...)
	}
	if want := []scheduler.LauncherID{1, 2, 3, 1, 2}; !slices.Equal(got, want) {
		t.Errorf("five bundles were launched ahead on %v, want %v", got, want)
	}
}

// TestHeldAhead: what is held ahead counts nowhere until it takes slots.
func TestHeldAhead(t *testing.T) {
	v := aheadView(t, 0, scheduler.BundleReady{Job: 1, Bundle: 2, Groups: []scheduler.Group{{Kind: "map", Slots: 1}}})
	launch := scheduler.Outcome{Kind: scheduler.DecisionLaunch, Accepted: true, Attempts: []scheduler.AttemptID{2}, Launch: scheduler.Launch{Bundle: 2, Launchers: []scheduler.LauncherID{1}, Ahead: true}}
	apply(t, v, scheduler.Round{Number: 2, Events: []scheduler.Event{launch}})
	j := v.Job(1)
	if j.Held("map") != 1 || len(j.Attempts()) != 1 || len(v.Launcher(1).Attempts()) != 1 || len(j.Ahead()) != 1 || !v.Attempt(2).Ahead {
		t.Errorf("while it is held, its job holds %d slots, with %d attempts and %d ahead", j.Held("map"), len(j.Attempts()), len(j.Ahead()))
	}
	apply(t, v, scheduler.Round{Number: 3, Events: []scheduler.Event{
		scheduler.AttemptEnded{Attempt: 1, Outcome: scheduler.Finished}, scheduler.AttemptTookSlots{Attempt: 2}, scheduler.AttemptStarted{Attempt: 2, Job: 1, Bundle: 2, Launcher: 1},
	}})
	if j.Held("map") != 1 || len(j.Attempts()) != 1 || len(v.Launcher(1).Attempts()) != 1 || len(j.Ahead()) != 0 {
		t.Errorf("when it took slots, its job holds %d, with %d attempts and %d ahead", j.Held("map"), len(j.Attempts()), len(j.Ahead()))
	}
	if err := v.Apply(scheduler.Round{Number: 4, Events: []scheduler.Event{scheduler.AttemptTookSlots{Attempt: 2}}}); err == nil {
		t.Error("an attempt that was not held takes slots, and that is no error")
	}
}
