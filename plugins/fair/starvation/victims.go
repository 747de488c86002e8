package starvation

import (
	"slices"

	"github.com/hamadryad/hamadryad/plugins/fair/sharing"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/preemption"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/shares/pooltree"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// victim is a bundle attempt that could be stopped.
type victim struct {
	bundle   *view.Bundle
	attempts []*view.Attempt // its live ones
	job      *sharing.Job
	newest   scheduler.AttemptID
}

// candidate makes a victim of a bundle attempt, when it is asked for its first live
// attempt and it may be stopped. Of two neither is: the first to end wins.
func (t *taking) candidate(j *sharing.Job, a *view.Attempt) (victim, bool) {
	b := a.Bundle
	live := b.Attempts()
	if live[0] != a || len(live) > len(b.Groups) || b.State != view.Launched {
		return victim{}, false
	}
	if t.View.Now() < b.ProtectedUntil {
		return victim{}, false
	}
	if s, ok := t.Spared[b.ID]; ok && (t.View.Now() < s.Until || s.Times >= t.Config.TimesMax) {
		return victim{}, false
	}
	x := victim{bundle: b, attempts: live, job: j}
	if t.Mode() == scheduler.PreemptSuspend && b.NoSuspend() {
		return victim{}, false
	}
	for _, y := range live {
		wrong := t.leaving[y.ID] || y.State == view.Suspended || t.Mode() == scheduler.PreemptSuspend && y.State != view.Running
		if wrong || t.View.Launcher(y.Launcher) == nil || y.Speculative != a.Speculative {
			return victim{}, false
		}
		x.newest = max(x.newest, y.ID)
	}
	return x, true
}

// find looks for victims, newest first, until the bundle fits, and then gives back
// those it does not need. What the bundle and its victims change stays taken.
func (t *taking) find(x *sharing.Pool, b *view.Bundle) ([]victim, []scheduler.LauncherID) {
	mark := t.View.Mark()
	if _, ok := t.View.Fit(b); ok { // what is free covers it: it waits for something else
		t.View.Undo(mark)
		return nil, nil
	}
	search := preemption.Search{View: t.View, Bundle: b, Suspend: t.Mode() == scheduler.PreemptSuspend, Limits: t.limits, Most: victimsMax}
	next := 0
	var taken []victim
	places, where := search.Find(func() []*view.Attempt {
		for ; next < len(t.victims); next++ {
			v := t.victims[next]
			if t.gone[v.bundle] || !t.spendable(x, v) || !search.Useful(v.attempts) {
				continue
			}
			t.account(v, -1)
			t.gone[v.bundle] = true
			taken = append(taken, v)
			return v.attempts
		}
		return nil
	}, func(place int) {
		t.account(taken[place], 1)
		delete(t.gone, taken[place].bundle)
	})
	var victims []victim
	for _, place := range places {
		victims = append(victims, taken[place])
	}
	return victims, where
}

// spendable says whether all pools that lose by a victim keep the whole slots of
// their fair shares. A pool that the starved one lies in too loses nothing.
func (t *taking) spendable(x *sharing.Pool, v victim) bool {
	for n := v.job.Node.Parent; n.Parent != nil; n = n.Parent {
		if contains(n, x.Node) {
			return n != x.Node // a job does not take from its own pool
		}
		for _, need := range needsOf(v) {
			s := n.Of(t.World.Kind(need.Kind))
			if t.keeps(s)-need.Count < WholeShare(s) {
				return false
			}
		}
	}
	return true
}

// contains says whether a pool is another, or one that it lies in.
func contains(outer, inner *pooltree.Node) bool {
	for ; inner != nil; inner = inner.Parent {
		if inner == outer {
			return true
		}
	}
	return false
}

func needsOf(v victim) []scheduler.SlotCount {
	var all []scheduler.SlotCount
	for _, a := range v.attempts {
		i := slices.IndexFunc(all, func(c scheduler.SlotCount) bool { return c.Kind == a.Need.Kind })
		if i < 0 {
			i = len(all)
			all = append(all, scheduler.SlotCount{Kind: a.Need.Kind})
		}
		all[i].Count += a.Need.Slots
	}
	return all
}

// account takes a victim off the books of its pools, or puts it back.
func (t *taking) account(v victim, sign int) {
	for n := v.job.Node; n != nil; n = n.Parent {
		for _, need := range needsOf(v) {
			t.keep(n.Of(t.World.Kind(need.Kind)), sign*need.Count)
		}
	}
}
