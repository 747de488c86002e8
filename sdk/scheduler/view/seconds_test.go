package view

import (
	"iter"
	"reflect"
	"testing"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// TestSecondsAreNotReady: a bundle that runs and is offered for a second attempt is in Seconds and in the walks of
// launchable bundles, not among the ready ones.
func TestSecondsAreNotReady(t *testing.T) {
	v := cluster(t)
	g := group(0, scheduler.Place{Host: "h1", Rack: "r1", Bytes: 1})
	wide := []scheduler.Group{g, g}
	runs, gang := ready(t, v, 10, g), ready(t, v, 11, wide...)
	ready(t, v, 12, g)
	ready(t, v, 13, wide...)
	launch := []scheduler.Launch{v.Launch(runs, []scheduler.LauncherID{1}), v.Launch(gang, []scheduler.LauncherID{1, 2})}
	apply(t, v, scheduler.Round{Number: v.Round() + 1, Events: []scheduler.Event{
		scheduler.Outcome{Kind: scheduler.DecisionLaunch, Accepted: true, Launch: launch[0], Attempts: []scheduler.AttemptID{1}},
		scheduler.Outcome{Kind: scheduler.DecisionLaunch, Accepted: true, Launch: launch[1], Attempts: []scheduler.AttemptID{2, 3}},
		scheduler.SpeculationOffered{Job: 1, Bundle: 10, Groups: []scheduler.Group{g}},
		scheduler.SpeculationOffered{Job: 1, Bundle: 11, Groups: wide},
	}})
	j := v.Job(1)
	for name, test := range map[string]struct {
		walk iter.Seq[*Bundle]
		want []scheduler.BundleID
	}{
		"View.Ready":      {v.Ready(), []scheduler.BundleID{12, 13}},
		"View.Launchable": {v.Launchable(), []scheduler.BundleID{10, 11, 12, 13}},
		"Ready":           {j.Ready(), []scheduler.BundleID{12, 13}},
		"ReadyOfKind":     {j.ReadyOfKind("default", 12), []scheduler.BundleID{13}},
		"ReadyGangs":      {j.ReadyGangs(), []scheduler.BundleID{13}},
		"ReadyAt":         {j.ReadyAt("h1"), []scheduler.BundleID{12}},
		"ReadyIn":         {j.ReadyIn("r1"), []scheduler.BundleID{12}},
		"Seconds":         {j.Seconds(), []scheduler.BundleID{10, 11}},
		"Launchable":      {j.Launchable("", 10).All(), []scheduler.BundleID{11, 12, 13}},
		"of a kind":       {j.Launchable("default", 11).All(), []scheduler.BundleID{12, 13}},
		"of no kind":      {j.Launchable("other", 0).All(), nil},
		"LaunchableGangs": {j.LaunchableGangs().All(), []scheduler.BundleID{11, 13}},
		"LaunchableAt":    {j.LaunchableAt("h1").All(), []scheduler.BundleID{10, 12}},
		"LaunchableIn":    {j.LaunchableIn("r1").All(), []scheduler.BundleID{10, 12}},
	} {
		var got []scheduler.BundleID
		for b := range test.walk {
			got = append(got, b.ID)
		}
		if !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: got %v, want %v", name, got, test.want)
		}
	}
	if n, slots, all, allSlots := j.ReadyCount(), j.ReadySlots("default"), j.LaunchableCount(), j.LaunchableSlots("default"); n != 2 || slots != 3 || all != 4 || allSlots != 6 {
		t.Errorf("got %d bundles with %d slots ready, %d with %d launchable, want 2 with 3, 4 with 6", n, slots, all, allSlots)
	}
}

// TestAnOfferIsWithdrawn: a bundle whose second attempt is offered no more is in no walk, and may be told so twice.
func TestAnOfferIsWithdrawn(t *testing.T) {
	v := cluster(t)
	b := ready(t, v, 10, group(0))
	launch := v.Launch(b, []scheduler.LauncherID{1})
	apply(t, v, scheduler.Round{Number: v.Round() + 1, Events: []scheduler.Event{
		scheduler.Outcome{Kind: scheduler.DecisionLaunch, Accepted: true, Launch: launch, Attempts: []scheduler.AttemptID{1}},
		scheduler.SpeculationOffered{Job: 1, Bundle: 10, Groups: []scheduler.Group{group(0)}},
	}})
	for range 2 {
		apply(t, v, scheduler.Round{Number: v.Round() + 1, Events: []scheduler.Event{scheduler.SpeculationWithdrawn{Job: 1, Bundle: 10}}})
		if b.Launchable() || b.State != Launched || v.Job(1).LaunchableCount() != 0 {
			t.Errorf("got state %s, launchable %t, %d in the lists", b.State, b.Launchable(), v.Job(1).LaunchableCount())
		}
	}
	if err := v.Apply(scheduler.Round{Number: v.Round() + 1, Events: []scheduler.Event{scheduler.SpeculationWithdrawn{Job: 1, Bundle: 99}}}); err == nil {
		t.Error("got no error for a bundle that is not known")
	}
}
