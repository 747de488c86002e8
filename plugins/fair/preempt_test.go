package fair

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/plugins/fair/preemption"
	"github.com/hamadryad/hamadryad/plugins/fair/shares"
	"github.com/hamadryad/hamadryad/policytest"
	"github.com/hamadryad/hamadryad/policytest/cluster"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// sets lists what was asked to be preempted.
func (w *play) sets() (all []scheduler.Preempt) {
	for _, d := range w.Decisions {
		all = append(all, d.Preempt...)
	}
	return all
}

// TestSharesOfOneSlotAreDefended: three pools on four slots; the third has a share
// of one and a third, and gets one slot. The original never gives it any.
func TestSharesOfOneSlotAreDefended(t *testing.T) {
	w := newPlay(t, "allocations: {fair-share-timeout: 2s}\npreemption: {interval: 1s}")
	w.Launchers(2, 2)
	w.job("a", 8, time.Hour)
	w.job("b", 8, time.Hour)
	w.Until(time.Second)
	w.job("c", 8, time.Hour)
	w.Until(20 * time.Second)
	if got := w.holds("c"); got[0] != 1 {
		t.Errorf("c holds %v slots, want 1", got)
	}
	if n := len(w.sets()); n != 1 {
		t.Errorf("%d sets were taken, want 1: what is on its way counts", n)
	}
}

// TestAPoolAtItsMaximumSharesWhatItHas: in a pool that is at its maximum share, one that is
// starved takes slots back from its siblings, and from nobody outside, whether slots are free
// elsewhere or not. The pool never has more than its maximum.
func TestAPoolAtItsMaximumSharesWhatItHas(t *testing.T) {
	for _, mode := range []string{"kill", "soft", "suspend"} {
		for _, c := range []struct {
			name, shares string
			launchers    int // of two slots
			elsewhere    int // tasks outside
			gang         int // of the starved pool; 0: single tasks
			a, b         int // what its two pools hold in the end
		}{
			{"minimum, slots are free elsewhere", "min-share-timeout: 2s, pools: {p: {max-share: 4, pools: {a: {}, b: {min-share: 2}}}}", 4, 0, 0, 2, 2},
			{"minimum, others run elsewhere", "min-share-timeout: 2s, pools: {p: {max-share: 4, pools: {a: {}, b: {min-share: 2}}}, q: {}}", 4, 8, 0, 2, 2},
			{"fair share, slots are free elsewhere", "fair-share-timeout: 2s, pools: {p: {max-share: 4, pools: {a: {}, b: {}}}}", 4, 0, 0, 2, 2},
			{"two levels", "min-share-timeout: 2s, pools: {o: {max-share: 4, pools: {p: {max-share: 4, pools: {a: {}, b: {min-share: 3}}}}}}", 4, 0, 0, 1, 3},
			{"a gang, slots are free elsewhere", "min-share-timeout: 2s, pools: {p: {max-share: 4, pools: {a: {}, b: {min-share: 3}}}}", 4, 0, 3, 1, 3},
			{"a gang, others run elsewhere", "min-share-timeout: 2s, pools: {p: {max-share: 4, pools: {a: {}, b: {min-share: 3}}}, q: {}}", 4, 8, 3, 1, 3},
		} {
			w := newPlay(t, "allocations: {"+c.shares+"}\npreemption: {interval: 1s, grace: 1s, mode: "+mode+"}")
			p := "p"
			if strings.Contains(c.shares, "o: {") {
				p = "o/p"
			}
			w.Launchers(c.launchers, 2)
			w.job(p+"/a", 8, time.Hour)
			w.Until(time.Second)
			if c.elsewhere > 0 {
				w.job("q", c.elsewhere, time.Hour)
			}
			w.Until(2 * time.Second)
			if c.gang > 0 {
				w.gang(p+"/b", c.gang, time.Hour)
			} else {
				w.job(p+"/b", 8, time.Hour)
			}
			w.Look = func(scheduler.Decisions) {
				if n := w.holds(p); n[0] > 4 {
					t.Errorf("%s, %s: the pool holds %d slots, and may hold 4", mode, c.name, n[0])
				}
			}
			before := w.holds("q")
			w.Until(50 * time.Second)
			if got, want := w.holds(p+"/a", p+"/b"), []int{c.a, c.b}; !slices.Equal(got, want) {
				t.Errorf("%s, %s: the pools hold %v slots, want %v", mode, c.name, got, want)
			}
			if after := w.holds("q"); !slices.Equal(after, before) {
				t.Errorf("%s, %s: outside %v slots were held, and %v are now", mode, c.name, before, after)
			}
		}
	}
}

