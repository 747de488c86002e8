package fair

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/policytest"
	"github.com/hamadryad/hamadryad/policytest/cluster"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

func (w *play) wantHeld(want []int, pools ...string) {
	w.t.Helper()
	if got := w.holds(pools...); !reflect.DeepEqual(got, want) {
		w.t.Errorf("after %s pools %v hold %v slots, want %v", w.Cluster.Now().Sub(w.Begin), pools, got, want)
	}
}

// TestHammrFigure5: pools weighted 1 to 2 to 3 share six slots. The third comes later and gets its
// share by preemption; the slots that it leaves go to the others.
func TestHammrFigure5(t *testing.T) {
	w := newPlay(t, `
allocations: {fair-share-timeout: 3s, pools: {a: {weight: 1}, b: {weight: 2}, c: {weight: 3}}}
preemption: {mode: soft, grace: 1s, interval: 1s, fair-share-threshold: 0.67}
`)
	w.Launchers(1, 6)
	w.job("a", 6, 40*time.Second)
	w.job("b", 6, 40*time.Second)
	w.Until(2 * time.Second)
	w.wantHeld([]int{2, 4, 0}, "a", "b", "c")
	w.job("c", 6, 40*time.Second)
	w.Until(10 * time.Second)
	w.wantHeld([]int{1, 2, 3}, "a", "b", "c")
	w.Until(10 * time.Minute)
	if left := w.Cluster.Live(); len(left) > 0 {
		t.Errorf("%v never ended", left)
	}
}

func TestMinimumSharesComeFirst(t *testing.T) {
	w := newPlay(t, "allocations: {pools: {sure: {min-share: 3}, capped: {max-share: 2, weight: 100}}}")
	w.Launchers(1, 8)
	for _, pool := range []string{"any", "capped", "sure"} {
		w.job(pool, 8, time.Minute)
	}
	w.Until(time.Second)
	w.wantHeld([]int{3, 2, 3}, "any", "capped", "sure")
}

// The site's order is that of the pools at the top too: with one pool a user and disco-fair, users
// take turns, whatever their pools weigh. Fifo is for jobs, so that pools share fairly beneath it;
// what is said of the top itself holds.
func TestOrderAmongTopPools(t *testing.T) {
	const pools = "pools: {ann: {weight: 3}, bob: {weight: 1}, dept: {weight: 4, pools: {x: {weight: 3}, y: {}}}}"
	for order, want := range map[string][]int{
		"order: fair":                         {6, 2, 6, 2},
		"order: disco-fair":                   {6, 5, 3, 2},
		"order: fifo":                         {6, 2, 6, 2},
		"order: disco-fair, top-order: fair":  {6, 2, 4, 4},
		"order: fair, top-order: Disco-Fair ": {6, 5, 4, 1},
	} {
		w := newPlay(t, "preemption: {mode: off}\nallocations: {"+order+", "+pools+"}")
		w.Launchers(2, 8)
		for _, pool := range []string{"ann", "bob", "dept/x", "dept/y"} {
			w.job(pool, 32, time.Minute)
		}
		w.Until(time.Second)
		if got := w.holds("ann", "bob", "dept/x", "dept/y"); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: pools hold %v slots, want %v", order, got, want)
		}
	}
}

// TestNestedPools: half the cluster for a department, in which two groups share
// one to three; work for the department itself lies in its pool "default".
func TestNestedPools(t *testing.T) {
	w := newPlay(t, "allocations: {pools: {dept: {pools: {x: {weight: 1}, y: {weight: 3}}}, late: {parent: dept, weight: 4}}}")
	w.Launchers(2, 8)
	for _, pool := range []string{"dept/x", "dept/y", "other"} {
		w.job(pool, 20, time.Minute)
	}
	w.Until(time.Second)
	w.wantHeld([]int{8, 2, 6, 8}, "dept", "dept/x", "dept/y", "other")
	w.job("dept", 20, time.Minute)
	w.job("dept/late", 20, time.Minute)
	w.Until(2 * time.Second)
	if w.Policy.shares.Pools["dept/default"] == nil || w.Policy.shares.Pools["dept/late"] == nil {
		t.Errorf("pools are %v", sortedPools(w.Policy))
	}
}

func sortedPools(p *Policy) (all []string) {
	for _, n := range p.shares.Tree.Pools() {
		all = append(all, n.Path)
	}
	return all
}

