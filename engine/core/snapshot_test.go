package core

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// A snapshot is made over many steps while work starts, ends and is lost, and jobs and launchers
// come and go. In the end it equals the state at that time.
func TestSnapshotWhileWorkGoesOn(t *testing.T) {
	for seed := range uint64(200) {
		lot := rand.New(rand.NewPCG(seed, 1))
		b := benchCluster(t, 6, 4)
		for range 1 + lot.IntN(4) {
			b.submit(t, 1+lot.IntN(40))
			b.launchSome(lot.IntN(10))
			if lot.IntN(2) == 0 {
				b.endAll()
			}
		}
		b.c.state.Step.Set.StepWork = 1 + lot.IntN(20)
		var start *StartPolicy
		b.watch = func(a Action) {
			if a, ok := a.(StartPolicy); ok {
				start = &a
			}
		}
		b.once(wire.NewInput(&wire.PolicyStart{Generation: 2}))
		steps := 0
		for ; start == nil; steps++ {
			b.somethingHappens(lot)
		}
		var mirror view.View
		if err := mirror.Start(start.Snapshot()); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		got, want := mirror.World(), b.c.World()
		for i := range want.Launchers { // offers come with the first round
			got.Launchers[i].Offer, want.Launchers[i].Offer = scheduler.Offer{}, scheduler.Offer{}
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d: after %d steps the snapshot tells\n%+v\nand it is\n%+v", seed, steps, got, want)
		}
		if seed == 0 && steps == 0 {
			t.Error("the snapshot was made in one step")
		}
	}
}

// A second attempt that starts in the very step in which the first ends was offered before that: a
// snapshot shows the offer.
func TestSnapshotOfASecondAttemptThatCameTooLate(t *testing.T) {
	b := benchCluster(t, 2, 1)
	b.submit(t, 1)
	b.launchSome(1)
	first := b.lives[0]
	report := func(r *wire.Report) *wire.Input {
		return wire.NewReport(uint64(first.Launcher), r)
	}
	id := first.Command.GetStart().Attempt
	b.once(report(&wire.Report{Incarnation: 1, What: &wire.Report_Started{Started: &wire.AttemptStarted{Attempt: id}}}))
	bundle := b.c.state.Cluster.Bundles.Get(b.last)
	b.c.state.Step.Begin(b.c.Now() + 1)
	b.c.lifecycle.Speculation.OfferSpeculation(bundle)
	b.c.state.Step.Begin(b.c.Now() + 1)
	other := 3 - first.Launcher
	if _, reason, why := b.c.lifecycle.Attempts.Launch(scheduler.Launch{Bundle: b.last, Launchers: []scheduler.LauncherID{other}}); reason != scheduler.NotRefused {
		t.Fatal(why)
	}
	b.c.membership.Report(report(&wire.Report{Incarnation: 1, What: &wire.Report_Ended{Ended: &wire.AttemptEnded{Attempt: id, End: wire.End_END_FINISHED}}}).GetReport())
	var start *StartPolicy
	b.watch = func(a Action) {
		if a, ok := a.(StartPolicy); ok {
			start = &a
		}
	}
	b.once(wire.NewInput(&wire.PolicyStart{Generation: 2}))
	var mirror view.View
	if err := mirror.Start(start.Snapshot()); err != nil {
		t.Fatal(err)
	}
	if got, want := mirror.World().Jobs, b.c.World().Jobs; !reflect.DeepEqual(got, want) {
		t.Errorf("the snapshot tells\n%+v\nand it is\n%+v", got, want)
	}
}

// somethingHappens steps the core with a report, a lost launcher, a kill, or nothing.
func (b *bench) somethingHappens(lot *rand.Rand) {
	jobs, launchers := b.c.state.Cluster.Jobs.IDs(), b.c.state.Cluster.Launchers.IDs()
	switch n := lot.IntN(20); {
	case n < 12 && len(b.lives) > 0:
		i := lot.IntN(len(b.lives))
		l := b.lives[i]
		r := &wire.Report{Incarnation: 1, What: &wire.Report_Started{Started: &wire.AttemptStarted{Attempt: l.Command.GetStart().Attempt}}}
		if n < 8 {
			ends := []wire.End{wire.End_END_FINISHED, wire.End_END_FINISHED, wire.End_END_FAILED}
			r.What = &wire.Report_Ended{Ended: &wire.AttemptEnded{Attempt: l.Command.GetStart().Attempt, End: ends[lot.IntN(3)]}}
			b.lives = append(b.lives[:i], b.lives[i+1:]...)
		}
		b.once(wire.NewReport(uint64(l.Launcher), r))
	case n == 12 && len(jobs) > 0:
		b.once(wire.NewInput(&wire.KillJob{Job: uint64(jobs[lot.IntN(len(jobs))])}))
	case n == 13 && b.c.state.Resources.Launchers.Up() > 1:
		b.once(wire.NewInput(&wire.LauncherLost{Launcher: uint64(launchers[lot.IntN(len(launchers))]), Incarnation: 1}))
	case n == 14 && len(jobs) > 0:
		pool := "other"
		b.once(wire.NewInput(&wire.UpdateJob{Job: uint64(jobs[lot.IntN(len(jobs))]), Pool: &pool}))
	default:
		b.once(wire.Tick())
	}
}
