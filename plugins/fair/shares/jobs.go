package shares

import (
	"runtime"

	"github.com/hamadryad/hamadryad/internal/prefetch"
	"github.com/hamadryad/hamadryad/plugins/fair/allocation"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/gangs"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/locality"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/shares/pooltree"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// Job is the policy's record of a live job.
type Job struct {
	*view.Job
	Node     *pooltree.Node // nil once the job has ended
	Pool     *Pool
	Runnable bool   // its pool's and user's limits let it run
	Refused  string // the pool that it was moved to and is not in, because that is not declared; "": none
	// Undeclared says that the job's pool is not declared, and that a job which came for it now
	// would be refused. This one came while the policy was down, or before a change of settings.
	Undeclared bool

	// Of package placement: how long the job has waited for locality, and why it was
	// passed over in the present round; none when it was not.
	Wait       locality.Wait
	PassedOver scheduler.WaitReason
	Far        Far
	// Of package fair: why it waits, as last sent to the manager.
	Reported scheduler.WaitReason

	limited bool // there are limits to the running jobs of its pool or user
	dirty   bool // it is in State.dirty

	given []scheduler.BundleID // by kind: bundles up to it are given away in a round
	round uint64               // which that is
}

// Far is the result of a search that found only work waiting for room near its input. It stands
// until what the job holds or wants may have changed, which is when Sync counts it.
type Far struct {
	Kind   scheduler.SlotKind // of slot; "": nothing is known
	Places int                // World.Places then
	More   bool               // there was more work than was looked at
}

// Of returns the policy's record of a job; nil: unknown.
func Of(v *view.Job) *Job {
	j, _ := v.Owner.(*Job)
	return j
}

// Given returns up to which of a job's bundles of a kind all are given away in
// this round.
func (j *Job) Given(v *view.View, k pooltree.Kind) scheduler.BundleID {
	if j.round != v.Round() {
		j.round = v.Round()
		clear(j.given)
	}
	for len(j.given) <= int(k) {
		j.given = append(j.given, 0)
	}
	return j.given[k]
}

// SetGiven notes that; Given was asked in the same round.
func (j *Job) SetGiven(k pooltree.Kind, b scheduler.BundleID) { j.given[k] = b }

// Pool is the policy's record of a pool.
type Pool struct {
	Node *pooltree.Node
	Spec *allocation.Pool
}

func (s *State) addPool(spec *allocation.Pool) *Pool {
	if old := s.Pools[spec.Path]; old != nil {
		return old
	}
	x := &Pool{Node: s.Tree.AddPool(spec.Parent, spec.Path, s.Config.Table.Tree(spec, s.World.Kind)), Spec: spec}
	s.Pools[spec.Path] = x
	return x
}

// Add puts a job into its pool. It returns nil for a job that ended in the round of its
// submission.
func (s *State) Add(v *view.Job) {
	if v == nil || s.Jobs[v.ID()] != nil {
		return
	}
	j := &Job{Job: v}
	s.addKinds(j)
	s.Jobs[v.ID()] = j
	v.Owner = j
	s.put(j)
	s.trace("job added", j)
}

// addKinds adds the kinds of slots that a job's stages take to the world, before any launcher
// has them.
func (s *State) addKinds(j *Job) {
	for i := range j.Info.Stages {
		s.World.Kind(j.Info.Stages[i].Kind)
	}
}

// Grown records that a stage of a job has more groups, or takes slots of another kind.
func (s *State) Grown(id scheduler.JobID) {
	if j := s.Jobs[id]; j != nil {
		s.addKinds(j)
		s.Mark(j)
	}
}

func (s *State) put(j *Job) {
	stays, moved := s.Undeclared[j.ID()]
	to := s.Config.Place(&j.Info, true)
	j.Refused, j.Undeclared = "", false
	switch {
	case to.Refused == "":
		delete(s.Undeclared, j.ID()) // the pool was declared since
	case moved:
		j.Refused, to.Pool = to.Refused, s.Config.Table.At(stays)
	default:
		j.Undeclared, to = true, s.Config.Place(&j.Info, false)
	}
	j.Pool = s.addPool(to.Pool)
	j.Node = s.Tree.AddJob(j.Pool.Node, pooltree.Job{
		ID: j.ID(), Priority: j.Info.Priority, Start: j.Info.Submitted, Weight: priorityWeight(j.Info.Priority),
	})
	j.Node.Owner = j
	s.limiter.add(s, j)
	s.Mark(j)
}

// Move takes a job to where it belongs now, with its new priority. Where jobs
// for undeclared pools are refused, one cannot be moved to such a pool either: it
// stays where it is. The next rule of placement might have a pool that its user may not submit to.
func (s *State) Move(id scheduler.JobID) {
	j := s.Jobs[id]
	if j == nil {
		return
	}
	s.drop(j)
	if lax := s.Config.Place(&j.Info, false); lax.Pool.Path != j.Pool.Spec.Path && s.Config.Place(&j.Info, true).Refused != "" {
		if s.Undeclared[j.ID()] == "" {
			s.Undeclared[j.ID()] = j.Pool.Spec.Path
		}
	} else {
		delete(s.Undeclared, j.ID())
	}
	s.put(j)
	s.trace("job moved", j)
}

// Remove forgets a job that ended.
func (s *State) Remove(id scheduler.JobID) {
	j := s.Jobs[id]
	if j == nil {
		return
	}
	s.drop(j)
	delete(s.Undeclared, j.ID())
	delete(s.Jobs, j.ID())
	j.Node = nil
	s.trace("job removed", j)
}

// drop removes a job from its pool, and removes the pool if it existed only for the job.
func (s *State) drop(j *Job) {
	s.Changed = true // what is remembered of the job here, or of the pool
	s.limiter.remove(j)
	s.Tree.RemoveJob(j.Node)
	if x := j.Pool; x.Node.Jobs() == 0 && !s.Config.Table.Declares(x.Spec.Path) {
		s.Tree.RemovePool(x.Node)
		delete(s.Pools, x.Spec.Path)
	}
}

// Mark says that what a job holds or wants may have changed; nil is none.
func (s *State) Mark(j *Job) {
	if j != nil && !j.dirty {
		j.dirty = true
		s.dirty = append(s.dirty, j)
	}
}

// MarkAttempt marks the job of a live attempt.
func (s *State) MarkAttempt(id scheduler.AttemptID) {
	if a := s.View.Attempt(id); a != nil {
		s.Mark(Of(a.Job()))
	}
}

// Sync brings the tree up to date with the jobs that were marked.
func (s *State) Sync() {
	s.limiter.enforce(s)
	s.alarms.ring(s)
	for i, j := range s.dirty {
		if next := prefetch.Next(s.dirty, i); next != nil {
			s.prefetch(next)
		}
		j.dirty = false
		if j.Node != nil {
			s.count(j)
			s.Synced = append(s.Synced, j)
		}
	}
	s.dirty = s.dirty[:0]
}

// prefetch touches the tree's records of jobs. See package prefetch.
func (s *State) prefetch(jobs []*Job) {
	var sum byte
	for _, j := range jobs {
		sum += prefetch.All(j.Node) + prefetch.At(j.given, 0)
	}
	for _, j := range jobs {
		if j.Node != nil {
			for _, k := range s.World.Order {
				sum += j.Node.Prefetch(k)
			}
		}
	}
	runtime.KeepAlive(sum)
}

// count sets in the tree what a job holds and wants.
func (s *State) count(j *Job) {
	j.Far = Far{}
	for _, k := range s.World.Order {
		name := s.World.Kinds[k]
		held, ready := j.Held(name), j.LaunchableSlots(name)
		if !j.Runnable {
			ready = 0
		}
		if held == 0 && ready == 0 && !j.Node.Has(k) {
			continue
		}
		x := j.Node.Of(k)
		x.Set(held, ready)
		if s.Config.SizeBasedWeight || s.adjuster != nil {
			x.SetWeight(s.weight(j, x.Demand()))
		}
	}
}

// OverMax says whether a bundle would take a pool over its maximum share.
func (s *State) OverMax(j *Job, b *view.Bundle) bool {
	if len(b.Groups) == 1 {
		return j.Node.Of(s.World.Kind(b.Groups[0].Kind)).AtMax(b.Groups[0].Slots)
	}
	for _, n := range gangs.Needs(b) {
		if j.Node.Of(s.World.Kind(n.Kind)).AtMax(n.Count) {
			return true
		}
	}
	return false
}
