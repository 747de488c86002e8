package fair

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/policytest"
	"github.com/hamadryad/hamadryad/policytest/cluster"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

const byLoad = "load: {manager: load}\n"

// load reports a launcher's load, 10 ms later, and plays on.
func (w *play) load(id scheduler.LauncherID, cpu, memory float64) {
	w.t.Helper()
	w.Cluster.Load(id, cpu, memory)
	w.on(10 * time.Millisecond)
}

// on plays for a while.
func (w *play) on(d time.Duration) {
	w.t.Helper()
	w.Until(w.Cluster.Now().Sub(w.Begin) + d)
}

// wantOn says how many attempts live on each launcher.
func (w *play) wantOn(when string, want ...int) {
	w.t.Helper()
	var got []int
	for _, l := range w.Policy.view.Launchers() {
		got = append(got, len(l.Attempts()))
	}
	if !slices.Equal(got, want) {
		w.t.Errorf("%s: %v attempts on the launchers, want %v", when, got, want)
	}
}

// TestBusyMachinesGetNothing: whether CPU or memory is busy, and whether Hamadryad runs anything
// there or not. An unknown load is no reason.
func TestBusyMachinesGetNothing(t *testing.T) {
	for _, locality := range []string{"delay", "min-cost-flow", "none"} {
		t.Run(locality, func(t *testing.T) {
			w := newPlay(t, "load: {manager: load, cpu-max: 0.8, memory-max: 0.6}\nlocality: {mode: "+locality+"}\n")
			w.Launchers(4, 2)
			w.load(1, 0.81, 0.1)
			w.load(2, 0.8, 0.6) // at its limits, not over them
			w.load(3, 0.1, 0.61)
			w.job("a", 20, time.Hour)
			w.on(time.Second)
			w.wantOn("1 and 3 are busy", 0, 2, 0, 2)
			w.load(4, 1, 1)
			w.load(1, scheduler.LoadUnknown, 0.1)
			w.wantOn("1 says nothing, and what runs on 4 goes on", 2, 2, 0, 2)
			w.load(3, 0.5, 0.5)
			w.wantOn("3 has room again", 2, 2, 2, 2)
		})
	}
}

// TestAllMachinesAreBusy: nothing starts, and the reason is shown; the policy does not count as
// broken. It needs no timer to start again: it receives a new load.
func TestAllMachinesAreBusy(t *testing.T) {
	w := newPlay(t, byLoad)
	w.Launchers(2, 2)
	w.load(1, 0.95, 0.25)
	w.load(2, 0.5, 0.91)
	var said []scheduler.Waiting
	w.Look = func(d scheduler.Decisions) { said = append(said, d.Waiting...) }
	first, second := w.job("a", 4, time.Hour), w.job("b", 4, time.Hour)
	w.on(time.Second)
	w.wantOn("both are busy", 0, 0)
	const why = "4 free default slots are on launchers over their load (CPU over 0.9 or memory over 0.9): " +
		"launcher-1 with CPU 0.95 and memory 0.25, launcher-2 with CPU 0.50 and memory 0.91; "
	for _, id := range []scheduler.JobID{first, second} {
		x, err := w.Policy.Explain(id)
		if err != nil || !strings.Contains(x.Detail, why) {
			t.Errorf("%s waits because %q, %v", id, x.Detail, err)
		}
	}
	if !slices.ContainsFunc(said, func(w scheduler.Waiting) bool {
		return w.Reason == scheduler.WaitNoCapacity && strings.Contains(w.Detail, why)
	}) {
		t.Errorf("the manager was told %+v", said)
	}
	s, err := w.Policy.Status()
	if err != nil || !slices.Contains(s.Facts, scheduler.Property{Name: "launchers over their load", Value: "2 of 2"}) {
		t.Errorf("status has %v, %v", s.Facts, err)
	}
	w.load(2, 0.5, 0.89)
	w.wantOn("2 is not any more", 0, 2)
	if x, _ := w.Policy.Explain(second); !strings.Contains(x.Detail, "2 free default slots are on launchers over") {
		t.Errorf("%s waits because %q", second, x.Detail)
	}
}