// TestNobodyIsLeftBelowItsShare: every pool that loses keeps the whole slots of its
// fair share, in two hundred random mixes; every job ends; nothing is preempted
// more often than the bound; and what is lost is small.
func TestNobodyIsLeftBelowItsShare(t *testing.T) {
	var lost, worked time.Duration
	sets := 0
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 5))
		w := newPlay(t, "allocations: {fair-share-timeout: 4s, min-share-timeout: 2s, pools: {p0: {min-share: 3}, p1: {weight: 3}}}\npreemption: {interval: 1s}")
		w.Launchers(2+rng.IntN(3), 2+rng.IntN(4))
		for range 20 {
			pool, tasks, run := fmt.Sprint("p", rng.IntN(20)), 1+rng.IntN(8), time.Duration(1+rng.IntN(20))*time.Second
			w.Cluster.After(time.Duration(rng.IntN(60))*time.Second, func() {
				if rng.IntN(5) == 0 {
					w.gang(pool, 1+rng.IntN(3), run)
				} else {
					w.job(pool, tasks, run)
				}
			})
		}
		taken := map[scheduler.BundleID]int{}
		w.Look = func(d scheduler.Decisions) { w.fairTo(d, taken) }
		w.Until(24 * time.Hour)
		if left := w.Cluster.Live(); len(left) > 0 {
			t.Fatalf("seed %d: %v never ended", seed, left)
		}
		for id, n := range taken {
			if n > w.Policy.config.TimesMax {
				t.Fatalf("seed %d: %v was preempted %d times", seed, id, n)
			}
		}
		sets += len(w.sets())
		for _, e := range w.Events {
			if e, ok := e.(scheduler.AttemptEnded); ok {
				worked += e.Work.Running
				if e.Outcome == scheduler.Preempted {
					lost += e.Work.Running
				}
			}
		}
	}
	t.Logf("%d sets; %s of %s preempted", sets, lost, worked)
	if sets == 0 || lost*10 > worked {
		t.Errorf("%d sets; %s of %s of work was preempted, want less than a tenth", sets, lost, worked)
	}
}

// fairTo checks an answer against the fair shares of the jobs that lose slots.
func (w *play) fairTo(d scheduler.Decisions, taken map[scheduler.BundleID]int) {
	w.t.Helper()
	loses := map[*shares.Pool]int{}
	for _, x := range d.Preempt {
		seen := map[scheduler.BundleID]bool{}
		for _, id := range x.Victims {
			a := w.Policy.view.Attempt(id)
			loses[w.Policy.shares.Jobs[a.Job().ID()].Pool]++
			if !seen[a.Bundle.ID] {
				seen[a.Bundle.ID] = true
				taken[a.Bundle.ID]++
			}
		}
	}
	for x, n := range loses {
		s := x.Node.Of(w.Policy.shares.World.Kind(scheduler.DefaultKind))
		if s.Running-n < preemption.WholeShare(s) {
			w.t.Fatalf("pool %s holds %d and loses %d: below its share of %v", x.Spec.Path, s.Running, n, s.Share)
		}
	}
}

// TestAGangsVictimsAreOneSet, no larger than it has to be.
func TestAGangsVictimsAreOneSet(t *testing.T) {
	w := newPlay(t, "allocations: {fair-share-timeout: 2s}\npreemption: {interval: 1s}")
	w.Launchers(4, 2)
	w.job("a", 20, time.Hour)
	w.Until(time.Second)
	gang := w.gang("b", 3, time.Hour)
	w.Until(10 * time.Second)
	sets := w.sets()
	if len(sets) != 1 || len(sets[0].Victims) != 3 || sets[0].For != gang || len(sets[0].Placement) != 3 {
		t.Fatalf("sets %+v", sets)
	}
	w.wantHeld([]int{5, 3}, "a", "b")
}

