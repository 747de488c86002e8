package preemption

import (
	"slices"

	"github.com/hamadryad/hamadryad/plugins/fair/shares"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/preemption"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/shares/pooltree"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// victim is a bundle attempt that could be stopped.
type victim struct {
	bundle    *view.Bundle
	attempts  []*view.Attempt // its live ones
	job       *shares.Job
	newest    scheduler.AttemptID
	protected bool // the manager would refuse it
	spared    sparing
	killed    bool // it can only be killed: it can't be suspended, or not now
}

// Live returns its live attempts.
func (v victim) Live() []*view.Attempt { return v.attempts }

// sparing is why a bundle is not taken but for a minimum share.
type sparing uint8

const (
	notSpared  sparing = iota
	byTime             // it was preempted a short while ago: Config.Protect
	byTimesMax         // it was preempted as often as may be: Config.TimesMax
)

// candidate makes a victim of a bundle attempt, if the given attempt is its first live one and
// it may be stopped. Of two speculative attempts neither is a victim: the first to end wins. Nor is
// the first where this round launches the second: to stop it would end the offer.
func (t *taking) candidate(j *shares.Job, a *view.Attempt) (victim, bool) {
	b := a.Bundle
	live := b.Attempts()
	if live[0] != a || len(live) > len(b.Groups) || b.SpeculationOffered && b.LeftOut() {
		return victim{}, false
	}
	x := victim{
		bundle: b, attempts: live, job: j, killed: b.NoSuspend(),
		protected: t.View.Now() < b.ProtectedUntil, spared: t.sparing(b.ID),
	}
	for _, y := range live {
		wrong := t.leaving[y.ID] || y.Stopping || y.State == view.Suspended
		if wrong || t.View.Launcher(y.Launcher) == nil || y.Speculative != a.Speculative {
			return victim{}, false
		}
		x.killed = x.killed || y.State != view.Running
		x.newest = max(x.newest, y.ID)
	}
	return x, true
}

// sparing says whether a bundle was preempted too often, or too short a while ago.
func (t *taking) sparing(id scheduler.BundleID) sparing {
	switch s, ok := t.Spared[id]; {
	case !ok:
		return notSpared
	case t.Config.TimesMax > 0 && s.Times >= t.Config.TimesMax:
		return byTimesMax
	case t.View.Now() < s.Until:
		return byTime
	}
	return notSpared
}

// finding is the search for the victims of one bundle.
type finding struct {
	*taking
	pool   *shares.Pool // for which slots are taken back
	bundle *view.Bundle
	mode   scheduler.PreemptMode
	full   []fullPool
	// guaranteed says that its pool is below its minimum share. Then no bundle is spared, and attempts
	// that cannot be suspended are killed. The manager's own protection of a victim holds all the
	// same: so each launch runs for a while, whatever minimums there are.
	guaranteed bool
}

// victims looks for victims, in the mode in which they will be stopped.
func (f *finding) victims() ([]victim, []scheduler.LauncherID) {
	mark := f.View.Capacity.Mark()
	if _, ok := f.View.Fit(f.bundle); ok && len(f.full) == 0 { // it fits already and waits for something else
		f.View.Capacity.Undo(mark)
		return nil, nil
	}
	f.View.Capacity.Undo(mark)
	victims, where := f.find()
	if victims == nil && f.guaranteed && f.mode == scheduler.PreemptSuspend {
		f.mode = scheduler.PreemptKill
		victims, where = f.find()
	}
	return victims, where
}

// find takes victims, newest first, until the bundle fits, and then gives back
// those it does not need. What the bundle and its victims change stays taken.
func (f *finding) find() ([]victim, []scheduler.LauncherID) {
	suspend := f.mode == scheduler.PreemptSuspend
	search := preemption.Search{View: f.View, Bundle: f.bundle, Suspend: suspend, Limits: f.limits, Most: victimsMax}
	next := 0
	var taken []victim
	search.Enough = func(places []int) bool { return f.makeRoom(taken, places) }
	places, where := search.Find(func() []*view.Attempt {
		for ; next < len(f.taking.victims); next++ {
			v := f.taking.victims[next]
			if f.excludes(v) || f.gone[v.bundle] || f.outside(v) || !f.spendable(f.pool, v) || !search.Useful(v.attempts) {
				continue
			}
			f.account(v, -1)
			f.gone[v.bundle] = true
			taken = append(taken, v)
			return v.attempts
		}
		return nil
	}, func(place int) {
		f.account(taken[place], 1)
		delete(f.gone, taken[place].bundle)
	})
	var victims []victim
	for _, place := range places {
		victims = append(victims, taken[place])
	}
	return victims, where
}

// excludes says whether a victim may not be taken for this bundle, or not in this mode.
func (f *finding) excludes(v victim) bool {
	return v.spared != notSpared && !f.guaranteed || v.killed && f.mode == scheduler.PreemptSuspend
}

// spendable says whether all pools that lose by a victim keep the whole slots of their fair
// shares. A pool that also contains the starved one loses nothing.
func (t *taking) spendable(x *shares.Pool, v victim) bool {
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

// contains says whether a pool is the other one, or contains it.
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

// account subtracts a victim from its pools' counts, or adds it back.
func (t *taking) account(v victim, sign int) {
	for n := v.job.Node; n != nil; n = n.Parent {
		for _, need := range needsOf(v) {
			t.keep(n.Of(t.World.Kind(need.Kind)), sign*need.Count)
		}
	}
}
