package lifecycle_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hamadryad/hamadryad/engine/core/internal/coretest"
	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/core/internal/state/phase"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

func free(l *state.Launcher) int { return l.Free().Of(scheduler.DefaultKind) }

func launch(h *coretest.Core, j *state.Job, i int, on ...scheduler.LauncherID) scheduler.RefusalReason {
	_, refused, _ := h.Attempts.Launch(scheduler.Launch{Bundle: j.Bundles[i].ID(), Launchers: on})
	return refused
}

// suspend suspends all attempts of a bundle attempt.
func suspend(h *coretest.Core, r *state.BundleAttempt) {
	h.Attempts.SuspendBundleAttempt(r)
	for _, a := range r.Attempts {
		h.Attempts.SuspendedNow(a)
	}
}

// Slots are held from the launch until the reported end, however long the attempt takes to stop,
// except while it is suspended. It keeps its memory then.
func TestHowLongSlotsAreHeld(t *testing.T) {
	h := coretest.New(t)
	h.StartPolicy(0)
	l := h.Launcher("a", 1)
	all := l.FreeMemory()
	j := h.Job(coretest.Maps(2))
	r := h.RunBundle(j, 0, l)
	a := r.Attempts[0]
	if free(l) != 0 || launch(h, j, 1, l.ID) != scheduler.NoCapacity {
		t.Fatal("its slot is free while it runs")
	}
	suspend(h, r)
	if free(l) != 1 || l.FreeMemory() != all-a.Memory {
		t.Fatalf("while it is suspended %d slots are free, and %d bytes", free(l), l.FreeMemory())
	}
	other := h.RunBundle(j, 1, l)
	if _, reason, _ := h.Attempts.Resume(scheduler.Resume{Attempt: a.ID}); reason != scheduler.NoCapacity || !a.WaitsForResume() {
		t.Fatalf("to resume without a slot is refused with %v", reason)
	}
	h.Finish(other.Attempts[0])
	if _, reason, why := h.Attempts.Resume(scheduler.Resume{Attempt: a.ID}); reason != scheduler.NotRefused || free(l) != 0 {
		t.Fatalf("to resume is refused with %q, and %d slots are free", why, free(l))
	}
	if _, reason, _ := h.Attempts.Resume(scheduler.Resume{Attempt: a.ID}); reason != scheduler.NotSuspended {
		t.Errorf("to resume twice is refused with %v", reason)
	}
	h.Attempts.ResumedNow(a)
	h.Dispatch.PreemptBundleAttempt(r, time.Minute, 7)
	if h.Checked(); free(l) != 0 {
		t.Error("its slot is free before its end was reported")
	}
	h.Attempts.Lose(a, "it left")
	if h.Checked(); free(l) != 1 || l.FreeMemory() != all || a.Outcome() != scheduler.Preempted {
		t.Errorf("at its end %d slots are free, and %d bytes; it was %v", free(l), l.FreeMemory(), a.Outcome())
	}
}

