package policyhost

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/policy"
	"github.com/hamadryad/hamadryad/engine/policy/plugintest"
	"github.com/hamadryad/hamadryad/policytest"
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
	fresh, whole := x.join(r)
	own := x.next()
	if !whole || len(fresh) != 5 || len(own.Events) != 2 || own.Number != 8 || own.Events[1].(scheduler.BundleReady).Bundle != 2 {
		t.Fatalf("got %v, fresh %v", own, fresh)
	}
	if o := own.Events[0].(scheduler.Outcome); o.Round != 0 || o.Index != 0 || o.Launch.Bundle != 4 {
		t.Errorf("the launch in force came as %+v", o)
	}
	if len(own.Offers) != 3 || own.Offers[2].Memory != 9 || r.Events[1].(scheduler.Outcome).Index != 3 {
		t.Errorf("offers %v", own.Offers)
	}
	x.decided(own, &scheduler.Decisions{Launch: []scheduler.Launch{{Bundle: 1}, {Bundle: 2}}, WakeAt: 15})
	x.join(&scheduler.Round{Number: 9, Now: 20})
	own = x.next()
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
	if _, whole := x.join(&scheduler.Round{Number: 11}); whole {
		t.Error("a missing round was not noticed")
	}
}

// Joined rounds are one round of the shadow: all events in order, the last offer of each launcher,
// the time of the last, and the next number. A wake-up that the shadow asked for is in it once.
func TestJoinedRoundsOfAShadow(t *testing.T) {
	x := newShadowRounds(&core.ShadowStart{Round: 7}, 0)
	x.join(&scheduler.Round{Number: 8, Now: 10})
	x.decided(x.next(), &scheduler.Decisions{Launch: []scheduler.Launch{{Bundle: 1}}, WakeAt: 25})
	rounds := []scheduler.Round{
		{Number: 9, Now: 20, Events: []scheduler.Event{scheduler.TimePassed{At: 20}, scheduler.BundleReady{At: 20, Bundle: 2}}, Offers: []scheduler.Offer{{Launcher: 1, Memory: 5}, {Launcher: 2}, {Launcher: 4, Memory: 4}}},
		{Number: 10, Now: 30, Events: []scheduler.Event{scheduler.LauncherLost{At: 30, Launcher: 2}}},
		{Number: 11, Now: 40, Events: []scheduler.Event{scheduler.BundleReady{At: 40, Bundle: 3}}, Offers: []scheduler.Offer{{Launcher: 1, Memory: 7}, {Launcher: 3}}},
	}
	for i := range rounds {
		x.join(&rounds[i])
	}
	own := x.next()
	if own.Number != 9 || own.Now != 40 || len(own.Events) != 5+1 {
		t.Fatalf("got %+v", own)
	}
	if o, is := own.Events[0].(scheduler.Outcome); !is || o.Launch.Bundle != 1 || o.Reason != scheduler.Shadowed || o.Round != 8 {
		t.Errorf("the shadow's launch ended as %+v", own.Events[0])
	}
	for i, want := range []scheduler.Event{rounds[0].Events[0], rounds[0].Events[1], rounds[1].Events[0], rounds[2].Events[0], scheduler.TimePassed{At: 40}} {
		if !reflect.DeepEqual(own.Events[i+1], want) {
			t.Errorf("event %d is %+v, want %+v", i+1, own.Events[i+1], want)
		}
	}
	if want := []scheduler.Offer{{Launcher: 1, Memory: 7}, {Launcher: 3}, {Launcher: 4, Memory: 4}}; !reflect.DeepEqual(own.Offers, want) {
		t.Errorf("offers %+v, want %+v", own.Offers, want)
	}
	x.decided(own, &scheduler.Decisions{WakeAt: 45})
	x.join(&scheduler.Round{Number: 12, Now: 50, Events: []scheduler.Event{scheduler.TimePassed{At: 46}}})
	x.join(&scheduler.Round{Number: 13, Now: 60})
	if own := x.next(); len(own.Events) != 1 || own.Number != 10 {
		t.Errorf("the shadow was woken by %+v", own)
	}
}