// TestMoveTakesEffectAtOnce also for a job that waits: the pool it left is gone,
// its demand counts in the other, and the next slot is given by that.
func TestMoveTakesEffectAtOnce(t *testing.T) {
	w := newPlay(t, "")
	w.Launchers(1, 2)
	w.job("full", 2, time.Minute)
	w.Until(time.Second)
	waits := w.job("mine", 3, time.Minute)
	w.Until(2 * time.Second)
	w.Cluster.Update(waits, "theirs", scheduler.High)
	w.Until(3 * time.Second)
	j := w.Policy.shares.Jobs[waits]
	if w.Policy.shares.Pools["mine"] != nil || j.Pool.Spec.Path != "theirs" || j.Node.Of(0).Weight != 2 || j.Pool.Node.Of(0).Demand() != 3 {
		t.Errorf("pools %v, the job is in %s", sortedPools(w.Policy), j.Pool.Spec.Path)
	}
}

// TestLimitsLetTheMostUrgentRun: one job of a pool runs at a time; a more urgent one replaces it,
// and the other's running attempts continue.
func TestLimitsLetTheMostUrgentRun(t *testing.T) {
	w := newPlay(t, "allocations: {pools: {p: {running-jobs-max: 1}}, users: {user-q: {running-jobs-max: 2}}}")
	w.Launchers(1, 4)
	first := w.job("p", 3, time.Hour)
	second := w.job("p", 3, time.Hour)
	w.Until(time.Second)
	w.wantHeld([]int{3}, "p")
	if x, _ := w.Policy.Explain(second); x.Reason != scheduler.WaitAtLimit || !strings.Contains(x.Detail, "(1)") {
		t.Errorf("the second waits because %+v", x)
	}
	if w.Policy.shares.Jobs[second].Node.Has(0) {
		t.Error("a job that may not run has a place in a queue")
	}
	w.Cluster.Update(second, "p", scheduler.VeryHigh)
	w.Until(2 * time.Second)
	if w.Policy.shares.Jobs[first].Runnable || !w.Policy.shares.Jobs[second].Runnable {
		t.Error("the more urgent job does not run")
	}
	w.wantHeld([]int{4}, "p")
	w.Cluster.Kill(second)
	w.Until(3 * time.Second)
	if !w.Policy.shares.Jobs[first].Runnable {
		t.Error("the first job does not run again")
	}
	for range 3 {
		w.job("q", 1, time.Minute)
	}
	w.Until(4 * time.Second)
	w.wantHeld([]int{1}, "q") // one slot is free; of three jobs two may run
	n := 0
	for _, j := range w.Policy.shares.Jobs {
		if j.Pool.Spec.Path == "q" && j.Runnable {
			n++
		}
	}
	if n != 2 {
		t.Errorf("%d jobs of the user may run, want 2", n)
	}
}

// TestDelayWaitsForTheNode: a job without a free slot near its input leaves free slots to another
// job, for 1.5 heartbeats and no longer.
func TestDelayWaitsForTheNode(t *testing.T) {
	w := newPlay(t, "")
	w.Launchers(3, 1) // 1 and 2 are of one rack
	w.job("busy", 1, time.Hour)
	w.Until(time.Second)
	busy := w.Policy.view.Jobs()[0].Attempts()[0].Launcher
	id := w.Cluster.Submit(cluster.Spec{Pool: "local", Layers: []cluster.Layer{{
		Bundles: 1, Run: time.Hour, Hosts: []scheduler.LauncherID{busy}, Groups: []cluster.GroupSpec{{Kind: scheduler.DefaultKind, Slots: 1}},
	}}})
	w.Until(2 * time.Second)
	if x, _ := w.Policy.Explain(id); x.Reason != scheduler.WaitLocality {
		t.Errorf("it waits because %+v", x)
	}
	free := w.job("other", 1, time.Hour)
	w.Until(2500 * time.Millisecond)
	if len(w.Policy.shares.Jobs[free].Attempts()) != 1 || len(w.Policy.shares.Jobs[id].Attempts()) != 0 {
		t.Error("the slot was not left to the job behind")
	}
	w.Until(10 * time.Second)
	a := w.Policy.shares.Jobs[id].Attempts()
	if len(a) != 1 {
		t.Fatal("it still waits")
	}
	if waited := a[0].AssignedAt.Sub(w.Begin.Add(time.Second)); waited < 1500*time.Millisecond || waited > 3100*time.Millisecond {
		t.Errorf("it waited %s for locality", waited)
	}
}