// Of two attempts of a bundle the first that asks gets the commit grant, however often it asks. The
// other is stopped, and its stored output is deleted.
func TestOneHasTheCommitGrant(t *testing.T) {
	h := coretest.New(t)
	h.StartPolicy(0)
	l, m := h.Launcher("a", 1), h.Launcher("b", 1)
	j := h.Job(coretest.Chain(2))
	first := h.RunBundle(j, 0, l).Attempts[0]
	h.Speculation.OfferSpeculation(&j.Bundles[0])
	if launch(h, j, 0, l.ID) == scheduler.NotRefused {
		t.Fatal("the second runs where the first does")
	}
	second := h.RunBundle(j, 0, m).Attempts[0]
	h.Later(time.Second)
	for _, ask := range []struct {
		l       *state.Launcher
		a       *state.Attempt
		granted bool
	}{{m, second, true}, {l, first, false}, {m, second, true}, {l, second, false}} {
		h.Attempts.CommitAsked(ask.l, ask.a.ID)
		c := h.Commands(ask.l)
		if v := c[len(c)-1].GetCommit(); v.GetAttempt() != uint64(ask.a.ID) || v.GetGranted() != ask.granted {
			t.Errorf("launcher %s is told %v of attempt %d", ask.l.Name, v, ask.a.ID)
		}
	}
	if s := first.Stop(); s == nil || s.Outcome != scheduler.Killed {
		t.Fatalf("the other is stopped by %v", s)
	}
	h.Later(time.Second)
	h.Finish(first, coretest.Stored(0, 0))
	c := h.Commands(l)
	if j.Bundles[0].Phase() != state.BundleRunning || len(c) != 2 || c[0].GetDropOutput().GetAttempt() != uint64(first.ID) || c[1].GetForget() != uint64(first.ID) {
		t.Errorf("the bundle is %v, and the launcher is told %v", j.Bundles[0].Phase(), c)
	}
	h.Finish(second, coretest.Stored(0, 0))
	h.Finish(second, coretest.Stored(0, 0)) // the report is repeated
	if got := coretest.PhasesOf(j); got != "finished ready" || j.Bundles[0].LastCommits()[0].Attempt != second.ID || h.Step.Stats.LateCommits != 3 {
		t.Errorf("they are %s, and %d commits came late", got, h.Step.Stats.LateCommits)
	}
	h.Checked()
}

// An attempt that is being stopped gets no commit grant, even while it still runs. Nor does one
// whose job ends before its stop is sent.
func TestWhoStopsMayNotCommit(t *testing.T) {
	for name, story := range map[string]struct {
		before  func(*coretest.Core, *state.Attempt)
		granted bool
	}{
		"runs": {func(*coretest.Core, *state.Attempt) {}, true},
		"stops": {func(h *coretest.Core, a *state.Attempt) {
			h.Dispatch.PreemptBundleAttempt(a.BundleAttempt, time.Minute, 7)
		}, false},
		"ends": {func(h *coretest.Core, a *state.Attempt) {
			h.Step.AddCost(h.Step.Set.StepWork) // nothing is stopped in this step
			h.Jobs.EndJob(a.BundleAttempt.Bundle.Job, scheduler.JobKilled, nil)
		}, false},
	} {
		h := coretest.New(t)
		h.StartPolicy(0)
		l := h.Launcher("a", 1)
		a := h.RunBundle(h.Job(coretest.Maps(1)), 0, l).Attempts[0]
		h.Later(time.Second)
		story.before(h, a)
		h.Attempts.CommitAsked(l, a.ID)
		c := h.Commands(l)
		if v := c[len(c)-1].GetCommit(); v.GetGranted() != story.granted || a.BundleAttempt.Granted() != story.granted {
			t.Errorf("one that %s is told %v", name, v)
		}
		h.Finish(a)
		if accepted := h.Step.Stats.Finished == 1; accepted != (name != "ends") { // only the preempted one has done its work
			t.Errorf("the end of one that %s is accepted: %t", name, accepted)
		}
		h.Checked()
	}
}

