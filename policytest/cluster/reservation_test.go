package cluster_test

import (
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/policytest/cluster"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// table is a cluster with a view, played by hand.
type table struct {
	t *testing.T
	view.View
	c     *cluster.Cluster
	round uint64
}

// newTable has one launcher with four slots, all of them held by job 1, and job 2 with
// four bundles that are ready.
func newTable(t *testing.T) *table { return tableOf(t, 8<<30) }

func tableOf(t *testing.T, memory int64) *table {
	x := &table{t: t, c: cluster.New(1)}
	x.c.Started(scheduler.Description{Name: "table", Version: "1", Abilities: scheduler.AbilityResume})
	x.c.Join(1, "", memory, scheduler.SlotCount{Kind: scheduler.DefaultKind, Count: 4})
	work := func(name string) cluster.Spec {
		return cluster.Spec{Name: name, Layers: []cluster.Layer{{
			Bundles: 4, Run: time.Hour, Groups: []cluster.GroupSpec{{Kind: scheduler.DefaultKind, Slots: 1, Memory: 2 << 30}},
		}}}
	}
	x.c.Submit(work("low"))
	x.take()
	for b := range x.Job(1).Ready() {
		x.decide(scheduler.Decisions{Launch: []scheduler.Launch{{Bundle: b.ID, Launchers: []scheduler.LauncherID{1}}}})
	}
	x.c.Submit(work("high"))
	x.wait(time.Second)
	return x
}

// take takes a round into the view, and returns the outcome in it.
func (x *table) take() (reason scheduler.RefusalReason) {
	if !x.c.Step() {
		x.t.Fatal("nothing is told any more")
	}
	r := x.c.Round()
	x.round = r.Number
	if err := x.Apply(r); err != nil {
		x.t.Fatal(err)
	}
	for _, e := range r.Events {
		if o, ok := e.(scheduler.Outcome); ok {
			reason = o.Reason
		}
	}
	return reason
}

func (x *table) decide(d scheduler.Decisions) scheduler.RefusalReason {
	x.c.Apply(x.round, d)
	return x.take()
}

func (x *table) wait(d time.Duration) {
	until := x.c.Now().Add(d)
	x.c.Apply(x.round, scheduler.Decisions{WakeAt: until})
	for x.c.Now() < until && x.c.Step() {
		x.take()
		x.c.Apply(x.round, scheduler.Decisions{WakeAt: until})
	}
	x.take()
}

// near says whether two times are the same but for the nanosecond that each step of the core takes.
func near(a, b scheduler.Time) bool { return a.Sub(b).Abs() < time.Millisecond }

func (x *table) preempt(p scheduler.Preempt) {
	x.t.Helper()
	if reason := x.decide(scheduler.Decisions{Preempt: []scheduler.Preempt{p}}); reason != scheduler.NotRefused {
		x.t.Fatalf("refused: %s", reason)
	}
}

func (x *table) attempts(j scheduler.JobID) (ids []scheduler.AttemptID) {
	for _, a := range x.Job(j).Attempts() {
		ids = append(ids, a.ID)
	}
	return ids
}

func (x *table) bundles(j scheduler.JobID) (list []*view.Bundle) {
	for b := range x.Job(j).Ready() {
		list = append(list, b)
	}
	return list
}

// TestReservationIsForWhomItWasMade: for the bundle that a preemption names, or any of
// the job's; the view knows it before the cluster says so.
func TestReservationIsForWhomItWasMade(t *testing.T) {
	for _, named := range []bool{true, false} {
		x := newTable(t)
		bundles := x.bundles(2)
		p := scheduler.Preempt{Victims: x.attempts(1)[:2], Mode: scheduler.PreemptKill, For: 2}
		if named {
			p.Bundle = bundles[1].ID
		}
		x.preempt(p)
		x.wait(time.Second)
		_, fits := x.Fit(bundles[0])
		reason := x.decide(scheduler.Decisions{Launch: []scheduler.Launch{{Bundle: bundles[0].ID, Launchers: []scheduler.LauncherID{1}}}})
		if fits == named || (reason == scheduler.NotRefused) == named {
			t.Errorf("named: %t; for another bundle of the job the view says %t, and the cluster %s", named, fits, reason)
		}
		if _, fits := x.Fit(bundles[1]); !fits {
			t.Errorf("named: %t; the bundle finds no room", named)
		}
		x.wait(cluster.ReserveMax)
		if x.Capacity.Reserved(2) || x.Capacity.FreeSlots(scheduler.DefaultKind) == 0 {
			t.Errorf("named: %t; it is reserved for ever", named)
		}
	}
}

// TestVictimsLeaveThoughTheirReservationEnded: the beneficiary found another place, and
// a policy that starts meanwhile has to know of them.
func TestVictimsLeaveThoughTheirReservationEnded(t *testing.T) {
	x := newTable(t)
	b, victims := x.bundles(2)[0], x.attempts(1)
	x.preempt(scheduler.Preempt{Victims: victims[:1], Mode: scheduler.PreemptSoft, Grace: time.Minute, For: 2, Bundle: b.ID})
	x.c.Join(2, "", 8<<30, scheduler.SlotCount{Kind: scheduler.DefaultKind, Count: 1})
	x.wait(time.Millisecond)
	if reason := x.decide(scheduler.Decisions{Launch: []scheduler.Launch{{Bundle: b.ID, Launchers: []scheduler.LauncherID{2}}}}); reason != scheduler.NotRefused {
		t.Fatalf("refused: %s", reason)
	}
	var fresh view.View
	if err := fresh.Start(x.c.Snapshot()); err != nil {
		t.Fatal(err)
	}
	if a := fresh.Attempt(victims[0]); a.Leaving != 2 {
		t.Errorf("from a snapshot attempt %d leaves for %s, want job-2", a.ID, a.Leaving)
	}
	x.wait(time.Minute + time.Second)
	if len(x.attempts(1)) != 3 || x.Capacity.FreeSlots(scheduler.DefaultKind) != 1 {
		t.Errorf("%d attempts are left, and %d slots free for all", len(x.attempts(1)), x.Capacity.FreeSlots(scheduler.DefaultKind))
	}
}

// TestSuspendedIsKilled: killing a suspended attempt frees its memory for the beneficiary.
func TestSuspendedIsKilled(t *testing.T) {
	x := newTable(t)
	b, victim := x.bundles(2)[0], x.attempts(1)[0]
	x.preempt(scheduler.Preempt{Victims: []scheduler.AttemptID{x.attempts(1)[1]}, Mode: scheduler.PreemptKill, For: 2, Bundle: b.ID})
	x.wait(time.Second)
	x.decide(scheduler.Decisions{Launch: []scheduler.Launch{{Bundle: b.ID, Launchers: []scheduler.LauncherID{1}}}})
	next := x.bundles(2)[0]
	p := scheduler.Preempt{Victims: []scheduler.AttemptID{victim}, Mode: scheduler.PreemptSuspend, For: 2, Bundle: next.ID}
	if reason := x.decide(scheduler.Decisions{Preempt: []scheduler.Preempt{p}}); reason != scheduler.NothingGained {
		t.Fatalf("suspending frees no memory, and the preemption: %s", reason)
	}
	x.c.Join(2, "", 2<<30, scheduler.SlotCount{Kind: scheduler.DefaultKind, Count: 1})
	x.wait(time.Millisecond)
	x.preempt(p)
	x.wait(cluster.ReserveMax + time.Second)
	x.decide(scheduler.Decisions{Launch: []scheduler.Launch{{Bundle: x.bundles(2)[1].ID, Launchers: []scheduler.LauncherID{2}}}})
	p.Mode = scheduler.PreemptKill
	x.preempt(p)
	x.wait(time.Second)
	if where, ok := x.Fit(next); !ok || where[0] != 1 {
		t.Errorf("what a suspended attempt left is no room: %v", where)
	}
}

// TestWhatEndsTogetherIsToldTogether: no round falls between two reservations that were
// made at one time.
func TestWhatEndsTogetherIsToldTogether(t *testing.T) {
	x := newTable(t)
	victims := x.attempts(1)
	both := scheduler.Decisions{WakeAt: x.c.Now().Add(time.Second)}
	for _, v := range victims[:2] {
		both.Preempt = append(both.Preempt, scheduler.Preempt{Victims: []scheduler.AttemptID{v}, Mode: scheduler.PreemptKill, For: 2})
	}
	x.decide(both)
	x.c.Apply(x.round, scheduler.Decisions{})
	for x.Capacity.FreeSlots(scheduler.DefaultKind) == 0 && x.c.Step() {
		x.take()
		x.c.Apply(x.round, scheduler.Decisions{})
	}
	if n := x.Capacity.FreeSlots(scheduler.DefaultKind); n != 2 {
		t.Errorf("%d slots are free at once, want 2", n)
	}
}

// TestASnapshotTellsOfASuspension: of an attempt that was suspended and runs again it tells how long it
// ran, and since when it runs.
func TestASnapshotTellsOfASuspension(t *testing.T) {
	x := newTable(t)
	b, id := x.bundles(2)[0], x.attempts(1)[0]
	x.c.Join(2, "", 2<<30, scheduler.SlotCount{Kind: scheduler.DefaultKind, Count: 1})
	x.wait(time.Second)
	x.preempt(scheduler.Preempt{Victims: []scheduler.AttemptID{id}, Mode: scheduler.PreemptSuspend, For: 2})
	x.wait(10 * time.Second)
	if a := x.Attempt(id); a.State != view.Suspended {
		t.Fatalf("the attempt is in state %d", a.State)
	}
	x.wait(cluster.ReserveMax)
	if reason := x.decide(scheduler.Decisions{Resume: []scheduler.Resume{{Attempt: id}}}); reason != scheduler.NotRefused {
		t.Fatalf("refused: %s", reason)
	}
	x.wait(10 * time.Second)
	var fresh view.View
	if err := fresh.Start(x.c.Snapshot()); err != nil {
		t.Fatal(err)
	}
	now, want, got := x.c.Now(), x.Attempt(id), fresh.Attempt(id)
	if want.State != view.Running || got.State != view.Running || !near(got.Since, want.Since) || (got.Ran(now)-want.Ran(now)).Abs() > time.Millisecond {
		t.Errorf("%v: from a snapshot it runs since %d and ran %s, by events since %d and %s", b.ID, got.Since, got.Ran(now), want.Since, want.Ran(now))
	}
}
