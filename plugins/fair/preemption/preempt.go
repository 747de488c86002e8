package preemption

import (
	"cmp"
	"slices"

	"github.com/hamadryad/hamadryad/plugins/fair/allocation"
	"github.com/hamadryad/hamadryad/plugins/fair/shares"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/gangs"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/preemption"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/shares/pooltree"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// Bounds of one search for victims.
const (
	// scanMax is how many of a job's bundles are looked at, lowest id first.
	scanMax = 32
	// victimsMax is how many bundles may be stopped for one bundle.
	victimsMax = 64
	// sparedMax is how many preempted bundles are remembered.
	sparedMax = 4096
)

// Spared is the record of a preempted bundle.
type Spared struct {
	Until scheduler.Time // when its protection ends
	Times int            // how often it was preempted
}

// Set are the victims for one bundle of a job in a starved pool.
type Set struct {
	Pool    *shares.Pool
	Job     *shares.Job
	Preempt scheduler.Preempt
}

// taking is the search for victims in one round.
type taking struct {
	*State
	victims []victim // newest first, and those that are spared after all others
	gone    map[*view.Bundle]bool
	leaving map[scheduler.AttemptID]bool  // stopped already
	left    map[*pooltree.Schedulable]int // slots a pool keeps, where less than it holds
	freed   map[*pooltree.Schedulable]int // slots that are taken from a pool, of those that it holds
	coming  map[*pooltree.Schedulable]int // slots being freed for a pool
	undo    []func()                      // what the beneficiaries are counted as holding
	sets    []Set
}

// Preempt takes slots back for pools that have been below their shares for too
// long (design document, section 4.5).
func (p *State) Preempt() []Set {
	if p.Config.Preemption == allocation.PreemptOff {
		return nil
	}
	var t *taking
	for _, n := range p.Tree.Pools() {
		x := p.Pools[n.Path]
		for _, k := range p.World.Order {
			due := p.lack(x, k)
			if due.all == 0 {
				continue
			}
			if t == nil {
				t = p.startTaking()
			}
			t.takeFor(x, k, due)
			p.Tree.Rewind(k) // a pool in this one may be owed more than it
		}
	}
	if t == nil {
		return nil
	}
	for _, undo := range t.undo {
		undo()
	}
	return t.sets
}

// startTaking lists the launches that could be stopped and the slots on their way already.
func (p *State) startTaking() *taking {
	t := &taking{
		State: p, gone: map[*view.Bundle]bool{}, leaving: map[scheduler.AttemptID]bool{},
		left: map[*pooltree.Schedulable]int{}, freed: map[*pooltree.Schedulable]int{}, coming: map[*pooltree.Schedulable]int{},
	}
	for _, id := range sorted(p.Leaving) {
		for _, attempt := range p.Leaving[id] {
			if a := p.View.Attempt(attempt); a != nil {
				t.leaving[attempt] = true
				t.leaves(p.Jobs[a.Job().ID()], a.Need, id)
			}
		}
	}
	for _, v := range p.View.Jobs() {
		j := p.Jobs[v.ID()]
		for _, a := range v.Attempts() {
			if x, ok := t.candidate(j, a); ok && !x.protected {
				t.victims = append(t.victims, x)
			}
		}
	}
	for id := range p.World.Reserved {
		for _, l := range p.View.Capacity.ReservedOn(id) {
			for _, r := range l.Offer.Reserved {
				if r.Job == id {
					t.comes(id, p.World.Kind(r.Kind), r.Slots)
				}
			}
		}
	}
	slices.SortFunc(t.victims, func(a, b victim) int {
		return cmp.Or(cmp.Compare(min(a.spared, 1), min(b.spared, 1)), cmp.Compare(b.newest, a.newest))
	})
	return t
}

// leaves counts the slots of an attempt that is being stopped.
func (t *taking) leaves(j *shares.Job, need *scheduler.Group, beneficiary scheduler.JobID) {
	k := t.World.Kind(need.Kind)
	for n := j.Node; n != nil; n = n.Parent {
		t.keep(n.Of(k), -need.Slots)
	}
	t.comes(beneficiary, k, need.Slots)
}

func (t *taking) comes(to scheduler.JobID, k pooltree.Kind, slots int) {
	if j := t.Jobs[to]; j != nil {
		for n := j.Node; n != nil; n = n.Parent {
			t.coming[n.Of(k)] += slots
		}
	}
}

// keep changes what a pool keeps.
func (t *taking) keep(s *pooltree.Schedulable, by int) {
	n, ok := t.left[s]
	if !ok {
		n = s.Running
	}
	t.left[s] = n + by
	t.freed[s] -= by
}

func (t *taking) keeps(s *pooltree.Schedulable) int {
	if n, ok := t.left[s]; ok {
		return n
	}
	return s.Running
}

// takeFor names victims for the work that a pool would start next.
func (t *taking) takeFor(x *shares.Pool, k pooltree.Kind, due lack) {
	due = due.less(t.coming[x.Node.Of(k)])
	for due.all > 0 && len(t.sets) < t.Config.SetsMax {
		n := x.Node.NextIn(k)
		if n == nil {
			return
		}
		j := n.Owner.(*shares.Job)
		slots, ok := t.takeForJob(x, j, k, due)
		if !ok {
			t.Tree.Pass(n, k)
			continue
		}
		due = due.less(slots)
	}
}

// takeForJob names victims for one bundle of a job.
func (t *taking) takeForJob(x *shares.Pool, j *shares.Job, k pooltree.Kind, due lack) (int, bool) {
	tries := 0
	for b := range j.Launchable(t.World.Kinds[k], j.Given(t.View, k)).All() {
		if tries++; tries > scanMax {
			break
		}
		slots := gangs.Slots(b, t.World.Kinds[k])
		if b.SpeculationOffered || slots > due.all {
			continue
		}
		full, possible := t.full(x, j, gangs.Needs(b))
		if !possible {
			continue
		}
		f := finding{taking: t, pool: x, bundle: b, mode: t.Mode(), full: full, guaranteed: slots <= due.minimum}
		if len(full) > 0 && f.mode == scheduler.PreemptSuspend {
			f.mode = scheduler.PreemptKill // suspended victims would resume
		}
		victims, where := f.victims()
		if victims == nil {
			continue
		}
		t.decide(j, &f, victims, where)
		return slots, true
	}
	return 0, false
}

// decide names the set. While victims are looked for
// the beneficiary counts as holding what it is to be given.
func (t *taking) decide(j *shares.Job, f *finding, victims []victim, where []scheduler.LauncherID) {
	b := f.bundle
	p := scheduler.Preempt{Mode: f.mode, For: j.ID(), Bundle: b.ID, Placement: where}
	if p.Mode == scheduler.PreemptSoft {
		p.Grace = min(t.Config.Grace, t.limits.GraceMax)
	}
	p = preemption.Stop(p, victims)
	b.LeaveOut() // it is not chosen again
	for _, n := range gangs.Needs(b) {
		s := j.Node.Of(t.World.Kind(n.Kind))
		t.undo = append(t.undo, func() { s.Set(s.Running-n.Count, s.Ready()+n.Count) })
		s.Set(s.Running+n.Count, max(s.Ready()-n.Count, 0))
	}
	t.sets = append(t.sets, Set{f.pool, j, p})
}

// Mode is how victims are stopped: suspended only where launchers can.
func (p *State) Mode() scheduler.PreemptMode {
	switch p.Config.Preemption {
	case allocation.PreemptSoft:
		return scheduler.PreemptSoft
	case allocation.PreemptSuspend:
		if !p.NoSuspend {
			return scheduler.PreemptSuspend
		}
	}
	return scheduler.PreemptKill
}

// Outcome processes the outcome of a set.
func (p *State) Outcome(e scheduler.Outcome) {
	switch {
	case e.Accepted:
		p.Leaving[e.Preempt.For] = append(p.Leaving[e.Preempt.For], e.Preempt.Victims...)
		p.spare(e, 1)
	case e.Reason == scheduler.Protected:
		p.spare(e, 0)
	case e.Reason == scheduler.Unsupported && e.Preempt.Mode == scheduler.PreemptSuspend:
		p.NoSuspend = true
	}
	p.Changed = true
}

// spare protects bundles from being preempted again soon.
func (p *State) spare(e scheduler.Outcome, times int) {
	seen := map[scheduler.BundleID]bool{}
	for _, id := range e.Preempt.Victims {
		a := p.View.Attempt(id)
		if a == nil || seen[a.Bundle.ID] {
			continue
		}
		seen[a.Bundle.ID] = true
		s, known := p.Spared[a.Bundle.ID]
		if !known && len(p.Spared) == sparedMax {
			continue
		}
		p.Spared[a.Bundle.ID] = Spared{e.At.Add(p.Config.Protect), s.Times + times}
	}
}