// If one attempt of a gang fails or is lost, the gang is stopped, its stored outputs are deleted,
// and it is offered again only when all have ended.
func TestAGangIsStoppedWhole(t *testing.T) {
	for name, end := range map[string]func(*coretest.Core, *state.Attempt){
		"failed": func(h *coretest.Core, a *state.Attempt) { h.Fail(a, "bad") },
		"lost":   func(h *coretest.Core, a *state.Attempt) { h.Attempts.Lose(a, "its worker died") },
	} {
		h := coretest.New(t)
		h.StartPolicy(0)
		l := h.Launcher("a", 4)
		spec := coretest.Gang(3) // its first node also stores an output for a fourth node
		spec.Graph.Stages = append(spec.Graph.Stages, &wire.Stage{Name: "d", Nodes: 1})
		spec.Graph.Connections = append(spec.Graph.Connections, &wire.Connection{
			FromStage: 0, ToStage: 3, FromPort: "more", ToPort: "in", Kind: wire.ChannelKind_CHANNEL_KIND_FILE, Pattern: wire.Pattern_PATTERN_ONE_TO_ONE,
		})
		j := h.Job(spec)
		r := h.RunBundle(j, 0, l, l, l)
		h.Finish(r.Attempts[0], coretest.Stored(2, 0))
		if got := coretest.PhasesOf(j); got != "running waiting" {
			t.Fatalf("%s: with one finished they are %s", name, got)
		}
		h.Later(time.Second)
		end(h, r.Attempts[1])
		if s := r.Attempts[2].Stop(); s == nil || coretest.PhasesOf(j) != "running waiting" || free(l) != 3 {
			t.Fatalf("%s: the third is stopped by %v, they are %s, %d slots are free", name, s, coretest.PhasesOf(j), free(l))
		}
		h.Finish(r.Attempts[2]) // too late: the gang is over
		c := h.Commands(l)
		drop := c[len(c)-2].GetDropOutput().GetAttempt()
		if got := coretest.PhasesOf(j); got != "ready waiting" || drop != uint64(r.Attempts[0].ID) || l.Outputs.Len() > 0 || free(l) != 4 {
			t.Errorf("%s: they are %s, the launcher is told %v, and keeps %v", name, got, c, l.Outputs)
		}
		h.Checked()
	}
}

// Whole bundles are resumed as slots become free, in the order of suspension. A bundle suspended
// for too long is killed and offered again. With a policy that resumes, the core leaves both to it.
func TestWhoIsSuspendedComesBack(t *testing.T) {
	for _, resumes := range []bool{false, true} {
		h := coretest.New(t)
		h.StartPolicy(map[bool]scheduler.Ability{true: scheduler.AbilityResume}[resumes])
		l := h.Launcher("a", 2)
		gang, single, third := h.Job(coretest.Gang(2)), h.Job(coretest.Maps(1)), h.Job(coretest.Maps(2))
		x := h.RunBundle(gang, 0, l, l)
		suspend(h, x)
		y := h.RunBundle(single, 0, l)
		suspend(h, y)
		z, last := h.RunBundle(third, 0, l), h.RunBundle(third, 1, l)
		h.Finish(z.Attempts[0])
		h.Attempts.ResumeSuspended() // there is room for the second, and not for the first
		if y.Attempts[0].Resuming() == resumes || x.Attempts[0].Resuming() || x.Attempts[1].Resuming() {
			t.Errorf("the policy resumes: %t, the gang: %t and %t, the single one: %t", resumes,
				x.Attempts[0].Resuming(), x.Attempts[1].Resuming(), y.Attempts[0].Resuming())
		}
		h.Attempts.SuspendedTooLong(x.ID)
		if x.Stopped() != 0 {
			t.Error("it is stopped at once")
		}
		h.Later(h.Step.Set.SuspendMax)
		h.Attempts.SuspendedTooLong(x.ID)
		if stopped := x.Stopped() == scheduler.Preempted; stopped == resumes {
			t.Errorf("the policy resumes: %t, the gang is stopped: %t", resumes, stopped)
		}
		h.Finish(last.Attempts[0])
		for _, a := range x.Attempts {
			h.Attempts.Lose(a, "it left")
		}
		if got := coretest.PhasesOf(gang); got != "ready" {
			t.Errorf("the gang is %s", got)
		}
		h.Checked()
	}
}

