package rounds_test

import (
	"slices"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/core/internal/coretest"
	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// The slots of a victim go to the beneficiary once the victim has ended. Until then nobody gets
// them.
func TestWhatAVictimFreesIsKept(t *testing.T) {
	h := coretest.New(t)
	h.StartPolicy(0)
	l := h.Launcher("a", 1)
	victim, other, third := h.Job(coretest.Maps(1)), h.Job(coretest.Maps(1)), h.Job(coretest.Maps(1))
	r := h.RunBundle(victim, 0, l)
	h.Later(time.Hour)
	d := scheduler.Preempt{For: other.ID, Victims: []scheduler.AttemptID{r.Attempts[0].ID}, Mode: scheduler.PreemptKill}
	if reason, why := h.Rounds.Preemption.Preempt(d); reason != scheduler.NotRefused {
		t.Fatal(why)
	}
	if c := h.Commands(l); len(c) != 1 || c[0].GetStop().GetAttempt() != uint64(r.Attempts[0].ID) {
		t.Errorf("the launcher is told %v", c)
	}
	h.Attempts.Lose(r.Attempts[0], "it left")
	if _, refused, _ := h.Attempts.Launch(scheduler.Launch{Bundle: third.Bundles[0].ID(), Launchers: []scheduler.LauncherID{l.ID}}); refused != scheduler.NoCapacity {
		t.Errorf("somebody else's launch is refused with %v", refused)
	}
	h.RunBundle(other, 0, l)
	h.Checked()
}

// A preemption that would gain nothing changes nothing.
func TestNobodyIsTakenOffInVain(t *testing.T) {
	h := coretest.New(t)
	h.StartPolicy(0)
	l := h.Launcher("a", 1)
	victim, other := h.Job(coretest.Maps(1)), h.Job(coretest.Maps(1))
	r := h.RunBundle(victim, 0, l)
	h.Later(time.Hour)
	h.Membership.Drain(&wire.DrainLauncher{Name: "a", Drain: true})
	reason, _ := h.Rounds.Preemption.Preempt(scheduler.Preempt{For: other.ID, Victims: []scheduler.AttemptID{r.Attempts[0].ID}, Mode: scheduler.PreemptKill})
	if reason != scheduler.NothingGained || r.Stopped() != 0 || len(h.Commands(l)) > 0 {
		t.Errorf("refused with %v, the victim is stopped: %v, the launcher is told %v", reason, r.Stopped(), h.Commands(l))
	}
}

func free(l *state.Launcher) int { return l.Free().Of(scheduler.DefaultKind) }

func launch(h *coretest.Core, j *state.Job, i int, l *state.Launcher) scheduler.RefusalReason {
	_, refused, _ := h.Attempts.Launch(scheduler.Launch{Bundle: j.Bundles[i].ID(), Launchers: []scheduler.LauncherID{l.ID}})
	return refused
}

// Reserved slots that are not used become free after a while, which begins when the victims' grace
// is over. The settings bound the grace.
func TestAReservationExpires(t *testing.T) {
	h := coretest.New(t)
	h.StartPolicy(0)
	l := h.Launcher("a", 1)
	victim, other, third := h.Job(coretest.Maps(1)), h.Job(coretest.Maps(1)), h.Job(coretest.Maps(1))
	a := h.RunBundle(victim, 0, l).Attempts[0]
	h.Later(time.Hour)
	h.Due(0, 0)
	d := scheduler.Preempt{For: other.ID, Victims: []scheduler.AttemptID{a.ID}, Mode: scheduler.PreemptSoft, Grace: time.Hour}
	if reason, why := h.Rounds.Preemption.Preempt(d); reason != scheduler.NotRefused {
		t.Fatal(why)
	}
	grace := h.Step.Set.PolicyLimits.GraceMax
	if c := h.Commands(l); len(c) != 1 || c[0].GetStop().GetGraceNs() != int64(grace) {
		t.Errorf("the launcher is told %v", c)
	}
	h.Attempts.Lose(a, "it left")
	h.Later(grace + h.Step.Set.ReserveMax - 1)
	if h.Rounds.Preemption.ReservationExpired(1); launch(h, third, 0, l) != scheduler.NoCapacity || h.Due(step.TimerReservation, 1) {
		t.Error("it is free before its time")
	}
	h.Later(1)
	if !h.Due(step.TimerReservation, 1) {
		t.Error("nobody looks after it")
	}
	h.Rounds.Preemption.ReservationExpired(1)
	h.Rounds.Preemption.ReservationExpired(1)
	if refused := launch(h, third, 0, l); refused != scheduler.NotRefused || h.Step.Stats.ReservationsExpired != 1 {
		t.Errorf("a launch is refused with %v, and %d have expired", refused, h.Step.Stats.ReservationsExpired)
	}
	h.Checked()
}

// A suspended victim gives the beneficiary its slots and keeps its memory. It is resumed when the
// beneficiary has ended, and is protected for a while then.
func TestAVictimIsSuspended(t *testing.T) {
	h := coretest.New(t)
	h.StartPolicy(0)
	l := h.Launcher("a", 2)
	victim, other, third := h.Job(coretest.Gang(2)), h.Job(coretest.Maps(1)), h.Job(coretest.Maps(2))
	r := h.RunBundle(victim, 0, l, l)
	h.Later(time.Hour)
	d := scheduler.Preempt{For: other.ID, Bundle: other.Bundles[0].ID(), Victims: []scheduler.AttemptID{r.Attempts[1].ID}, Mode: scheduler.PreemptSuspend}
	if reason, why := h.Rounds.Preemption.Preempt(d); reason != scheduler.NotRefused {
		t.Fatal(why)
	}
	if c := h.Commands(l); len(c) != 2 || c[0].GetSuspend() != uint64(r.Attempts[0].ID) || c[1].GetSuspend() != uint64(r.Attempts[1].ID) {
		t.Fatalf("the launcher is told %v", c)
	}
	if until := r.Bundle.Protection.Until(); until != h.Step.Now.Add(h.Step.Set.ProtectFor) {
		t.Errorf("it is left alone until %d, and it is %d", until, h.Step.Now)
	}
	if reason, _ := h.Rounds.Preemption.Preempt(d); reason == scheduler.NotRefused {
		t.Error("it is taken off twice")
	}
	for _, a := range r.Attempts {
		h.Attempts.SuspendedNow(a)
	}
	if h.Checked(); free(l) != 0 || launch(h, third, 0, l) != scheduler.NoCapacity {
		t.Errorf("%d slots are everybody's", free(l))
	}
	b := h.RunBundle(other, 0, l).Attempts[0]
	if h.Checked(); free(l) != 1 || l.FreeMemory() != l.Memory()-3*b.Memory {
		t.Errorf("%d slots are free, and %d bytes of %d", free(l), l.FreeMemory(), l.Memory())
	}
	h.Finish(b)
	h.Attempts.ResumeSuspended()
	for _, a := range r.Attempts {
		h.Attempts.ResumedNow(a)
	}
	d.For, d.Bundle = third.ID, 0
	if reason, _ := h.Rounds.Preemption.Preempt(d); reason != scheduler.Protected {
		t.Errorf("to take it off at once again is refused with %v", reason)
	}
	h.Later(h.Step.Set.ProtectFor)
	if reason, why := h.Rounds.Preemption.Preempt(d); reason != scheduler.NotRefused {
		t.Error(why)
	}
	h.Checked()
}

// A suspended bundle may be the beneficiary, named, where it is. Then the slots that its victims
// free are reserved for it alone, until it resumes or no longer can.
func TestWhatIsSuspendedIsABeneficiary(t *testing.T) {
	kept := func(h *coretest.Core, l *state.Launcher) int { return l.Slots().Of("default") - free(l) - held(h, l) }
	for name, story := range map[string]struct {
		then func(*coretest.Core, *state.BundleAttempt)
		kept int
	}{
		"and nothing else happens": {func(*coretest.Core, *state.BundleAttempt) {}, 2},
		"and goes on": {func(h *coretest.Core, r *state.BundleAttempt) {
			ids, _, why := h.Attempts.Resume(scheduler.Resume{Attempt: r.Attempts[1].ID})
			if len(ids) != 2 || why != "" {
				t.Errorf("%v are to go on: %s", ids, why)
			}
		}, 0},
		"and is lost": {func(h *coretest.Core, r *state.BundleAttempt) { h.Attempts.Lose(r.Attempts[1], "its worker died") }, 0},
		"and is taken off itself": {func(h *coretest.Core, r *state.BundleAttempt) {
			d := scheduler.Preempt{For: h.Job(coretest.Maps(1)).ID, Victims: []scheduler.AttemptID{r.Attempts[0].ID}, Mode: scheduler.PreemptKill}
			if reason, why := h.Rounds.Preemption.Preempt(d); reason != scheduler.NotRefused {
				t.Error(why)
			}
		}, 0},
		"and waits too long": {func(h *coretest.Core, r *state.BundleAttempt) {
			h.StartPolicy(0)
			h.Later(h.Step.Set.SuspendMax)
			h.Attempts.SuspendedTooLong(r.ID)
		}, 0},
	} {
		h := coretest.New(t)
		h.StartPolicy(scheduler.AbilityResume)
		l, m := h.Launcher("a", 3), h.Launcher("b", 1)
		gang, other := h.Job(coretest.Gang(2)), h.Job(coretest.Maps(4))
		r := h.RunBundle(gang, 0, l, l)
		h.Later(time.Hour)
		h.Attempts.SuspendBundleAttempt(r)
		h.Attempts.SuspendedNow(r.Attempts[0])
		elsewhere := h.RunBundle(other, 0, m).Attempts[0]
		x, y := h.RunBundle(other, 1, l).Attempts[0], h.RunBundle(other, 2, l).Attempts[0]
		d := scheduler.Preempt{For: gang.ID, Bundle: r.Bundle.ID(), Victims: []scheduler.AttemptID{x.ID, y.ID}, Mode: scheduler.PreemptKill}
		if reason, _ := h.Rounds.Preemption.Preempt(d); reason != scheduler.NotReady {
			t.Errorf("half of it still runs, and that is refused with %v", reason)
		}
		h.Attempts.SuspendedNow(r.Attempts[1])
		h.Checked()
		for what, wrong := range map[string]struct {
			change func(*scheduler.Preempt)
			want   scheduler.RefusalReason
		}{
			"elsewhere":  {func(d *scheduler.Preempt) { d.Victims = []scheduler.AttemptID{elsewhere.ID} }, scheduler.NothingGained},
			"itself":     {func(d *scheduler.Preempt) { d.Victims = append(d.Victims, r.Attempts[0].ID) }, scheduler.NothingGained},
			"to a place": {func(d *scheduler.Preempt) { d.Placement = []scheduler.LauncherID{l.ID, l.ID} }, scheduler.WrongShape},
		} {
			bad := d
			bad.Victims = slices.Clone(d.Victims)
			wrong.change(&bad)
			if reason, _ := h.Rounds.Preemption.Preempt(bad); reason != wrong.want || h.Resources.Reservations.Len() > 0 {
				t.Errorf("%s: refused with %v", what, reason)
			}
		}
		if reason, why := h.Rounds.Preemption.Preempt(d); reason != scheduler.NotRefused {
			t.Fatal(why)
		}
		for _, a := range []*state.Attempt{x, y} {
			h.Attempts.Lose(a, "it left")
		}
		h.Checked()
		story.then(h, r)
		h.Checked()
		if n := kept(h, l); n != story.kept {
			t.Errorf("it is suspended %s: %d slots are kept, want %d", name, n, story.kept)
		}
		if story.kept > 0 {
			if refused := launch(h, other, 3, l); refused != scheduler.NotRefused { // the third slot
				t.Errorf("what is free is refused with %v", refused)
			}
			if refused := launch(h, other, 1, l); refused != scheduler.NoCapacity {
				t.Errorf("what is kept is refused with %v", refused)
			}
		}
	}
}

// A program that forbids suspension is not suspended, nor are attempts that run together with it.
// It may be killed.
func TestWhatHoldsSomethingOutsideIsNotSuspended(t *testing.T) {
	forbids := func(spec *wire.JobSpec, stage int) *wire.JobSpec {
		spec.Graph.Stages[stage].NoSuspend = true
		return spec
	}
	shared := coretest.Gang(2)
	shared.Graph.Connections[0].Kind = wire.ChannelKind_CHANNEL_KIND_SHM
	for name, story := range map[string]struct {
		spec  *wire.JobSpec
		where int // launchers it takes
	}{
		"it": {forbids(coretest.Maps(1), 0), 1}, "a peer": {forbids(coretest.Gang(2), 1), 2}, "in one process": {forbids(shared, 1), 1},
	} {
		h := coretest.New(t)
		h.StartPolicy(0)
		l := h.Launcher("a", 2)
		r := h.RunBundle(h.Job(story.spec), 0, []*state.Launcher{l, l}[:story.where]...)
		h.Later(time.Hour)
		d := scheduler.Preempt{For: h.Job(coretest.Maps(1)).ID, Victims: []scheduler.AttemptID{r.Attempts[0].ID}, Mode: scheduler.PreemptSuspend}
		if reason, why := h.Rounds.Preemption.Preempt(d); reason != scheduler.Unsupported || r.Attempts[0].Suspending() {
			t.Errorf("%s forbids it: refused with %v: %s", name, reason, why)
		}
		told := false
		for _, s := range r.Bundle.Job.ForPolicy().Stages {
			told = told || s.NoSuspend
		}
		d.Mode = scheduler.PreemptKill
		if reason, why := h.Rounds.Preemption.Preempt(d); reason != scheduler.NotRefused || !told {
			t.Errorf("%s forbids to suspend it, the policy is told: %t, and to kill it is refused: %s", name, told, why)
		}
		h.Checked()
	}
}

// held returns how many slots attempts hold.
func held(h *coretest.Core, l *state.Launcher) (n int) {
	for x := range h.Cluster.Holdings(l.ID) {
		if x.HasSlots {
			n += x.Slots
		}
	}
	return n
}

// These victims and beneficiaries are refused. Then no attempt of the set is preempted, and nothing
// is reserved.
func TestWhoIsNotTakenOff(t *testing.T) {
	for name, story := range map[string]struct {
		change func(*coretest.Core, *scheduler.Preempt, *state.Attempt)
		want   scheduler.RefusalReason
	}{
		"nobody":               {func(_ *coretest.Core, d *scheduler.Preempt, _ *state.Attempt) { d.Victims = nil }, scheduler.WrongShape},
		"nobody known":         {func(_ *coretest.Core, d *scheduler.Preempt, _ *state.Attempt) { d.Victims = append(d.Victims, 99) }, scheduler.UnknownID},
		"in no way":            {func(_ *coretest.Core, d *scheduler.Preempt, _ *state.Attempt) { d.Mode = 9 }, scheduler.Unsupported},
		"for nobody":           {func(_ *coretest.Core, d *scheduler.Preempt, _ *state.Attempt) { d.For = 99 }, scheduler.UnknownID},
		"for another's bundle": {func(_ *coretest.Core, d *scheduler.Preempt, a *state.Attempt) { d.Bundle = a.BundleAttempt.Bundle.ID() }, scheduler.UnknownID},
		"for what runs": {func(_ *coretest.Core, d *scheduler.Preempt, a *state.Attempt) {
			d.For, d.Bundle = a.BundleAttempt.Bundle.Job.ID, a.BundleAttempt.Bundle.ID()
		}, scheduler.NotReady},
		"elsewhere": {func(h *coretest.Core, d *scheduler.Preempt, _ *state.Attempt) {
			d.Placement = []scheduler.LauncherID{h.Cluster.LauncherNamed("b").ID}
		}, scheduler.NothingGained},
		"nowhere": {func(_ *coretest.Core, d *scheduler.Preempt, _ *state.Attempt) {
			d.Placement = []scheduler.LauncherID{99}
		}, scheduler.UnknownID},
		"in two": {func(_ *coretest.Core, d *scheduler.Preempt, _ *state.Attempt) {
			d.Placement = make([]scheduler.LauncherID, 2)
		}, scheduler.WrongShape},
		"who commits": {func(h *coretest.Core, _ *scheduler.Preempt, a *state.Attempt) {
			h.Attempts.CommitAsked(a.Launcher, a.ID)
		}, scheduler.Protected},
		"who stops": {func(h *coretest.Core, _ *scheduler.Preempt, a *state.Attempt) {
			h.Dispatch.StopBundleAttempt(a.BundleAttempt, scheduler.Killed, "test", 0)
		}, scheduler.NotRunning},
		"who can't be suspended": {func(_ *coretest.Core, d *scheduler.Preempt, a *state.Attempt) {
			d.Mode, a.Launcher.CanSuspend = scheduler.PreemptSuspend, false
		}, scheduler.Unsupported},
	} {
		h := coretest.New(t)
		h.StartPolicy(0)
		l := h.Launcher("a", 1)
		h.RunBundle(h.Job(coretest.Maps(1)), 0, h.Launcher("b", 1))
		a, other := h.RunBundle(h.Job(coretest.Maps(1)), 0, l).Attempts[0], h.Job(coretest.Maps(1))
		h.Later(time.Hour)
		d := scheduler.Preempt{For: other.ID, Bundle: other.Bundles[0].ID(), Victims: []scheduler.AttemptID{a.ID}, Mode: scheduler.PreemptKill}
		story.change(h, &d, a)
		h.Later(time.Hour)
		stopped := a.Stop()
		if reason, _ := h.Rounds.Preemption.Preempt(d); reason != story.want || a.Stop() != stopped || h.Resources.Reservations.Len() != 0 || len(h.Commands(l)) > 0 {
			t.Errorf("%s: it is refused with %v, and the launcher is told %v", name, reason, h.Commands(l))
		}
		h.Checked()
	}
}

// early returns a job whose readers start when half of two writers have stored their output. One
// writer has, and the reader runs in the only free slot. The other slot belongs to another job.
func early(t *testing.T) (h *coretest.Core, j *state.Job, reader *state.Attempt, other *state.BundleAttempt) {
	h = coretest.New(t)
	h.StartPolicy(0)
	l := h.Launcher("a", 2)
	spec := coretest.MapReduce(2, 1)
	spec.Graph.Connections[0].SlowStart = 0.5
	j = h.Job(spec)
	h.Finish(h.RunBundle(j, 0, l).Attempts[0], coretest.Stored(0, 0))
	other = h.RunBundle(h.Job(coretest.Maps(1)), 0, l)
	h.Later(time.Second)
	reader = h.RunBundle(j, 2, l).Attempts[0]
	return h, j, reader, other
}

// A reader that blocks the writer it waits for is stopped after a while, and starts again when all
// its input is there, not before.
func TestAReaderGivesWay(t *testing.T) {
	h, j, reader, _ := early(t)
	l := reader.Launcher
	third := h.Job(coretest.Maps(1))
	h.Later(h.Step.Set.ReclaimAfter - 1)
	h.Rounds.Preemption.ReclaimEarlyReaders(j.ID)
	if reader.Stop() != nil {
		t.Fatal("it is stopped at once")
	}
	h.Later(1)
	if !h.Due(step.TimerReclaim, uint64(j.ID)) {
		t.Error("nobody looks")
	}
	h.Rounds.Preemption.ReclaimEarlyReaders(j.ID)
	if s := reader.Stop(); s == nil || s.Outcome != scheduler.Preempted || s.ForJob != j.ID || h.Step.Stats.Reclaimed != 1 {
		t.Fatalf("it is stopped by %v", s)
	}
	h.Attempts.Lose(reader, "it left")
	if got := coretest.PhasesOf(j); got != "finished ready waiting" || launch(h, third, 0, l) != scheduler.NoCapacity {
		t.Errorf("they are %s, and somebody else may have its slot", got)
	}
	h.Checked()
	h.Finish(h.RunBundle(j, 1, l).Attempts[0], coretest.Stored(0, 1))
	if got := coretest.PhasesOf(j); got != "finished finished ready" {
		t.Errorf("they are %s", got)
	}
	h.Checked()
}

// A reader keeps its slot while its writer has a slot, or gets one, but not for ever.
func TestAReaderIsLeftAlone(t *testing.T) {
	h, j, reader, other := early(t)
	h.Finish(other.Attempts[0])
	h.Later(h.Step.Set.ReclaimAfter)
	if h.Rounds.Preemption.ReclaimEarlyReaders(j.ID); reader.Stop() != nil {
		t.Error("it is stopped though there is room")
	}
	h.Later(5 * h.Step.Set.ReclaimAfter)
	if h.Rounds.Preemption.ReclaimEarlyReaders(j.ID); reader.Stop() == nil {
		t.Error("what it waits for is passed over for ever")
	}
	h.Checked()

	h, j, reader, other = early(t)
	h.Later(time.Hour)
	d := scheduler.Preempt{For: j.ID, Bundle: j.Bundles[1].ID(), Victims: []scheduler.AttemptID{other.Attempts[0].ID}, Mode: scheduler.PreemptKill}
	if reason, why := h.Rounds.Preemption.Preempt(d); reason != scheduler.NotRefused {
		t.Fatal(why)
	}
	if h.Rounds.Preemption.ReclaimEarlyReaders(j.ID); reader.Stop() != nil {
		t.Error("it is stopped though a slot is being freed")
	}
	h.Checked()
}

// A reader also gives way if its writer is suspended.
func TestAReaderGivesWayToTheSuspended(t *testing.T) {
	h := coretest.New(t)
	h.StartPolicy(0)
	l := h.Launcher("a", 1)
	spec := coretest.MapReduce(2, 1)
	spec.Graph.Connections[0].SlowStart = 0.5
	j := h.Job(spec)
	h.Finish(h.RunBundle(j, 0, l).Attempts[0], coretest.Stored(0, 0))
	writer := h.RunBundle(j, 1, l)
	h.Attempts.SuspendBundleAttempt(writer)
	h.Attempts.SuspendedNow(writer.Attempts[0])
	reader := h.RunBundle(j, 2, l).Attempts[0]
	for _, wait := range []time.Duration{h.Step.Set.ReclaimAfter - 1, 1} {
		if reader.Stop() != nil {
			t.Fatal("it is stopped at once")
		}
		h.Later(wait)
		h.Rounds.Preemption.ReclaimEarlyReaders(j.ID)
	}
	if reader.Stop() == nil {
		t.Fatal("it goes on, and waits for ever")
	}
	h.Attempts.Lose(reader, "it left")
	if h.Attempts.ResumeSuspended(); !writer.Attempts[0].Resuming() {
		t.Error("what it waited for does not go on")
	}
	h.Checked()
}

// Readers whose slots are of another kind than their writers need keep them while other work holds
// the writers' slots: it ends, and the policy chooses the next. If only readers hold those slots,
// two jobs block each other.
func TestAReaderOfAnotherKindIsLeftAlone(t *testing.T) {
	const mapKind, reduceKind = "map", "reduce"
	h := coretest.New(t)
	h.StartPolicy(0)
	join := coretest.Joining("a", 1)
	join.Slots = []*wire.Slots{{Kind: mapKind, Count: 1}, {Kind: reduceKind, Count: 1}}
	h.Membership.Join(join)
	l := h.Cluster.LauncherNamed("a")
	early := func(writer, reader string) *state.Job {
		spec := coretest.MapReduce(2, 1)
		spec.Graph.Stages[0].Kind, spec.Graph.Stages[1].Kind = writer, reader
		spec.Graph.Connections[0].SlowStart = 0.5
		j := h.Job(spec)
		h.Finish(h.RunBundle(j, 0, l).Attempts[0], coretest.Stored(0, 0))
		return j
	}
	j, crossed := early(mapKind, reduceKind), early(reduceKind, mapKind)
	reader := h.RunBundle(j, 2, l).Attempts[0]
	spec := coretest.Maps(1)
	spec.Graph.Stages[0].Kind = mapKind
	for range 10 {
		other := h.RunBundle(h.Job(spec), 0, l)
		h.Later(h.Step.Set.ReclaimAfter)
		if h.Rounds.Preemption.ReclaimEarlyReaders(j.ID); reader.Stop() != nil {
			t.Fatal("it is stopped, which gives nothing to what it waits for")
		}
		h.Finish(other.Attempts[0])
		h.Later(h.Step.Set.ReclaimAfter)
		if h.Rounds.Preemption.ReclaimEarlyReaders(j.ID); reader.Stop() != nil {
			t.Fatal("it is stopped though there is room now and then, and others' work comes first")
		}
	}
	h.RunBundle(crossed, 2, l)
	h.Later(6 * h.Step.Set.ReclaimAfter)
	if h.Rounds.Preemption.ReclaimEarlyReaders(j.ID); reader.Stop() == nil {
		t.Error("two jobs wait for each other for ever")
	}
	h.Checked()
}