func TestNoDelayForWorkWithoutALocation(t *testing.T) {
	w := newPlay(t, "")
	w.Launchers(1, 1)
	w.Cluster.Submit(cluster.Spec{Pool: "astray", Layers: []cluster.Layer{{
		Bundles: 1, Run: time.Hour, Hosts: []scheduler.LauncherID{99}, Groups: []cluster.GroupSpec{{Kind: scheduler.DefaultKind, Slots: 1}},
	}}})
	w.Until(time.Millisecond)
	w.wantHeld([]int{1}, "astray")
}

// TestMinCostFlowPlacesAtTheOptimum: eight tasks with input evenly on four launchers of two slots
// all run node-local, though the jobs take turns.
func TestMinCostFlowPlacesAtTheOptimum(t *testing.T) {
	w := newPlay(t, "locality: {mode: min-cost-flow}")
	for _, pool := range []string{"a", "b"} {
		w.Cluster.Submit(cluster.Spec{Pool: pool, Layers: []cluster.Layer{{
			Bundles: 40, Run: time.Second, Hosts: []scheduler.LauncherID{1, 1, 1, 2, 2, 3, 4, 4}, Groups: []cluster.GroupSpec{{Kind: scheduler.DefaultKind, Slots: 1}},
		}}})
	}
	w.Launchers(4, 2)
	w.Until(time.Millisecond)
	if w.Cluster.Tally.Launches != 8 || w.Cluster.Tally.Local != 8 {
		t.Errorf("%d of %d tasks are local, want 8 of 8", w.Cluster.Tally.Local, w.Cluster.Tally.Launches)
	}
	w.wantHeld([]int{4, 4}, "a", "b")
}

// TestGangsAreNotPostponedForEver: single tasks keep coming and would take every
// slot as it frees; the gang starts soon after its patience is over.
func TestGangsAreNotPostponedForEver(t *testing.T) {
	for settings, want := range map[string]bool{"collect-after: 10s": true, "collect-after: 0s": false} {
		w := newPlay(t, settings)
		w.Cluster.Exact = false // tasks of equal length would free all slots at once
		w.Launchers(2, 2)
		w.job("small", 400, 2*time.Second)
		w.Until(time.Second)
		gang := w.gang("gang", 4, time.Hour)
		w.Until(20 * time.Second)
		if got := len(w.Policy.shares.Jobs[gang].Attempts()) == 4; got != want {
			t.Errorf("%s: the gang runs: %t", settings, got)
		}
	}
}

func TestRoundsFromThePastCountAsNow(t *testing.T) {
	p := &Policy{}
	if _, err := p.Start(scheduler.Config{}, scheduler.Snapshot{Now: 1000}, policytest.Environment()); err != nil {
		t.Fatal(err)
	}
	if _, err := p.AssignTasks(scheduler.Round{Number: 1, Now: 10}); err != nil || p.view.Now() != 1000 {
		t.Errorf("now is %d, %v", p.view.Now(), err)
	}
}

// TestSlotsShrink: a launcher comes back with fewer slots than it ran; nothing
// breaks, and it is filled again to what it has.
func TestSlotsShrink(t *testing.T) {
	w := newPlay(t, "allocations: {min-share-timeout: 1s, fair-share-timeout: 1s, pools: {a: {min-share: 3}, b: {min-share: 3}}}")
	w.Launchers(2, 4)
	w.job("a", 30, 5*time.Second)
	w.job("b", 30, 5*time.Second)
	w.Until(2 * time.Second)
	w.Cluster.Lose(1)
	w.Cluster.Join(1, cluster.Rack(1), 1<<40, scheduler.SlotCount{Kind: scheduler.DefaultKind, Count: 1})
	w.Until(4 * time.Second)
	if got := w.holds("a", "b"); got[0]+got[1] != 5 {
		t.Errorf("pools hold %v of five slots", got)
	}
	w.Until(time.Hour)
	if left := w.Cluster.Live(); len(left) > 0 {
		t.Errorf("%v never ended", left)
	}
}