// A straggler runs far longer than the finished attempts of its stage. It is offered for a second
// attempt, within the job's share. An attempt that is alone in its stage, waits, or forbids
// speculation is not offered.
func TestStragglers(t *testing.T) {
	for _, story := range []struct {
		finished, running int
		after             time.Duration
		never             bool // the job forbids it
		want              int
	}{
		{4, 4, 16 * time.Second, false, 1},
		{4, 4, 14 * time.Second, false, 0}, // not long enough
		{3, 4, 16 * time.Second, false, 0}, // too few have finished
		{4, 4, 16 * time.Second, true, 0},
		{24, 21, 16 * time.Second, false, 2},
	} {
		h := coretest.New(t)
		h.StartPolicy(0)
		l := h.Launcher("a", 100)
		spec := coretest.Maps(uint32(story.finished + story.running))
		spec.NoSpeculation = story.never
		j := h.Job(spec)
		for i := range story.finished {
			r := h.RunBundle(j, i, l)
			h.Later(time.Second)
			h.Finish(r.Attempts[0])
		}
		for i := range story.running {
			h.RunBundle(j, story.finished+i, l)
		}
		h.NotifiedEvents()
		h.Later(story.after)
		h.Speculation.Speculate()
		h.Speculation.Speculate() // the first offer counts
		offered := 0
		for _, e := range h.NotifiedEvents() {
			if o, is := e.(scheduler.SpeculationOffered); is {
				offered++
				if len(o.Avoid) != 1 || o.Avoid[0] != l.ID || o.Bundle != j.Bundles[story.finished+offered-1].ID() {
					t.Errorf("%+v: it is told %+v", story, o)
				}
			}
		}
		if offered != story.want || j.SpeculativeCount() != story.want {
			t.Errorf("%+v: %d are offered, %d are counted", story, offered, j.SpeculativeCount())
		}
		h.Checked()
	}
}

// If the site wants it, a second attempt is offered for one that is suspended for long. The offer
// ends when the suspended one resumes.
func TestTheSuspendedAreRaced(t *testing.T) {
	for _, after := range []time.Duration{0, time.Minute} {
		h := coretest.New(t)
		h.Step.Set.SpeculationSuspended = after
		h.StartPolicy(scheduler.AbilityResume)
		l, m := h.Launcher("a", 1), h.Launcher("b", 1)
		j := h.Job(coretest.Maps(1))
		b := &j.Bundles[0]
		first := h.RunBundle(j, 0, l)
		suspend(h, first)
		h.Later(time.Minute - 1)
		if h.Speculation.Speculate(); b.SpeculationOffered() != 0 {
			t.Error("it is raced before its time")
		}
		h.Later(1)
		if h.Speculation.Speculate(); (b.SpeculationOffered() != 0) != (after > 0) {
			t.Errorf("after %v: it is raced: %t", after, b.SpeculationOffered() != 0)
		}
		if after == 0 {
			continue
		}
		resume := func() {
			if _, reason, why := h.Attempts.Resume(scheduler.Resume{Attempt: first.Attempts[0].ID}); reason != scheduler.NotRefused {
				t.Fatal(why)
			}
			h.Attempts.ResumedNow(first.Attempts[0])
		}
		resume()
		if b.SpeculationOffered() != 0 {
			t.Error("it goes on, and the offer stands")
		}
		suspend(h, first)
		h.Later(time.Minute)
		h.Speculation.Speculate()
		if refused := launch(h, j, 0, l.ID); refused != scheduler.LauncherUnavailable {
			t.Errorf("where it is suspended the second is refused with %v", refused)
		}
		second := h.RunBundle(j, 0, m).Attempts[0]
		h.Checked()
		h.Finish(second)
		if s := first.Attempts[0].Stop(); s == nil || s.Outcome != scheduler.Killed {
			t.Errorf("the second is finished, and the first is stopped by %v", s)
		}
		h.Checked()
	}
}

