package view

import (
	"testing"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// A bundle that is given up counts as finished, also one that was never ready, and can wait again.
func TestGivenUp(t *testing.T) {
	var v View
	round := uint64(0)
	apply := func(events ...scheduler.Event) error {
		round++
		return v.Apply(scheduler.Round{Number: round, Now: scheduler.Time(round), Events: events})
	}
	up := func(b scheduler.BundleID, up bool) scheduler.Event {
		return scheduler.BundleGivenUp{Job: 1, Bundle: b, GivenUp: up}
	}
	ready := scheduler.BundleReady{Job: 1, Bundle: 1, Groups: []scheduler.Group{{Kind: "map", Slots: 1}}}
	err := apply(scheduler.JobSubmitted{Job: scheduler.Job{ID: 1, Stages: []scheduler.Stage{{Groups: 2, Kind: "map", Slots: 1}}}}, ready)
	if err != nil {
		t.Fatal(err)
	}
	if err := apply(up(1, true)); err == nil {
		t.Error("a ready bundle was given up")
	}
	if err := apply(up(2, false)); err == nil {
		t.Error("an unknown bundle goes on")
	}
	if err := apply(scheduler.BundleWithdrawn{Job: 1, Bundle: 1}, up(1, true), up(2, true)); err != nil {
		t.Fatal(err)
	}
	if c := v.Job(1).Counts[0]; c != (Counts{Finished: 2}) {
		t.Errorf("two bundles are given up, and count as %+v", c)
	}
	second := ready
	second.Bundle = 2
	if err := apply(up(1, false), ready, up(2, false), second); err != nil {
		t.Fatal(err)
	}
	if c := v.Job(1).Counts[0]; c != (Counts{Waiting: 2}) || v.Job(1).ReadyCount() != 2 {
		t.Errorf("two bundles are ready again, and count as %+v with %d ready", c, v.Job(1).ReadyCount())
	}
}
