package fair

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/gangs"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/shares/pooltree"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// Bounds of one look for victims.
const (
	// victimsMax is how many bundles may be stopped for one bundle.
	victimsMax = 64
	// preemptsMax is how many sets of victims one round may name.
	preemptsMax = 1000
	// sparedMax is how many preempted bundles are remembered.
	sparedMax = 4096
)

// spared is what is remembered of a bundle that was preempted.
type spared struct {
	Until scheduler.Time // it is not taken again before
	Times int            // how often it was
}

// taking is the search for victims in one round.
type taking struct {
	*Policy
	victims []victim // newest first
	gone    map[*view.Bundle]bool
	leaving map[scheduler.AttemptID]bool  // stopped already
	left    map[*pooltree.Schedulable]int // slots a pool keeps, where less than it holds
	coming  map[*pooltree.Schedulable]int // slots that are on their way to a pool
	undo    []func()                      // the beneficiaries' standing
	d       *scheduler.Decisions
}

// preempt takes slots back for pools that have been below their shares for too
// long (design document, section 4.5).
func (p *Policy) preempt(d *scheduler.Decisions) {
	if p.options.preemption == preemptOff {
		return
	}
	var t *taking
	for _, n := range p.tree.Pools() {
		x := p.pools[n.Path]
		for _, k := range p.world.order {
			due := p.due(x, k)
			if due == 0 {
				continue
			}
			if t == nil {
				t = p.startTaking(d)
			}
			t.takeFor(x, k, due)
		}
	}
	if t == nil {
		return
	}
	for _, undo := range t.undo {
		undo()
	}
	for _, k := range p.world.order {
		p.tree.Rewind(k)
	}
}

// startTaking lists who could be stopped and what is on its way already.
func (p *Policy) startTaking(d *scheduler.Decisions) *taking {
	t := &taking{
		Policy: p, d: d, gone: map[*view.Bundle]bool{}, leaving: map[scheduler.AttemptID]bool{},
		left: map[*pooltree.Schedulable]int{}, coming: map[*pooltree.Schedulable]int{},
	}
	for _, id := range sortedKeys(p.memory.Leaving) {
		for _, attempt := range p.memory.Leaving[id] {
			if a := p.view.Attempt(attempt); a != nil {
				t.leaving[attempt] = true
				t.leaves(p.jobs[a.Job().ID()], a.Need, id)
			}
		}
	}
	for _, v := range p.view.Jobs() {
		j := p.jobs[v.ID()]
		for _, a := range v.Attempts() {
			if x, ok := t.candidate(j, a); ok {
				t.victims = append(t.victims, x)
			}
		}
	}
	for id := range p.world.reserved {
		for _, l := range p.view.ReservedFor(id) {
			for _, r := range l.Offer.Reserved {
				if r.Job == id {
					t.comes(id, p.world.kind(r.Kind), r.Slots)
				}
			}
		}
	}
	slices.SortFunc(t.victims, func(a, b victim) int { return cmp.Compare(b.newest, a.newest) })
	return t
}

// leaves counts slots of an attempt that is being stopped.
func (t *taking) leaves(j *job, need *scheduler.Group, beneficiary scheduler.JobID) {
	k := t.world.kind(need.Kind)
	for n := j.node; n != nil; n = n.Parent {
		t.keep(n.Of(k), -need.Slots)
	}
	t.comes(beneficiary, k, need.Slots)
}