// TestGangsDoNotWaitForOthersPrograms: no slots are collected that only the end of
// other programs could complete. When machines are busy with our own work they are.
func TestGangsDoNotWaitForOthersPrograms(t *testing.T) {
	w := newPlay(t, byLoad+"collect-after: 1s\n")
	w.Launchers(2, 2)
	w.load(1, 0.99, 0.1)
	w.job("small", 40, 200*time.Millisecond)
	gang := w.gang("large", 4, time.Hour)
	w.on(3 * time.Second)
	if n := w.Policy.view.Job(1).Counts[0].Finished; n < 10 {
		t.Errorf("%d tasks have finished while a gang waits for a busy machine", n)
	}
	if w.Policy.placement.Collect != 0 {
		t.Error("slots are collected for a gang that a busy machine keeps waiting")
	}
	w.load(1, 0.5, 0.1)
	w.on(3 * time.Second)
	if n := len(w.Policy.view.Job(gang).Attempts()); n != 4 {
		t.Errorf("%d of the gang's 4 groups run, although both machines had room", n)
	}
}

// TestReservedSlotsOfBusyMachinesAreUsed: using reclaimed slots keeps the machine as busy as
// before.
func TestReservedSlotsOfBusyMachinesAreUsed(t *testing.T) {
	w := newPlay(t, byLoad+"allocations: {min-share-timeout: 1s, pools: {urgent: {min-share: 1}}}\npreemption: {interval: 1s}\n")
	w.Launchers(1, 2)
	w.job("usual", 10, time.Hour)
	w.on(time.Second)
	w.load(1, 1, 1)
	w.job("urgent", 3, time.Hour)
	w.on(10 * time.Second)
	if got := w.holds("usual", "urgent"); !slices.Equal(got, []int{1, 1}) {
		t.Errorf("the pools hold %v slots, want one each", got)
	}
}

// TestLoadsAreAskedForWhereTheyMatter: also when that changes while work runs.
func TestLoadsAreAskedForWhereTheyMatter(t *testing.T) {
	w := newPlay(t, "")
	if w.Cluster.Has(scheduler.AbilityLoad) {
		t.Error("loads are asked for that nobody looks at")
	}
	set := func(text string, asks bool) {
		t.Helper()
		w.Cluster.Settings(scheduler.Config{Text: []byte(makesPools(text))}, cluster.MustAccept)
		w.on(time.Second)
		if w.Cluster.Has(scheduler.AbilityLoad) != asks {
			t.Errorf("with %q it asks for loads: %t", text, !asks)
		}
	}
	w.Launchers(2, 1)
	w.load(1, 1, 1) // the policy is not sent it
	set(byLoad, true)
	w.job("a", 5, time.Hour)
	w.on(time.Second)
	w.wantOn("it is told what was known before it asked", 0, 1)
	set(byLoad+"update-interval: 1s\n", true)
	w.wantOn("1 is still busy, under new settings", 0, 1)
	set("load: {manager: slots}", false)
	w.wantOn("nobody cares any more", 1, 1)
}

// TestLoadsAfterAJoin: a launcher that was lost and joins again has reported no load. A launcher
// that was there before the policy reports it in the first round.
func TestLoadsAfterAJoin(t *testing.T) {
	w := newPlay(t, byLoad)
	w.Launchers(2, 1)
	w.load(1, 1, 0.5)
	w.load(2, 1, 0.5)
	w.job("a", 5, time.Hour)
	w.on(time.Second)
	w.Cluster.Lose(1)
	w.Cluster.Join(1, cluster.Rack(1), 1<<40, scheduler.SlotCount{Kind: scheduler.DefaultKind, Count: 1})
	w.on(time.Second)
	w.wantOn("1 came back", 1, 0)

	again := &Policy{}
	if _, err := again.Start(scheduler.Config{Text: []byte(makesPools(byLoad))}, w.Cluster.Snapshot(), policytest.Environment()); err != nil {
		t.Fatal(err)
	}
	d, err := again.AssignTasks(scheduler.Round{Number: 1, Now: w.Cluster.Now(), Events: w.Cluster.InForce(), Offers: w.Cluster.Offers()})
	if err != nil || len(d.Launch) > 0 {
		t.Errorf("a policy that was restarted launches %v, %v", d.Launch, err)
	}
}