// TestReadingMakesNothing: questions about what is not there are answered, and
// make no pool.
func TestReadingMakesNothing(t *testing.T) {
	w := newPlay(t, "allocations: {pools: {a: {}}}")
	before := sortedPools(w.Policy)
	if _, err := w.Policy.Explain(77); !errors.Is(err, scheduler.ErrUnknownJob) {
		t.Errorf("Explain: %v", err)
	}
	s, err := w.Policy.Status()
	if err != nil || !slices.ContainsFunc(s.Pools, func(x scheduler.PoolStatus) bool { return x.Name == "a" }) {
		t.Errorf("Status: %+v, %v", s, err)
	}
	if after := sortedPools(w.Policy); !reflect.DeepEqual(before, after) {
		t.Errorf("pools were %v and are %v", before, after)
	}
}

func TestStatusShowsShares(t *testing.T) {
	w := newPlay(t, "allocations: {pools: {a: {weight: 3, min-share: 1, max-share: 6}}}")
	w.Launchers(1, 8)
	w.job("a", 20, time.Minute)
	w.job("b", 20, time.Minute)
	w.Until(time.Second)
	s, err := w.Policy.Status()
	if err != nil {
		t.Fatal(err)
	}
	want := scheduler.PoolStatus{Name: "a", Kind: "default", Weight: 3, MinShare: 1, MaxShare: 6, FairShare: 6, Demand: 6, Running: 6, Jobs: 1}
	if !slices.Contains(s.Pools, want) {
		t.Errorf("%+v is not among %+v", want, s.Pools)
	}
}

// TestReloadedAllocations: a good file counts from its round on, a bad one changes
// nothing and is named with its line.
func TestReloadedAllocations(t *testing.T) {
	p := &Policy{}
	config := func(file string) scheduler.Config {
		return scheduler.Config{File: "site.yaml", Line: 3, Text: []byte("allocation-file: pools\n"), Files: []scheduler.ConfigFile{{Name: "pools", Data: []byte(file)}}}
	}
	if _, err := p.Start(config("pools: {a: {weight: 2}}"), scheduler.Snapshot{}, policytest.Environment()); err != nil {
		t.Fatal(err)
	}
	change := func(n uint64, file string) scheduler.SettingsVerdict {
		d, err := p.AssignTasks(scheduler.Round{Number: n, Events: []scheduler.Event{scheduler.SettingChanged{Version: n, Config: config(file)}}})
		if err != nil {
			t.Fatal(err)
		}
		return d.Settings[0]
	}
	v := change(1, "<allocations>\n<pool name='a'>\n<weight>0</weight></pool></allocations>")
	if len(v.Problems) != 1 || v.Problems[0].File != "pools" || v.Problems[0].Line != 3 || p.shares.Pools["a"].Node.Of(0).Weight != 2 {
		t.Errorf("verdict %+v, weight %v", v, p.shares.Pools["a"].Node.Of(0).Weight)
	}
	v = change(2, "\n# emptied\n")
	if len(v.Problems) != 1 || v.Problems[0].File != "pools" || p.shares.Pools["a"].Node.Of(0).Weight != 2 {
		t.Errorf("emptied: verdict %+v, weight %v", v, p.shares.Pools["a"].Node.Of(0).Weight)
	}
	v = change(3, "<allocations><pool name='a'><weight>5</weight></pool></allocations>")
	if len(v.Problems) != 0 || p.shares.Pools["a"].Node.Of(0).Weight != 5 {
		t.Errorf("verdict %+v, weight %v", v, p.shares.Pools["a"].Node.Of(0).Weight)
	}
}