// TestNewestAttemptsGoFirst.
func TestNewestAttemptsGoFirst(t *testing.T) {
	w := newPlay(t, "allocations: {pools: {sure: {min-share: 2, min-share-timeout: 1s}}}\npreemption: {interval: 1s}")
	w.Launchers(1, 4)
	w.job("old", 2, time.Hour)
	w.Until(time.Second)
	w.job("new", 2, time.Hour)
	w.Until(2 * time.Second)
	w.job("sure", 2, time.Hour)
	w.Until(10 * time.Second)
	// Each pool's share is a slot and a third or more: new and old lose one each.
	w.wantHeld([]int{1, 1, 2}, "old", "new", "sure")
	if newest := w.sets()[0].Victims[0]; newest < w.sets()[1].Victims[0] {
		t.Errorf("taken in the order %v", w.sets())
	}
}

// TestSetsOfOnePass: a pool is owed three slots, one for each of three bundles, and a pass is
// made each second. Without a bound one pass takes all of them; with one set a pass, as Hammr
// does it, three passes take one each, so that the pool's work starts a second apart.
func TestSetsOfOnePass(t *testing.T) {
	for setting, want := range map[string][]int{"": {3}, ", sets-max: 2": {2, 1}, ", sets-max: 1": {1, 1, 1}} {
		w := newPlay(t, "allocations: {fair-share-timeout: 100ms, pools: {a: {weight: 1}, b: {weight: 2}, c: {weight: 3}}}\n"+
			"preemption: {interval: 1s, fair-share-threshold: 1"+setting+"}\nupdate-interval: 100ms")
		w.Launchers(1, 6)
		w.job("a", 6, time.Hour)
		w.job("b", 6, time.Hour)
		w.Until(4500 * time.Millisecond)
		w.wantHeld([]int{2, 4, 0}, "a", "b", "c")
		w.job("c", 6, time.Hour)
		var taken []int
		var passes []int64
		w.Look = func(d scheduler.Decisions) {
			if len(d.Preempt) > 0 {
				taken, passes = append(taken, len(d.Preempt)), append(passes, int64(w.Policy.view.Now())/int64(time.Second))
			}
		}
		w.Until(20 * time.Second)
		w.wantHeld([]int{1, 2, 3}, "a", "b", "c")
		if !slices.Equal(taken, want) {
			t.Errorf("%q: passes took %v sets, want %v", setting, taken, want)
		}
		for i := range passes[1:] {
			if passes[i+1] != passes[i]+1 {
				t.Errorf("%q: passes that took something were in seconds %v, want one after the other", setting, passes)
			}
		}
	}
}

func TestDryRunOnlyTells(t *testing.T) {
	w := newPlay(t, "allocations: {fair-share-timeout: 1s}\npreemption: {interval: 1s, dry-run: true}")
	w.Launchers(1, 2)
	w.job("a", 4, time.Hour)
	w.Until(time.Second)
	w.job("b", 4, time.Hour)
	w.Until(10 * time.Second)
	notes := 0
	for _, d := range w.Decisions {
		for _, n := range d.Notes {
			if strings.Contains(string(n.Body), "pool b: would kill attempts") {
				notes++
			}
		}
	}
	if len(w.sets()) > 0 || notes == 0 {
		t.Errorf("%d sets, %d notes", len(w.sets()), notes)
	}
	w.wantHeld([]int{2, 0}, "a", "b")
}