// An output that a reader can't read is deleted and made again, and the reader gets the new place.
// A reader that tried an older output gets the newer place, and nothing is made again.
func TestAnInputThatCannotBeRead(t *testing.T) {
	h := coretest.New(t)
	h.StartPolicy(0)
	l, m := h.Launcher("a", 2), h.Launcher("b", 1)
	j := h.Job(coretest.MapReduce(1, 1))
	old := h.RunBundle(j, 0, m).Attempts[0]
	h.Finish(old, coretest.Stored(0, 0))
	reader := h.RunBundle(j, 1, l).Attempts[0]
	lost := func() {
		h.Attempts.InputLost(reader, &wire.InputLost{Attempt: uint64(reader.ID), Producer: uint64(old.ID), Reason: "reset"})
	}
	h.Later(time.Second)
	lost()
	if c := h.Commands(m); coretest.PhasesOf(j) != "ready running" || len(c) != 1 || c[0].GetDropOutput().GetAttempt() != uint64(old.ID) {
		t.Fatalf("they are %s, and who has it is told %v", coretest.PhasesOf(j), c)
	}
	lost() // it reports the loss again
	again := h.RunBundle(j, 0, l).Attempts[0]
	h.Finish(again, coretest.Stored(0, 0))
	h.Dispatch.FlushSources()
	h.Later(time.Second)
	lost() // a late repetition
	if got := coretest.PhasesOf(j); got != "finished running" {
		t.Fatalf("they are %s", got)
	}
	h.Dispatch.FlushSources()
	if c := h.Commands(l); len(c) != 1 || len(c[0].GetSources().GetSources()) != 1 || c[0].GetSources().Sources[0].GetAttempt() != uint64(again.ID) || j.Bundles[0].Tries.Losses() != 1 {
		t.Errorf("its launcher is told %v, and it was made again %d times", c, j.Bundles[0].Tries.Losses())
	}
	h.Checked()
}

// If a launcher can't start an attempt, the attempt fails. If it can't suspend it, the attempt runs
// on, and the reservation for the beneficiary ends.
func TestALauncherThatRefuses(t *testing.T) {
	h := coretest.New(t)
	h.StartPolicy(0)
	l := h.Launcher("a", 2)
	j, other := h.Job(coretest.Maps(1)), h.Job(coretest.Gang(2))
	if refused := launch(h, j, 0, l.ID); refused != scheduler.NotRefused {
		t.Fatal(refused)
	}
	h.Attempts.RefusedCommand(j.Attempts()[0], &wire.Failure{Kind: wire.ErrorKind_ERROR_KIND_RESOURCE, Message: "the disk is full"})
	if got := coretest.PhasesOf(j); got != "ready" || j.Bundles[0].Tries.Failures() != 0 || j.Bundles[0].Tries.Losses() != 1 {
		t.Fatalf("it is %s, failed %d times and lost %d times", got, j.Bundles[0].Tries.Failures(), j.Bundles[0].Tries.Losses())
	}
	h.Later(time.Hour)
	m := h.Launcher("b", 1)
	a := h.RunBundle(j, 0, m).Attempts[0]
	z := h.RunBundle(h.Job(coretest.Maps(1)), 0, l).Attempts[0]
	h.Later(time.Hour)
	if reason, why := h.Rounds.Preemption.Preempt(scheduler.Preempt{For: other.ID, Victims: []scheduler.AttemptID{z.ID, a.ID}, Mode: scheduler.PreemptSuspend}); reason != scheduler.NotRefused {
		t.Fatal(why)
	}
	for _, x := range []*state.Attempt{z, a} {
		h.Attempts.RefusedCommand(x, &wire.Failure{Message: "no freezer"})
		if x.Phase() != phase.Running || x.Suspending() || x.Unacked.Waits() {
			t.Errorf("attempt %d is in phase %d, asked to suspend: %t", x.ID, x.Phase(), x.Suspending())
		}
	}
	told := 0
	for _, e := range h.NotifiedEvents() {
		if f, is := e.(scheduler.SuspensionFailed); is && (f.Attempt == z.ID || f.Attempt == a.ID) {
			told++
		}
	}
	if told != 2 {
		t.Errorf("the policy is told %d times, want 2", told)
	}
	if reason, _ := h.Rounds.Preemption.Preempt(scheduler.Preempt{For: other.ID, Victims: []scheduler.AttemptID{z.ID}, Mode: scheduler.PreemptSuspend}); reason != scheduler.Protected {
		t.Errorf("to ask for it at once again is refused with %v, want protected", reason)
	}
	if h.Checked(); h.Resources.Reservations.Len() != 0 {
		t.Error("something is reserved that nobody frees")
	}
}