// TestSettingsComeAsAJobEnds: settings come in the round in which a job ends that waits, and before its end. The job is
// forgotten all the same, and the round says nothing of it.
func TestSettingsComeAsAJobEnds(t *testing.T) {
	p := &Policy{}
	config := scheduler.Config{Text: []byte("placement: {undeclared: create}\n")}
	if _, err := p.Start(config, scheduler.Snapshot{}, policytest.Environment()); err != nil {
		t.Fatal(err)
	}
	number := uint64(0)
	round := func(offers []scheduler.Offer, events ...scheduler.Event) scheduler.Decisions {
		t.Helper()
		number++
		d, err := p.AssignTasks(scheduler.Round{Number: number, Now: scheduler.Time(number), Events: events, Offers: offers})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	one := []scheduler.SlotCount{{Kind: scheduler.DefaultKind, Count: 1}}
	groups := []scheduler.Group{{Kind: scheduler.DefaultKind, Slots: 1}}
	d := round([]scheduler.Offer{{Launcher: 1, Free: one, Memory: 1}},
		scheduler.LauncherJoined{Launcher: 1, Slots: one, Memory: 1},
		scheduler.JobSubmitted{Job: scheduler.Job{ID: 1, Pool: "a", Stages: []scheduler.Stage{{Groups: 2, Kind: scheduler.DefaultKind, Slots: 1}}}},
		scheduler.BundleReady{Job: 1, Bundle: 1, Groups: groups}, scheduler.BundleReady{Job: 1, Bundle: 2, Groups: groups})
	if len(d.Launch) != 1 || len(d.Waiting) != 1 || d.Waiting[0].Job != 1 {
		t.Fatalf("launches %v, reasons for waiting %v", d.Launch, d.Waiting)
	}
	round([]scheduler.Offer{{Launcher: 1}},
		scheduler.Outcome{Round: 1, Kind: scheduler.DecisionLaunch, Accepted: true, Launch: d.Launch[0], Attempts: []scheduler.AttemptID{1}},
		scheduler.AttemptStarted{Attempt: 1, Job: 1, Bundle: d.Launch[0].Bundle, Launcher: 1})
	d = round([]scheduler.Offer{{Launcher: 1, Free: one, Memory: 1}},
		scheduler.SettingChanged{Version: 1, Config: config}, scheduler.BundleWithdrawn{Job: 1, Bundle: 2},
		scheduler.AttemptEnded{Attempt: 1}, scheduler.JobFinished{Job: 1})
	if len(d.Waiting) != 0 || len(p.shares.Jobs) != 0 {
		t.Errorf("reasons for waiting %v, jobs %v", d.Waiting, p.shares.Jobs)
	}
}

func TestCheckpointsThatCannotBeRead(t *testing.T) {
	for _, c := range []scheduler.Checkpoint{
		{Version: memoryVersion, Data: []byte("{")},
		{Version: memoryVersion, Data: []byte("null")},
		{Version: memoryVersion, Data: []byte(`{"Spared":null}`)},
		{Version: memoryVersion, Data: []byte(`{"Spared":{},"Leaving":{},"Orders":{"Cursors":[{"Kind":7}]}}`)},
		{Version: memoryVersion + 1, Data: []byte("whatever")},
	} {
		p := &Policy{}
		if _, err := p.Start(scheduler.Config{}, scheduler.Snapshot{Checkpoint: &c}, policytest.Environment()); err != nil {
			t.Errorf("%s: %v", c.Data, err)
		}
		if _, err := p.AssignTasks(scheduler.Round{Number: 1}); err != nil {
			t.Errorf("%s: %v", c.Data, err)
		}
	}
}

// TestMinimumsOverTheCluster are no mistake: they are scaled down.
func TestMinimumsOverTheCluster(t *testing.T) {
	w := newPlay(t, "allocations: {pools: {a: {min-share: 30}, b: {min-share: 10}}}")
	w.Launchers(1, 4)
	w.job("a", 20, time.Hour)
	w.job("b", 20, time.Hour)
	w.Until(time.Second)
	s, err := w.Policy.Status()
	if err != nil {
		t.Fatal(err)
	}
	// The minimums come to 20 and 10, which is what the pools could use.
	for _, x := range s.Pools {
		if x.Name == "a" && x.Kind == scheduler.DefaultKind && (x.FairShare < 2.66 || x.FairShare > 2.67) {
			t.Errorf("a's share is %v, want 8/3", x.FairShare)
		}
	}
}

// TestBadSettingsAreRefused by Check and by Start alike, and at the line that package
// allocation names.
func TestBadSettingsAreRefused(t *testing.T) {
	config := scheduler.Config{File: "site.yaml", Line: 11, Text: []byte("collect-after: 1s\nno-such: 1")}
	_, started := (&Policy{}).Start(config, scheduler.Snapshot{}, policytest.Environment())
	for _, err := range []error{(&Policy{}).Check(config), started} {
		var problems scheduler.Problems
		if !errors.As(err, &problems) || problems[0].File != "site.yaml" || problems[0].Line != 12 {
			t.Errorf("error %v, want a problem with line 12 of site.yaml", err)
		}
	}
}