// What the policy in force decides in a round that was joined with a later one is not compared, nor
// what the shadow decided before of the same bundle or attempt.
func TestAgreementOnJoinedRounds(t *testing.T) {
	g := newAgreement()
	outcomes := func(round uint64, bundles []scheduler.BundleID, victims ...scheduler.AttemptID) (list []scheduler.Event) {
		for _, b := range bundles {
			list = append(list, scheduler.Outcome{Round: round, Kind: scheduler.DecisionLaunch, Accepted: true, Launch: scheduler.Launch{Bundle: b, Launchers: []scheduler.LauncherID{1}}})
		}
		return append(list, scheduler.Outcome{Round: round, Kind: scheduler.DecisionPreempt, Accepted: true, Preempt: scheduler.Preempt{Victims: victims}})
	}
	g.shadowDecided(1, &scheduler.Decisions{
		Launch:  []scheduler.Launch{{Bundle: 1, Launchers: []scheduler.LauncherID{1}}, {Bundle: 2}, {Bundle: 4}},
		Preempt: []scheduler.Preempt{{Victims: []scheduler.AttemptID{1, 2}}},
	})
	g.happened(2, outcomes(1, []scheduler.BundleID{1}, 1))
	g.happened(3, outcomes(2, []scheduler.BundleID{2, 3}, 2, 3)) // not compared: no decisions of the shadow in round 2
	g.happened(20, nil)
	g.happened(21, outcomes(20, []scheduler.BundleID{4})) // it counts as the shadow's alone already
	want := agreementCounts{launches: 1, same: 1, sameRound: 1, samePlace: 1, only: 1, victims: 1, victimsSame: 1}
	if g.counts != want {
		t.Errorf("got %+v, want %+v", g.counts, want)
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
	decide(20, 4)
	happens(21, 1, 4) // far later: one disagreement
	want.launches, want.only = 4, 1
	if g.counts != want {
		t.Errorf("got %+v, want %+v", g.counts, want)
	}
	g.shadowDecided(21, &scheduler.Decisions{Preempt: []scheduler.Preempt{{Victims: []scheduler.AttemptID{1, 2}}}})
	g.shadowDecided(22, &scheduler.Decisions{Preempt: []scheduler.Preempt{{Victims: []scheduler.AttemptID{1, 2}}}})
	g.happened(23, []scheduler.Event{scheduler.Outcome{Round: 22, Kind: scheduler.DecisionPreempt, Accepted: true, Preempt: scheduler.Preempt{Victims: []scheduler.AttemptID{2, 3}}}})
	if c := g.counts; c.victims != 2 || c.victimsSame != 1 || c.victimsOnly != 1 {
		t.Errorf("got %+v", c)
	}
}

// A queue that is full drops all rounds, and says so once the shadow asks.
func TestShadowQueueIsBounded(t *testing.T) {
	q := newShadowQueue()
	q.add(1, &scheduler.Round{Number: 7})
	q.add(1, &scheduler.Round{Number: 8})
	for _, want := range []uint64{7, 8} {
		if list, err := q.take(t.Context(), 1); err != nil || len(list) != 1 || list[0].round.Number != want {
			t.Fatal(list, err)
		}
	}
	fill := func() {
		for n := range uint64(shadowRoundsMax) {
			q.add(1, &scheduler.Round{Number: n})
		}
	}
	fill()
	if list, err := q.take(t.Context(), shadowRoundsMax); err != nil || len(list) != shadowRoundsMax || list[0].round.Number != 0 {
		t.Fatal(len(list), err)
	}
	fill()
	q.add(1, &scheduler.Round{})
	if _, err := q.take(t.Context(), shadowRoundsMax); !errors.Is(err, errBehind) || q.droppedRounds() != shadowRoundsMax+1 || len(q.list) != 0 {
		t.Fatal(err, q.droppedRounds())
	}
	q.restart()
	q.add(1, &scheduler.Round{Events: slices.Repeat([]scheduler.Event{scheduler.TimePassed{}}, shadowEventsMax+1)})
	if _, err := q.take(t.Context(), shadowRoundsMax); err != nil {
		t.Fatal("one large round must pass:", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := q.take(ended, 1); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// askedPolicy notes the rounds that it gets, and takes some time for each.
type askedPolicy struct {
	plugintest.Policy
	takes time.Duration
	asked []scheduler.Round
}

func (p *askedPolicy) AssignTasks(r scheduler.Round) (scheduler.Decisions, error) {
	p.asked = append(p.asked, r)
	time.Sleep(p.takes) // virtual time
	return scheduler.Decisions{}, nil
}

// deciding has a policy decide as a shadow until the test's end. The result is the error that ends it.
func deciding(t *testing.T, x *shadow, p scheduler.TaskScheduler) <-chan error {
	t.Helper()
	host := policy.InProcess(p)
	t.Cleanup(host.Close)
	start := &core.ShadowStart{Generation: 1}
	if _, err := host.Start(t.Context(), scheduler.Config{}, start.Snapshot, policytest.Environment()); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- x.decide(t.Context(), host, start, 0) }()
	return ended
}

func newShadow(interval time.Duration) *shadow {
	x := &shadow{interval: new(atomic.Int64), queue: newShadowQueue(), agreement: newAgreement()}
	x.interval.Store(int64(interval))
	return x
}

// A shadow gets at most one round in each interval, with the events of all that came meanwhile. A
// round that comes later than the interval after the last is sent at once.
func TestAShadowGetsARoundInEachInterval(t *testing.T) {
	for interval, want := range map[time.Duration][]int{ // events of each round that it gets
		100*time.Millisecond + 300*time.Microsecond: {1, 100, 100, 49, 1}, // no timer ends as a round comes
		0: slices.Repeat([]int{1}, 251),
	} {
		synctest.Test(t, func(t *testing.T) {
			x, p := newShadow(interval), &askedPolicy{}
			deciding(t, x, p)
			for n := range uint64(250) {
				x.queue.add(1, &scheduler.Round{Number: n + 1, Events: []scheduler.Event{scheduler.BundleReady{Bundle: scheduler.BundleID(n)}}})
				synctest.Wait()
				time.Sleep(time.Millisecond)
			}
			time.Sleep(time.Second)
			x.queue.add(1, &scheduler.Round{Number: 251, Events: []scheduler.Event{scheduler.BundleReady{}}})
			synctest.Wait()
			var got []int
			for _, r := range p.asked {
				got = append(got, len(r.Events))
			}
			if r := x.reply(); !slices.Equal(got, want) || r.Rounds != uint64(len(want)) || r.RoundsJoined != uint64(251-len(want)) {
				t.Errorf("interval %v: it got %v events, want %v: %v", interval, got, want, r)
			}
		})
	}
}

// A shadow that is too slow loses what waits for it. Nobody waits for the shadow.
func TestASlowShadowIsBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, p := newShadow(100*time.Millisecond), &askedPolicy{takes: 5 * time.Second}
		ended := deciding(t, x, p)
		for n := range uint64(shadowRoundsMax + 2) {
			x.queue.add(1, &scheduler.Round{Number: n + 1})
			synctest.Wait()
		}
		if err := <-ended; !errors.Is(err, errBehind) || len(p.asked) != 1 || x.queue.droppedRounds() != shadowRoundsMax+1 {
			t.Errorf("it ended with %v after %d rounds; %d were dropped", err, len(p.asked), x.queue.droppedRounds())
		}
	})
}