// TestKillsWhereNothingCanBeSuspended: after the manager said that the launchers
// here cannot, attempts are killed.
func TestKillsWhereNothingCanBeSuspended(t *testing.T) {
	w := newPlay(t, "allocations: {fair-share-timeout: 1s}\npreemption: {mode: suspend, interval: 1s}")
	if w.Policy.preemption.Mode() != scheduler.PreemptSuspend {
		t.Fatalf("mode %s", w.Policy.preemption.Mode())
	}
	o := scheduler.Outcome{Kind: scheduler.DecisionPreempt, Reason: scheduler.Unsupported, Preempt: scheduler.Preempt{Mode: scheduler.PreemptSuspend}}
	d, err := w.Policy.AssignTasks(scheduler.Round{Number: 1, Now: w.Policy.view.Now(), Events: []scheduler.Event{o}})
	if err != nil || w.Policy.preemption.Mode() != scheduler.PreemptKill || d.Checkpoint == nil {
		t.Errorf("mode %s, checkpoint %v, %v", w.Policy.preemption.Mode(), d.Checkpoint, err)
	}
	again := &Policy{}
	if _, err := again.Start(scheduler.Config{Text: []byte("preemption: {mode: suspend}")}, scheduler.Snapshot{Checkpoint: d.Checkpoint}, policytest.Environment()); err != nil || again.preemption.Mode() != scheduler.PreemptKill {
		t.Errorf("after a restart: mode %s, %v", again.preemption.Mode(), err)
	}
}

// TestKillsWhereALauncherCannotSuspend: a launcher that says so needs no refused preemption.
func TestKillsWhereALauncherCannotSuspend(t *testing.T) {
	join := scheduler.LauncherJoined{Launcher: 1, Slots: []scheduler.SlotCount{{Kind: scheduler.DefaultKind, Count: 1}}, NoSuspend: true}
	config := scheduler.Config{Text: []byte("preemption: {mode: suspend}")}
	known, later := &Policy{}, &Policy{}
	if _, err := known.Start(config, scheduler.Snapshot{Events: []scheduler.Event{join}, Since: 1}, policytest.Environment()); err != nil || known.preemption.Mode() != scheduler.PreemptKill {
		t.Errorf("in the snapshot: mode %s, %v", known.preemption.Mode(), err)
	}
	if _, err := later.Start(config, scheduler.Snapshot{}, policytest.Environment()); err != nil || later.preemption.Mode() != scheduler.PreemptSuspend {
		t.Errorf("before: mode %s, %v", later.preemption.Mode(), err)
	}
	if _, err := later.AssignTasks(scheduler.Round{Number: 1, Events: []scheduler.Event{join}}); err != nil || later.preemption.Mode() != scheduler.PreemptKill {
		t.Errorf("after it joined: mode %s, %v", later.preemption.Mode(), err)
	}
}

// TestSuspendedWorkGoesOn: with suspension nothing is lost.
func TestSuspendedWorkGoesOn(t *testing.T) {
	w := newPlay(t, "allocations: {fair-share-timeout: 1s}\npreemption: {mode: suspend, interval: 1s}")
	w.Launchers(1, 2)
	w.job("a", 2, 30*time.Second)
	w.Until(time.Second)
	w.job("b", 1, 5*time.Second)
	w.Until(time.Hour)
	if tally := w.Cluster.Tally; tally.Suspensions != 1 || tally.Resumptions != 1 || tally.Ended != 2 || tally.Finished != 3 {
		t.Errorf("%+v", tally)
	}
}

// TestNoPreemptionForWorkThatWillNotFit: a bundle larger than any launcher.
func TestNoPreemptionForWorkThatWillNotFit(t *testing.T) {
	w := newPlay(t, "allocations: {fair-share-timeout: 1s}\npreemption: {interval: 1s}")
	w.Launchers(2, 2)
	w.job("a", 8, time.Hour)
	w.Until(time.Second)
	w.Cluster.Submit(cluster.Spec{Pool: "b", Layers: []cluster.Layer{{
		Bundles: 1, Run: time.Minute, Groups: []cluster.GroupSpec{{Kind: scheduler.DefaultKind, Slots: 3}},
	}}})
	w.Until(20 * time.Second)
	if len(w.sets()) > 0 {
		t.Errorf("sets %+v", w.sets())
	}
}

// TestNothingIsTakenOnDrainingLaunchers: slots freed there go to no job. Though the newest attempts
// run there, an older one elsewhere is the victim.
func TestNothingIsTakenOnDrainingLaunchers(t *testing.T) {
	w := newPlay(t, "allocations: {fair-share-timeout: 1s}\npreemption: {interval: 1s}")
	w.Launchers(1, 2)
	w.job("a", 2, time.Hour)
	w.Until(time.Second)
	w.Cluster.Join(2, cluster.Rack(2), 1<<40, scheduler.SlotCount{Kind: scheduler.DefaultKind, Count: 2})
	w.job("a", 2, time.Hour)
	w.Until(2 * time.Second)
	w.Cluster.Drain(2, true)
	b := w.job("b", 2, time.Hour)
	w.Until(20 * time.Second)
	if sets := w.sets(); len(sets) != 1 || w.Policy.view.Job(b).Held(scheduler.DefaultKind) != 1 {
		t.Errorf("%d sets were taken, and b holds %d slots, want one each", len(sets), w.Policy.view.Job(b).Held(scheduler.DefaultKind))
	}
}