// An attempt that its launcher can't resume is stopped there and lost, with the rest of its bundle,
// and is offered again. So is an attempt that turns out not to be suspended and can't be.
func TestOneThatCannotGoOn(t *testing.T) {
	h := coretest.New(t)
	h.StartPolicy(scheduler.AbilityResume)
	l := h.Launcher("a", 3)
	j, single := h.Job(coretest.Gang(2)), h.Job(coretest.Maps(1))
	r, z := h.RunBundle(j, 0, l, l), h.RunBundle(single, 0, l).Attempts[0]
	suspend(h, r)
	suspend(h, z.BundleAttempt)
	ids, _, why := h.Attempts.Resume(scheduler.Resume{Attempt: r.Attempts[1].ID})
	if len(ids) != 2 || ids[0] != r.Attempts[0].ID {
		t.Fatalf("attempts %d are to go on: %s", ids, why)
	}
	h.Later(time.Second)
	h.Membership.Report(&wire.LauncherReport{Launcher: uint64(l.ID), Report: &wire.Report{Incarnation: 1, What: &wire.Report_Inventory{Inventory: &wire.Inventory{
		Attempts: []*wire.AttemptInventory{
			{Attempt: uint64(r.Attempts[0].ID), State: wire.AttemptInventory_STATE_SUSPENDED},
			{Attempt: uint64(r.Attempts[1].ID), State: wire.AttemptInventory_STATE_SUSPENDED},
			{Attempt: uint64(z.ID), State: wire.AttemptInventory_STATE_RUNNING},
		},
	}}}})
	for _, a := range []*state.Attempt{r.Attempts[0], z} {
		h.Later(time.Second)
		h.Attempts.RefusedCommand(a, &wire.Failure{Message: "stuck"})
		h.Attempts.RefusedCommand(a, &wire.Failure{Message: "stuck"}) // the command was sent twice
		if s := a.Stop(); s == nil || s.Outcome != scheduler.Lost || len(h.Commands(l)) != len(a.BundleAttempt.Attempts) {
			t.Fatalf("attempt %d is stopped by %v, and its launcher told %v", a.ID, s, h.Commands(l))
		}
	}
	h.Checked()
	h.NotifiedEvents()
	for _, a := range append(slices.Clone(r.Attempts), z) {
		h.Attempts.EndedReport(l, &wire.AttemptEnded{Attempt: uint64(a.ID), End: wire.End_END_STOPPED})
		if a.Outcome() != scheduler.Lost {
			t.Errorf("attempt %d is %v", a.ID, a.Outcome())
		}
	}
	h.Checked()
	if got := coretest.PhasesOf(j) + coretest.PhasesOf(single); got != "readyready" || free(l) != 3 || !l.Up || j.Bundles[0].Tries.Losses() != 1 || single.Bundles[0].Tries.Losses() != 1 || !l.Usable() {
		t.Errorf("they are %s, and %d slots are free", got, free(l))
	}
}

