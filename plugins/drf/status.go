package drf

import (
	"cmp"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// status shows the pools with their dominant shares, and the jobs that wait. A pool's fair share is
// what it would have of all slots if each resource were divided by weight among the pools with jobs:
// the policy gives it at least as much where it asks for enough.
func status(l look) scheduler.Status {
	s, o, v := l.State(), l.Options(), l.View()
	rows := map[string]*scheduler.PoolStatus{}
	weights, slots := 0.0, 0
	for _, n := range s.total.slots {
		slots += n.Count
	}
	for _, j := range v.Jobs() {
		name := poolOf(j)
		r := rows[name]
		if r == nil {
			r = &scheduler.PoolStatus{Name: name, Weight: o.weight(name)}
			rows[name] = r
			weights += r.Weight
		}
		count(r, j)
	}
	x := scheduler.Status{Queue: l.Status().Queue}
	for _, r := range rows { // sorted below
		r.FairShare = float64(slots) * r.Weight / weights
		x.Pools = append(x.Pools, *r)
	}
	slices.SortFunc(x.Pools, func(a, b scheduler.PoolStatus) int { return cmp.Compare(a.Name, b.Name) })
	x.Pools = x.Pools[:min(len(x.Pools), scheduler.PoolsMax)]
	x.AddFact("collect-after", o.CollectAfter)
	for _, r := range x.Pools[:min(len(x.Pools), factsShown)] {
		if p := s.pools[r.Name]; p != nil {
			x.AddFact("pool "+r.Name, p.describe(&s.total))
		}
	}
	return x
}

// factsShown bounds the pools whose dominant shares are shown.
const factsShown = scheduler.FactsMax - 1

// count adds a job to its pool's row.
func count(r *scheduler.PoolStatus, j *view.Job) {
	r.Jobs++
	for i, s := range j.Info.Stages {
		r.Demand += s.Slots * (j.Counts[i].Waiting + j.Counts[i].Running)
	}
	for _, h := range j.HeldSlots() {
		r.Running += h.Count
	}
}