func (t *taking) comes(to scheduler.JobID, k pooltree.Kind, slots int) {
	if j := t.jobs[to]; j != nil {
		for n := j.node; n != nil; n = n.Parent {
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
}

func (t *taking) keeps(s *pooltree.Schedulable) int {
	if n, ok := t.left[s]; ok {
		return n
	}
	return s.Running
}

// takeFor names victims for the work that a pool would start next.
func (t *taking) takeFor(x *pool, k pooltree.Kind, due int) {
	s := x.node.Of(k)
	due -= t.coming[s]
	for due > 0 && len(t.d.Preempt) < preemptsMax {
		n := x.node.NextIn(k)
		if n == nil {
			return
		}
		j := n.Owner.(*job)
		slots, ok := t.takeForJob(x, j, k, due)
		if !ok {
			t.tree.Pass(n, k)
			continue
		}
		due -= slots
	}
}

// takeForJob names victims for one bundle of a job.
func (t *taking) takeForJob(x *pool, j *job, k pooltree.Kind, due int) (int, bool) {
	tries := 0
	for b := range t.view.ReadyOfKind(j.Job, t.world.kinds[k], j.given(&t.view, k)) {
		if tries++; tries > scanMax {
			break
		}
		if b.Twice || t.overMax(j, b) {
			continue
		}
		slots := gangs.Slots(b, t.world.kinds[k])
		if slots > due {
			continue
		}
		victims, where := t.find(x, b)
		if victims == nil {
			continue
		}
		t.decide(x, j, b, victims, where)
		return slots, true
	}
	return 0, false
}

// decide names the set, or only says so in a dry run. While victims are looked for
// the beneficiary counts as holding what it is to be given.
func (t *taking) decide(x *pool, j *job, b *view.Bundle, victims []victim, where []scheduler.LauncherID) {
	p := scheduler.Preempt{Mode: t.mode(), For: j.ID(), Bundle: b.ID, Placement: where}
	if p.Mode == scheduler.PreemptSoft {
		p.Grace = min(t.options.grace, t.env.Limits.GraceMax)
	}
	for _, v := range victims {
		for _, a := range v.attempts {
			p.Victims = append(p.Victims, a.ID)
		}
	}
	t.view.Launch(b, where) // not to be chosen again; no decision
	for _, n := range gangs.Needs(b) {
		s := j.node.Of(t.world.kind(n.Kind))
		t.undo = append(t.undo, func() { s.Set(s.Running-n.Count, s.Ready()+n.Count) })
		s.Set(s.Running+n.Count, max(s.Ready()-n.Count, 0))
	}
	t.trace.preempt(t.Policy, x, p)
	if t.options.dryRun {
		t.d.Notes = append(t.d.Notes, scheduler.Note{
			Name: "fair/preemption-dry-run",
			Body: fmt.Appendf(nil, "pool %s: would %s attempts %v for bundle %d of %s", x.spec.path, p.Mode, p.Victims, b.ID, j.ID()),
		})
		return
	}
	if j.vain == scheduler.WaitNone {
		t.visited = append(t.visited, j)
	}
	j.vain = scheduler.WaitPreempting
	t.d.Preempt = append(t.d.Preempt, p)
}

// mode is how victims are stopped: suspended only where launchers can.
func (p *Policy) mode() scheduler.PreemptMode {
	switch p.options.preemption {
	case preemptSoft:
		return scheduler.PreemptSoft
	case preemptSuspend:
		if !p.memory.NoSuspend {
			return scheduler.PreemptSuspend
		}
	}
	return scheduler.PreemptKill
}

// preempted takes in what became of a set.
func (p *Policy) preempted(e scheduler.Outcome) {
	switch {
	case e.Accepted:
		p.memory.Leaving[e.Preempt.For] = append(p.memory.Leaving[e.Preempt.For], e.Preempt.Victims...)
		p.spare(e, 1)
	case e.Reason == scheduler.Protected:
		p.spare(e, 0)
	case e.Reason == scheduler.Unsupported && e.Preempt.Mode == scheduler.PreemptSuspend:
		p.memory.NoSuspend = true
	}
	p.stale = true
}

// spare keeps bundles from being taken again soon.
func (p *Policy) spare(e scheduler.Outcome, times int) {
	seen := map[scheduler.BundleID]bool{}
	for _, id := range e.Preempt.Victims {
		a := p.view.Attempt(id)
		if a == nil || seen[a.Bundle.ID] {
			continue
		}
		seen[a.Bundle.ID] = true
		s, known := p.memory.Spared[a.Bundle.ID]
		if !known && len(p.memory.Spared) == sparedMax {
			continue
		}
		p.memory.Spared[a.Bundle.ID] = spared{e.At.Add(p.options.protect), s.Times + times}
	}
}
