package policyhost

import (
	"fmt"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// A pool is short from the look on at which it first is, until it has its due, over restarts of the policy; under another policy it
// begins anew. Only what changed is another revision.
func TestShort(t *testing.T) {
	begin := time.Unix(1000, 0)
	b := &PoolCache{}
	take := func(second int, policy string, generation uint64, running, demand int, fair float64) (since [2]int, v *PoolView) {
		t.Helper()
		b.UpdateStatus(policy, generation, begin.Add(time.Duration(second)*time.Second), scheduler.Status{Pools: []scheduler.PoolStatus{
			{Name: "other", Kind: "x"}, {Name: "a", Kind: "x", MinShare: 4, FairShare: fair, Demand: demand, Running: running},
		}})
		v = b.View()
		for i, at := range []time.Time{v.Pools[1].BelowMinimum, v.Pools[1].BelowShare} {
			since[i] = -1
			if !at.IsZero() {
				since[i] = int(at.Sub(begin) / time.Second)
			}
		}
		return since, v
	}
	for i, x := range []struct {
		policy          string
		generation      uint64
		running, demand int
		fair            float64
		want            [2]int
	}{
		{"fair", 1, 4, 9, 4.9, [2]int{-1, -1}},      // a part of a slot is none
		{"fair", 1, 4, 9, 4.9999999, [2]int{-1, 1}}, // a whole one, as it was divided
		{"fair", 1, 3, 9, 8, [2]int{2, 1}},
		{"fair", 2, 2, 9, 8, [2]int{2, 1}},   // another start
		{"fair", 2, 2, 2, 8, [2]int{-1, -1}}, // it wants no more
		{"fair", 2, 2, 3, 8, [2]int{5, 5}},
		{"hfsp", 3, 2, 3, 8, [2]int{6, 6}},
	} {
		if got, _ := take(i, x.policy, x.generation, x.running, x.demand, x.fair); got != x.want {
			t.Errorf("look %d: short since %v, want %v", i, got, x.want)
		}
	}
	before, woken := b.View().PoolRevisions, b.Changed()
	if _, v := take(7, "hfsp", 3, 2, 3, 8); v.PoolRevisions != before {
		t.Error("the same has another revision")
	}
	before.Pools++
	if _, v := take(8, "hfsp", 3, 3, 3, 8); v.PoolRevisions != before {
		t.Errorf("what changed is counted as %+v, want %+v", v.PoolRevisions, before)
	}
	select {
	case <-woken:
	default:
		t.Error("nobody is woken")
	}
}

// While one start of a policy replaces another both are asked, and may answer in any order. Once
// the newer one has answered, answers of the older one are ignored, and delete nothing.
func TestWhoTakesOverHasTheLastWord(t *testing.T) {
	b, at := &PoolCache{}, time.Unix(1000, 0)
	short := scheduler.Status{Pools: []scheduler.PoolStatus{{Name: "a", Kind: "x", MinShare: 4, FairShare: 4, Demand: 4}}, Queue: []scheduler.Queued{{Job: 1}}}
	b.UpdateStatus("fair", 1, at, short)
	b.UpdateStatus("hfsp", 2, at.Add(time.Second), short)
	b.UpdateStatus("fair", 1, at.Add(2*time.Second), scheduler.Status{})
	b.UpdateStatus("hfsp", 2, at.Add(3*time.Second), short)
	v := b.View()
	if v.Policy != "hfsp" || v.Looks != 3 || len(v.Pools) != 1 || v.Pools[0].BelowMinimum != at.Add(time.Second) || v.PoolRevisions != (PoolRevisions{Pools: 2, Queue: 1}) {
		t.Errorf("the last word is %+v", v)
	}
}

// A policy that has sent an order has one even while nothing waits, until it is started again.
func TestAnOrderOfNone(t *testing.T) {
	b := &PoolCache{}
	for i, x := range []struct {
		generation uint64
		jobs       int
		ordered    bool
	}{{1, 0, false}, {1, 2, true}, {1, 0, true}, {1, 0, true}, {2, 0, false}} {
		var s scheduler.Status
		for j := range x.jobs {
			s.Queue = append(s.Queue, scheduler.Queued{Job: scheduler.JobID(j + 1)})
		}
		b.UpdateStatus("fair", x.generation, time.Unix(1000, 0), s)
		if v := b.View(); (v.Queue != nil) != x.ordered || len(v.Queue) != x.jobs {
			t.Errorf("look %d: the order is %v", i, v.Queue)
		}
	}
}

// A sample has each pool once, with the slots of all kinds, and no word that is old.
func TestSample(t *testing.T) {
	now := time.Unix(1000, 0)
	s := scheduler.Status{Pools: []scheduler.PoolStatus{
		{Name: "a", Kind: "x", FairShare: 1.5, Demand: 4, Running: 1},
		{Name: "a", Kind: "y", FairShare: 2, Demand: 1, Running: 1},
		{Name: "a.b", Parent: "a", Kind: "x", Demand: 3, Running: 1},
		{Name: "idle", Kind: "x"},
		{Name: "", Kind: "x", Demand: 1},
	}}
	b := &PoolCache{}
	if got := b.Sample(now, 2); got != nil {
		t.Error(got)
	}
	b.UpdateStatus("p", 1, now, s)
	if got := fmt.Sprint(b.Sample(now, 2)); got != "[{a 0 0 0 0 1 2 2 5 3500}]" {
		t.Error("roots: ", got)
	}
	s.AllPools = true
	b.UpdateStatus("p", 1, now, s)
	if got := fmt.Sprint(b.Sample(now, 2)); got != "[{a 0 0 0 0 1 2 1 5 3500} {a.b 0 0 0 0 1 1 1 3 0}]" {
		t.Error("all: ", got)
	}
	if got := b.Sample(now.Add(StaleAfter+1), 2); got != nil {
		t.Error("an old word: ", got)
	}
	if got := b.Sample(now, 1); got != nil {
		t.Error("of more slots than there are: ", got)
	}
}
