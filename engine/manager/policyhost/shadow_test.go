package policyhost

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// A shadow gets what happened, without what its snapshot includes, and each of its own decisions
// refused.
func TestRoundsOfAShadow(t *testing.T) {
	launched := func(round uint64, b scheduler.BundleID) scheduler.Outcome {
		return scheduler.Outcome{At: 5, Round: round, Kind: scheduler.DecisionLaunch, Index: 3, Accepted: true, Launch: scheduler.Launch{Bundle: b}}
	}
	x := newShadowRounds(&core.ShadowStart{Round: 7, Pending: 1, Offers: []scheduler.Offer{{Launcher: 1}, {Launcher: 3}}}, 0)
	r := &scheduler.Round{Number: 8, Now: 10, Offers: []scheduler.Offer{{Launcher: 2}, {Launcher: 3, Memory: 9}}, Events: []scheduler.Event{
		scheduler.BundleReady{At: 1, Bundle: 1},
		launched(7, 4),
		scheduler.Outcome{At: 6, Kind: scheduler.DecisionLaunch, Reason: scheduler.NotReady},
		scheduler.Noted{At: 6},
		scheduler.AttemptProgress{At: 6},
		scheduler.BundleReady{At: 7, Bundle: 2},
	}}
	own, fresh, whole := x.next(r)
	if !whole || len(fresh) != 5 || len(own.Events) != 2 || own.Events[1].(scheduler.BundleReady).Bundle != 2 {
		t.Fatalf("got %v, fresh %v", own, fresh)
	}
	if o := own.Events[0].(scheduler.Outcome); o.Round != 0 || o.Index != 0 || o.Launch.Bundle != 4 {
		t.Errorf("the launch in force came as %+v", o)
	}
	if len(own.Offers) != 3 || own.Offers[2].Memory != 9 || r.Events[1].(scheduler.Outcome).Index != 3 {
		t.Errorf("offers %v", own.Offers)
	}
	x.decided(own, &scheduler.Decisions{Launch: []scheduler.Launch{{Bundle: 1}, {Bundle: 2}}, WakeAt: 15})
	own, _, _ = x.next(&scheduler.Round{Number: 9, Now: 20})
	if len(own.Events) != 3 {
		t.Fatalf("got %v", own.Events)
	}
	for i := range 2 {
		o := own.Events[i].(scheduler.Outcome)
		if o.Accepted || o.Reason != scheduler.Shadowed || o.Round != 8 || o.Index != i || o.At != 10 {
			t.Errorf("decision %d ended as %+v", i, o)
		}
	}
	if _, woken := own.Events[2].(scheduler.TimePassed); !woken {
		t.Errorf("the shadow was not woken: %v", own.Events)
	}
	if _, _, whole := x.next(&scheduler.Round{Number: 11}); whole {
		t.Error("a missing round was not noticed")
	}
}

// Agreement counts each launch once, however often a shadow repeats it.
func TestAgreement(t *testing.T) {
	g := newAgreement()
	decide := func(round uint64, bundles ...scheduler.BundleID) {
		d := scheduler.Decisions{}
		for _, b := range bundles {
			d.Launch = append(d.Launch, scheduler.Launch{Bundle: b, Launchers: []scheduler.LauncherID{1}})
		}
		g.shadowDecided(round, &d)
	}
	happens := func(round uint64, on scheduler.LauncherID, bundles ...scheduler.BundleID) {
		var events []scheduler.Event
		for _, b := range bundles {
			events = append(events, scheduler.Outcome{Round: round - 1, Kind: scheduler.DecisionLaunch, Accepted: true, Launch: scheduler.Launch{Bundle: b, Launchers: []scheduler.LauncherID{on}}})
		}
		g.happened(round, events)
	}
	decide(1, 1, 2, 3, 4)
	happens(2, 1, 1) // the same
	decide(2, 2, 3, 4)
	happens(3, 2, 2, 9) // the same elsewhere a round later, and one that the shadow did not decide
	g.happened(4, []scheduler.Event{scheduler.BundleWithdrawn{Bundle: 3}})
	g.happened(20, nil)
	want := agreementCounts{launches: 3, same: 2, sameRound: 1, samePlace: 1, only: 2}
	if g.counts != want {
		t.Errorf("got %+v, want %+v", g.counts, want)
	}
	happens(21, 1, 4) // far later: one disagreement
	want.launches, want.only = 4, 1
	if g.counts != want {
		t.Errorf("got %+v, want %+v", g.counts, want)
	}
	g.shadowDecided(21, &scheduler.Decisions{Preempt: []scheduler.Preempt{{Victims: []scheduler.AttemptID{1, 2}}}})
	g.shadowDecided(22, &scheduler.Decisions{Preempt: []scheduler.Preempt{{Victims: []scheduler.AttemptID{1, 2}}}})
	g.happened(23, []scheduler.Event{scheduler.Outcome{Kind: scheduler.DecisionPreempt, Accepted: true, Preempt: scheduler.Preempt{Victims: []scheduler.AttemptID{2, 3}}}})
	if c := g.counts; c.victims != 2 || c.victimsSame != 1 || c.victimsOnly != 1 {
		t.Errorf("got %+v", c)
	}
}

// A queue that is full drops all rounds, and says so once the shadow asks.
func TestShadowQueueIsBounded(t *testing.T) {
	q := newShadowQueue()
	for n := range uint64(shadowRoundsMax) {
		q.add(1, &scheduler.Round{Number: n})
	}
	if r, err := q.next(t.Context()); err != nil || r.round.Number != 0 {
		t.Fatal(r, err)
	}
	q.add(1, &scheduler.Round{})
	q.add(1, &scheduler.Round{})
	if _, err := q.next(t.Context()); !errors.Is(err, errBehind) || q.droppedRounds() != shadowRoundsMax+1 || len(q.list) != 0 {
		t.Fatal(err, q.droppedRounds())
	}
	q.restart()
	q.add(1, &scheduler.Round{Events: slices.Repeat([]scheduler.Event{scheduler.TimePassed{}}, shadowEventsMax+1)})
	if _, err := q.next(t.Context()); err != nil {
		t.Fatal("one large round must pass:", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := q.next(ended); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