// TestASuspendedVictimIsExpectedNoMore: a victim that is suspended and resumed before the next check has left its
// slots. It is expected no more after a round that tells of both, or after a start whose checkpoint is older.
func TestASuspendedVictimIsExpectedNoMore(t *testing.T) {
	w := newPlay(t, "")
	w.Launchers(1, 1)
	victim, beneficiary := w.job("a", 1, time.Hour), scheduler.JobID(9)
	w.Until(time.Second)
	id, now := w.Policy.view.Job(victim).Attempts()[0].ID, w.Cluster.Now()
	left := []scheduler.Event{
		scheduler.AttemptSuspended{At: now.Add(1), Attempt: id}, scheduler.AttemptResumed{At: now.Add(2), Attempt: id},
	}
	expects := map[scheduler.JobID][]scheduler.AttemptID{beneficiary: {id}}

	s := w.Cluster.Snapshot()
	w.Policy.preemption.Leaving = expects
	s.Checkpoint = &scheduler.Checkpoint{Version: memoryVersion, Data: w.Policy.encode()}
	s.Since = len(s.Events)
	for _, seen := range []bool{true, false} {
		fresh := &Policy{}
		if !seen {
			s.Now, s.Events = now.Add(2), append(s.Events, left...)
		}
		if _, err := fresh.Start(scheduler.Config{Text: []byte(makesPools(""))}, s, w.Environment); err != nil || fresh.preemption.Expects(beneficiary) != seen {
			t.Errorf("after a start whose checkpoint has seen all, %t, the slots are expected: %t (%v)", seen, !seen, err)
		}
	}

	_, err := w.Policy.AssignTasks(scheduler.Round{Number: w.Policy.view.Round() + 1, Now: now.Add(2), Events: left})
	if err != nil || w.Policy.preemption.Expects(beneficiary) {
		t.Errorf("after a round the slots of a victim that runs again are expected (%v)", err)
	}
}

// TestACollectedBundleIsLaunchedOnce: slots were collected for a gang, and others are now reserved for it. It starts
// on these, and the free ones go to other work.
func TestACollectedBundleIsLaunchedOnce(t *testing.T) {
	w := newPlay(t, "collect-after: 1s")
	w.Launchers(1, 4)
	w.job("a", 4, time.Hour)
	w.Until(time.Second)
	gang := w.gang("b", 2, time.Hour)
	w.Until(2 * time.Second)
	var bundle scheduler.BundleID
	for b := range w.Policy.view.Job(gang).Ready() {
		bundle = b.ID
	}
	w.Policy.placement.Collect = bundle
	now := w.Cluster.Now()
	r := scheduler.Round{Number: w.Policy.view.Round() + 1, Now: now.Add(1), Offers: []scheduler.Offer{{
		Launcher: 1, Memory: 1 << 30, Free: []scheduler.SlotCount{{Kind: scheduler.DefaultKind, Count: 2}},
		Reserved: []scheduler.Reservation{{Job: gang, Bundle: bundle, Kind: scheduler.DefaultKind, Slots: 2, Memory: 1 << 30}},
	}}}
	for _, a := range w.Policy.view.Job(1).Attempts() {
		r.Events = append(r.Events, scheduler.AttemptEnded{At: now.Add(1), Attempt: a.ID, Outcome: scheduler.Finished})
	}
	d, err := w.Policy.AssignTasks(r)
	if err != nil || len(d.Launch) != 1 || d.Launch[0].Bundle != bundle || w.Policy.placement.Collect != 0 {
		t.Errorf("launches %v, and slots are collected for %v, want one launch and no more slots collected (%v)", d.Launch, w.Policy.placement.Collect, err)
	}
}
