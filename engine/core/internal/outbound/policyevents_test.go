package outbound_test

import (
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/core/internal/coretest"
	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// snapshot returns the snapshot of the generation that the current step starts.
func snapshot(t *testing.T, h *coretest.Core) scheduler.Snapshot {
	t.Helper()
	for _, todo := range h.Step.Effects() {
		if s, is := todo.Action.(step.StartPolicy); is {
			return s.Snapshot()
		}
	}
	t.Fatal("no generation is started")
	return scheduler.Snapshot{}
}

// A new policy and one that was there all along see the same state: ready, running, suspended and
// preempted work, and offers of a second attempt.
func TestASnapshotTellsWhatEventsTold(t *testing.T) {
	h := coretest.New(t)
	h.StartPolicy(scheduler.AbilityResume)
	a, b := h.Launcher("a", 4), h.Launcher("b", 4)
	j := h.Job(coretest.MapReduce(6, 2))
	h.Finish(h.RunBundle(j, 0, a).Attempts[0], &wire.StoredOutput{Bytes: 10, PartitionBytes: []int64{4, 6}})
	h.RunBundle(j, 1, b)
	suspended := h.RunBundle(j, 2, a)
	twice := h.RunBundle(j, 3, b)
	var all view.View
	if err := all.Apply(scheduler.Round{Now: h.Step.Now, Events: h.NotifiedEvents()}); err != nil {
		t.Fatal(err)
	}
	h.Later(time.Hour)
	h.Attempts.SuspendBundleAttempt(suspended)
	h.Attempts.SuspendedNow(suspended.Attempts[0])
	twice.Bundle.SetSpeculationOffered(h.Step.Now)
	h.Events.Notify(twice.Bundle, h.Events.SpeculationEvent(twice.Bundle))
	h.Events.Protect(twice.Bundle)
	if err := all.Apply(scheduler.Round{Now: h.Step.Now, Events: h.NotifiedEvents()}); err != nil {
		t.Fatal(err)
	}
	h.Later(time.Second)
	h.Rounds.Start(&wire.PolicyStart{Generation: 9, Policy: "test"})
	h.Events.BuildSnapshot()
	var fresh view.View
	if err := fresh.Start(snapshot(t, h)); err != nil {
		t.Fatal(err)
	}
	if all.World().String() != fresh.World().String() {
		t.Errorf("who was there sees\n%s\nwho starts\n%s", all.World().String(), fresh.World().String())
	}
	if w := fresh.World(); len(w.Jobs) != 1 || len(w.Jobs[0].Attempts) != 3 || len(w.Jobs[0].SpeculationOffered) != 1 {
		t.Errorf("it sees\n%s", fresh.World().String())
	}
}

// A snapshot is made in slices. Later changes of parts already in it are sent as events, other
// changes are in it, and nothing is sent twice.
func TestWhatHappensWhileASnapshotIsMade(t *testing.T) {
	h := coretest.New(t)
	h.StartPolicy(0)
	l := h.Launcher("a", 4)
	first, last := h.Job(coretest.Maps(1)), h.Job(coretest.Maps(1))
	h.Rounds.Start(&wire.PolicyStart{Generation: 9, Policy: "test"})
	h.Step.Set.StepWork = 3 * step.WorkSnapshot
	h.Later(time.Second)
	h.Events.BuildSnapshot() // the launcher, the first job and its bundle
	if g := h.Policy.Building(); g == nil || g.Job() != first.ID {
		t.Fatalf("after one slice it has come to %+v", g)
	}
	h.RunBundle(first, 0, l)
	h.RunBundle(last, 0, l)
	for h.Policy.Building() != nil {
		h.Later(time.Second)
		h.Events.BuildSnapshot()
	}
	launched, started := map[scheduler.BundleID]int{}, map[scheduler.BundleID]int{}
	for _, e := range snapshot(t, h).Events {
		switch e := e.(type) {
		case scheduler.Outcome:
			launched[e.Launch.Bundle]++
		case scheduler.AttemptStarted:
			started[e.Bundle]++
		}
	}
	if len(launched) != 2 || launched[first.Bundles[0].ID()] != 1 || launched[last.Bundles[0].ID()] != 1 || len(started) != 2 || started[first.Bundles[0].ID()] != 1 || started[last.Bundles[0].ID()] != 1 {
		t.Errorf("told of launches %v and starts %v", launched, started)
	}
}

// Loads are sent to a policy that wants them, when they change.
func TestLoadsAreForWhoWantsThem(t *testing.T) {
	for wants, want := range map[scheduler.Ability]int{0: 0, scheduler.AbilityLoad: 1} {
		h := coretest.New(t)
		h.StartPolicy(wants)
		l := h.Launcher("a", 1)
		h.NotifiedEvents()
		busy := 0.5
		for range 2 {
			h.Events.LoadReport(l, &wire.MachineLoad{Cpu: &busy, Memory: &busy})
		}
		n := 0
		for _, e := range h.NotifiedEvents() {
			if load, is := e.(scheduler.LauncherLoad); is && load.CPU == 0.5 {
				n++
			}
		}
		if n != want || wants == 0 && h.Events.NotifiedLoad(l).CPU() == 0.5 {
			t.Errorf("abilities %v: %d loads are told, want %d", wants, n, want)
		}
	}
}

// A victim that is still stopping is marked as one, to be killed or to be suspended.
func TestASnapshotTellsWhoIsToLeave(t *testing.T) {
	for _, mode := range []scheduler.PreemptMode{scheduler.PreemptKill, scheduler.PreemptSuspend} {
		h := coretest.New(t)
		h.StartPolicy(scheduler.AbilityResume)
		l := h.Launcher("a", 1)
		victim, other := h.Job(coretest.Maps(1)), h.Job(coretest.Maps(1))
		a := h.RunBundle(victim, 0, l).Attempts[0]
		h.Later(time.Hour)
		if _, why := h.Rounds.Preemption.Preempt(scheduler.Preempt{For: other.ID, Victims: []scheduler.AttemptID{a.ID}, Mode: mode}); why != "" {
			t.Fatal(why)
		}
		preempted := h.Step.Now
		h.Later(time.Second)
		h.Rounds.Start(&wire.PolicyStart{Generation: 9, Policy: "test"})
		h.Events.BuildSnapshot()
		told := false
		for _, e := range snapshot(t, h).Events {
			if o, is := e.(scheduler.Outcome); is && o.Kind == scheduler.DecisionPreempt {
				told = o.At == preempted && o.Preempt.Mode == mode && o.Preempt.For == other.ID && o.Preempt.Victims[0] == a.ID
			}
		}
		if !told {
			t.Errorf("mode %v: it is not told", mode)
		}
	}
}

// TestEndsOfAnOffer: a policy is told that a second attempt is offered no more, once, when the first attempt ends,
// commits, resumes, is preempted or is stopped, when its launcher is lost, and when its job is killed. A policy that
// starts afterwards sees no offer.
func TestEndsOfAnOffer(t *testing.T) {
	for name, end := range map[string]func(*coretest.Core, *state.BundleAttempt){
		"it fails":    func(h *coretest.Core, r *state.BundleAttempt) { h.Attempts.GiveUp(r.Attempts[0], "it left") },
		"it finishes": func(h *coretest.Core, r *state.BundleAttempt) { h.Finish(r.Attempts[0]) },
		"it commits": func(h *coretest.Core, r *state.BundleAttempt) {
			h.Attempts.CommitAsked(r.Attempts[0].Launcher, r.Attempts[0].ID)
		},
		"it is stopped": func(h *coretest.Core, r *state.BundleAttempt) {
			h.Dispatch.PreemptBundleAttempt(r, time.Minute, 7)
		},
		"it is preempted": func(h *coretest.Core, r *state.BundleAttempt) {
			other := h.Job(coretest.Maps(1))
			d := scheduler.Preempt{Victims: []scheduler.AttemptID{r.Attempts[0].ID}, Mode: scheduler.PreemptSuspend, For: other.ID}
			if reason, why := h.Rounds.Preemption.Preempt(d); reason != scheduler.NotRefused {
				t.Fatal(why)
			}
		},
		"the job is killed": func(h *coretest.Core, r *state.BundleAttempt) {
			h.Admission.KillJob(&wire.KillJob{Job: uint64(r.Bundle.Job.ID), Principal: &wire.Principal{Name: "ann"}})
		},
	} {
		h := coretest.New(t)
		h.StartPolicy(0)
		r := h.RunBundle(h.Job(coretest.Maps(2)), 0, h.Launcher("a", 1))
		h.Speculation.OfferSpeculation(r.Bundle)
		h.NotifiedEvents()
		h.Later(time.Second)
		end(h, r)
		told := 0
		for _, e := range h.NotifiedEvents() {
			if w, is := e.(scheduler.SpeculationWithdrawn); is && w.Bundle == r.Bundle.ID() && w.Job == r.Bundle.Job.ID {
				told++
			}
		}
		if told != 1 || r.Bundle.SpeculationOffered() != 0 || r.Bundle.Job.SpeculativeCount() != 0 {
			t.Errorf("%s: told %d times, offered since %d, %d counted", name, told, r.Bundle.SpeculationOffered(), r.Bundle.Job.SpeculativeCount())
		}
		h.Checked()
		h.Rounds.Start(&wire.PolicyStart{Generation: 9, Policy: "test"})
		h.Events.BuildSnapshot()
		var fresh view.View
		if err := fresh.Start(snapshot(t, h)); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, j := range fresh.World().Jobs {
			if len(j.SpeculationOffered) > 0 {
				t.Errorf("%s: a policy that starts sees\n%s\nwant no offer", name, fresh.World().String())
			}
		}
	}
}

// TestEndsOfAnAttempt: a policy is told once that the manager stops an attempt, whatever stops it, before a decision on the
// attempt is refused for that. A policy that starts afterwards is told, too. The policy's own preemption tells by its
// outcome.
func TestEndsOfAnAttempt(t *testing.T) {
	kill := func(h *coretest.Core, r *state.BundleAttempt) {
		h.Admission.KillJob(&wire.KillJob{Job: uint64(r.Bundle.Job.ID), Principal: &wire.Principal{Name: "ann"}})
	}
	for name, c := range map[string]struct {
		spec *wire.JobSpec
		end  func(*coretest.Core, *state.BundleAttempt)
		told int
	}{
		"the job is killed": {coretest.Maps(2), kill, 1},
		"the job fails": {coretest.Maps(2), func(h *coretest.Core, r *state.BundleAttempt) {
			other := h.RunBundle(r.Bundle.Job, 1, h.Launcher("b", 1)).Attempts[0]
			h.Attempts.EndedReport(other.Launcher, &wire.AttemptEnded{Attempt: uint64(other.ID), End: wire.End_END_FAILED, Failure: &wire.Failure{
				Kind: wire.ErrorKind_ERROR_KIND_INVALID, Message: "no",
			}})
		}, 1},
		"another group of a gang fails": {coretest.Gang(2), func(h *coretest.Core, r *state.BundleAttempt) { h.Fail(r.Attempts[1], "no") }, 1},
		"another group of a gang is lost": {coretest.Gang(2), func(h *coretest.Core, r *state.BundleAttempt) {
			h.Attempts.Lose(r.Attempts[1], "it left")
		}, 1},
		"another attempt commits": {coretest.Maps(1), func(h *coretest.Core, r *state.BundleAttempt) {
			h.Speculation.OfferSpeculation(r.Bundle)
			second := h.RunBundle(r.Bundle.Job, 0, h.Launcher("b", 1)).Attempts[0]
			h.Attempts.CommitAsked(second.Launcher, second.ID)
		}, 1},
		"another attempt finishes": {coretest.Maps(1), func(h *coretest.Core, r *state.BundleAttempt) {
			h.Speculation.OfferSpeculation(r.Bundle)
			h.Finish(h.RunBundle(r.Bundle.Job, 0, h.Launcher("b", 1)).Attempts[0])
		}, 1},
		"it is stopped twice": {coretest.Maps(1), func(h *coretest.Core, r *state.BundleAttempt) {
			kill(h, r)
			h.Dispatch.StopBundleAttempt(r, scheduler.Killed, "again", 0)
		}, 1},
		"the policy preempts it": {coretest.Maps(1), func(h *coretest.Core, r *state.BundleAttempt) {
			other := h.Job(coretest.Maps(1))
			d := scheduler.Preempt{Victims: []scheduler.AttemptID{r.Attempts[0].ID}, Mode: scheduler.PreemptKill, For: other.ID}
			if reason, why := h.Rounds.Preemption.Preempt(d); reason != scheduler.NotRefused {
				t.Fatal(why)
			}
			kill(h, r)
		}, 0},
	} {
		h := coretest.New(t)
		h.StartPolicy(scheduler.AbilityResume)
		l := h.Launcher("a", 4)
		on := []*state.Launcher{l}
		for range c.spec.GetGraph().GetConnections() {
			on = append(on, l)
		}
		r := h.RunBundle(h.Job(c.spec), 0, on...)
		a := r.Attempts[0]
		h.Later(time.Hour)
		h.Attempts.SuspendBundleAttempt(r)
		h.Attempts.SuspendedNow(a)
		h.NotifiedEvents()
		c.end(h, r)
		if _, reason, _ := h.Attempts.Resume(scheduler.Resume{Attempt: a.ID}); reason != scheduler.NotSuspended {
			t.Errorf("%s: to resume it is refused with %v", name, reason)
		}
		told := 0
		for _, e := range h.NotifiedEvents() {
			if s, is := e.(scheduler.AttemptStopping); is {
				told++
				if s.Attempt != a.ID {
					t.Errorf("%s: it is told of %v", name, s.Attempt)
				}
			}
		}
		if told != c.told {
			t.Errorf("%s: it is told %d times, want %d", name, told, c.told)
		}
		h.Later(time.Second)
		h.Rounds.Start(&wire.PolicyStart{Generation: 9, Policy: "test"})
		h.Events.BuildSnapshot()
		var fresh view.View
		if err := fresh.Start(snapshot(t, h)); err != nil {
			t.Fatal(err)
		}
		if x := fresh.Attempt(a.ID); x == nil || !x.Stopping {
			t.Errorf("%s: a policy that starts sees %+v", name, x)
		}
	}
}

// TestWhoGetsWhatIsStopped: an attempt is to be suspended for a job, and its own job is killed before. What it frees is
// still the beneficiary's.
func TestWhoGetsWhatIsStopped(t *testing.T) {
	h := coretest.New(t)
	h.StartPolicy(scheduler.AbilityResume)
	r := h.RunBundle(h.Job(coretest.Maps(1)), 0, h.Launcher("a", 1))
	other := h.Job(coretest.Maps(1))
	d := scheduler.Preempt{Victims: []scheduler.AttemptID{r.Attempts[0].ID}, Mode: scheduler.PreemptSuspend, For: other.ID}
	if reason, why := h.Rounds.Preemption.Preempt(d); reason != scheduler.NotRefused {
		t.Fatal(why)
	}
	h.NotifiedEvents()
	h.Jobs.EndJob(r.Bundle.Job, scheduler.JobKilled, nil)
	for _, e := range h.NotifiedEvents() {
		if s, is := e.(scheduler.AttemptStopping); is && s.For == other.ID {
			return
		}
	}
	t.Error("it is not told that the attempt is stopped for the other job")
}