// Whatever happens to attempts, in any order: a refused launch gets the exact reason, live attempts
// hold exactly the slots, at most one attempt of a bundle has the grant, and all end.
func TestAnyAttempts(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		h := coretest.New(r)
		h.StartPolicy(0)
		h.Step.Set.LostMax, h.Step.Set.AttemptsMax = 1000, 100
		on := []*state.Launcher{h.Launcher("a", 3), h.Launcher("b", 2)}
		jobs := []*state.Job{h.Job(coretest.Gang(2)), h.Job(coretest.Maps(3)), h.Job(coretest.Chain(2))}
		for range rapid.IntRange(0, 60).Draw(r, "moves") {
			h.Later(time.Second)
			if live := liveOf(jobs); len(live) > 0 && rapid.Bool().Draw(r, "an attempt") {
				change(h, rapid.SampledFrom(live).Draw(r, "attempt"), rapid.IntRange(0, 11).Draw(r, "change"))
			} else {
				b := &rapid.SampledFrom(jobs).Draw(r, "job").Bundles[0]
				d := scheduler.Launch{Bundle: b.ID()}
				for range b.Width() {
					d.Launchers = append(d.Launchers, rapid.SampledFrom(on).Draw(r, "on").ID)
				}
				h.Attempts.Launch(d)
			}
			h.Checked()
		}
		for range 20 {
			for _, a := range liveOf(jobs) {
				h.Attempts.Lose(a, "it left")
			}
			h.Checked()
		}
		if free(on[0]) != 3 || free(on[1]) != 2 || h.Cluster.Attempts.Len() != 0 || h.Cluster.Suspended.Len() != 0 {
			r.Errorf("%d and %d slots are free, %d attempts live", free(on[0]), free(on[1]), h.Cluster.Attempts.Len())
		}
	})
}

func liveOf(jobs []*state.Job) (live []*state.Attempt) {
	for _, j := range jobs {
		live = append(live, j.Attempts().Sorted()...)
	}
	return live
}

func change(h *coretest.Core, a *state.Attempt, how int) {
	switch how {
	case 0:
		h.Attempts.Started(a, "x:1")
	case 1, 2:
		if h.Finish(a); a.Phase() != phase.Ended {
			panic("its end was reported, and it lives")
		}
	case 3:
		h.Fail(a, "bad")
	case 4:
		h.Attempts.Lose(a, "it went")
	case 5:
		h.Attempts.CommitAsked(a.Launcher, a.ID)
	case 6, 7:
		h.Attempts.SuspendBundleAttempt(a.BundleAttempt)
	case 8:
		h.Attempts.SuspendedNow(a)
	case 9:
		h.Attempts.ResumeSuspended()
	case 10:
		h.Attempts.ResumedNow(a)
	case 11:
		if b := a.BundleAttempt.Bundle; a.MaySpeculate() && a.Phase() == phase.Running && b.Job.Phase() == state.JobRunning {
			h.Speculation.OfferSpeculation(b)
		}
	}
}

// A launcher that may not run work as a job's user is not blamed. Otherwise a user without an
// account there could exclude it for everyone.
func TestWhoIsToBlame(t *testing.T) {
	for kind, usable := range map[wire.ErrorKind]bool{
		wire.ErrorKind_ERROR_KIND_PROGRAM: false, wire.ErrorKind_ERROR_KIND_INVALID: false,
		wire.ErrorKind_ERROR_KIND_DENIED: true, wire.ErrorKind_ERROR_KIND_OUTPUT: true, wire.ErrorKind_ERROR_KIND_FULL: true,
	} {
		h := coretest.New(t)
		h.StartPolicy(0)
		h.Step.Set.ExcludeAfter, h.Step.Set.ExcludeJobs = 1, 1
		l := h.Launcher("a", 1)
		h.Launcher("b", 1)
		a := h.RunBundle(h.Job(coretest.Maps(1)), 0, l).Attempts[0]
		h.Attempts.EndedReport(l, &wire.AttemptEnded{Attempt: uint64(a.ID), End: wire.End_END_FAILED, Failure: &wire.Failure{Kind: kind, Message: "bad"}})
		h.Checked()
		if l.Usable() != usable {
			t.Errorf("%v: the launcher is usable: %t", kind, l.Usable())
		}
	}
}
