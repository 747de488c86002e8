package hfsp

import (
	"slices"

	"github.com/hamadryad/hamadryad/plugins/hfsp/estimation"
	"github.com/hamadryad/hamadryad/plugins/hfsp/virtual"
	"github.com/hamadryad/hamadryad/plugins/hfsp/work"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/locality"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// stage is the policy's record of a stage, which the paper calls a job.
type stage struct {
	*work.Stage
	learnt
	size    float64 // slot-seconds
	trained bool

	kind *kind
	job  *virtual.Job // nil before the stage came, and once it is over
	// parked says that the virtual cluster has no slot for the stage: see Policy.deal.
	parked bool
	by     turnBy // as of the last updateStage
	// early says that stages whose output this one reads have not finished. Its ready bundles would
	// only wait for them.
	early bool
	read  bool // all its groups have finished, as of the last updateStage

	turn
	round uint64 // the round that turn belongs to

	reported scheduler.WaitReason
	looked   uint64 // the last round that looked for the reason
	gone     bool   // its job ended
	trains   bool   // it is in its kind's training list

	saved   []byte // its record in the checkpoint; nil if it has none
	pending bool   // the record may be out of date
}

// turn is what a round decides for a stage.
type turn struct {
	entitled int // slots
	granted  int // slots launched and resumed in this round
	launched int // bundles
	delayed  bool
	unfit    *view.Bundle
	lacked   bool // slots that it is entitled to were sought by preemption
}

// turnOf returns what the current round decided for a stage: nothing if the round did not examine
// it.
func (p *Policy) turnOf(s *stage) turn {
	if s.round != p.view.Round() {
		return turn{}
	}
	return s.turn
}

// learnt is the part of a stage's record that snapshots lack; the checkpoint keeps it.
type learnt struct {
	tasks *estimation.Stage
	over  bool       // it has been in the virtual cluster, and ended
	bound work.Bound // as the checkpoint has it
	wait  locality.Wait
	skip  scheduler.Time // when the offers that the stage declined were last counted
}

// of returns the policy's record of a stage of the index.
func of(w *work.Stage) *stage { return w.Owner.(*stage) }

func (s *stage) virtualID() virtual.ID { return virtual.ID{Job: s.Job.ID(), Stage: s.ID()} }

// want is how many slots the stage could use now.
func (s *stage) want() int { return s.Held + s.Suspended + s.Ready }

// has is how many slots the stage holds, with those that this round granted.
func (s *stage) has() int { return s.Held + s.granted }

// meet creates the policy's records for the stages of a new job.
func (p *Policy) meet(id scheduler.JobID) {
	for _, w := range p.index.Stages(id) {
		if w.Owner != nil {
			continue
		}
		w.Owner = &stage{Stage: w, kind: p.kindOf(w.Info().Kind), learnt: learnt{tasks: newTasks(w)}}
	}
}

// newTasks returns the estimator's record of a stage, with nothing learnt.
func newTasks(w *work.Stage) *estimation.Stage {
	info := w.Info()
	tasks := estimation.NewStage(estimation.Kind{Slots: info.Kind, Shuffles: info.Shuffles}, info.Groups, info.Slots)
	tasks.Job, tasks.ID = &w.Job.Info, w.ID()
	tasks.Lot = uint64(w.Job.ID())<<16 ^ uint64(w.ID())
	return tasks
}

// updateStage updates a stage's record, and the stages that wait for its end.
func (p *Policy) updateStage(s *stage) {
	p.saver.look(s)
	s.tasks.Tasks, s.tasks.Slots = s.Info().Groups, p.index.SlotsOfTask(s.Stage)
	if s.Came {
		p.estimator.Came(s.tasks)
	}
	s.size, s.trained = p.estimator.Size(s.tasks)
	s.early = p.isEarly(s)
	was := s.turnBy() // time may have made it late since the last update
	p.list(s, p.simulate(s))
	if by := s.turnBy(); by != was || by != s.by {
		s.by, s.kind.dealt.changed = by, true
	}
	if read := finished(s); read != s.read {
		s.read = read
		for _, w := range p.index.Stages(s.Job.ID()) {
			if slices.Contains(w.Info().After, s.ID()) {
				p.updateStage(of(w))
			}
		}
	}
}

// simulate updates the virtual cluster with a stage's state, and reports whether the stage has a
// place there.
func (p *Policy) simulate(s *stage) bool {
	c := s.kind.cluster
	switch {
	case !s.Came || s.over:
		return false
	case s.Bound.Follows(): // its work counts for the stage that it follows
		if s.job != nil {
			c.Remove(s.job)
			s.job = nil
		}
		return false
	case s.early && s.job == nil:
		return false // it comes when its input is complete
	case s.Over():
		if s.job != nil {
			s.kind.finishReal(s)
		}
		s.over = true // also if a snapshot had it over, and it never came here
		return false
	case s.job == nil:
		s.job = c.Add(s.virtualID(), p.spec(s), 0)
		s.job.Owner = s
	default:
		c.Set(s.job, p.spec(s))
	}
	return true
}

// list puts a stage into the lists of its kind where it belongs, and removes it from the others.
func (p *Policy) list(s *stage, live bool) {
	k := s.kind
	something := s.ReadyBundles > 0 || s.AnyPaused()
	s.trains = live && !s.trained && !s.early
	k.all = set(k.all, s, live)
	k.urgent = set(k.urgent, s, something && !live && !s.early)
	k.early = set(k.early, s, s.early && (something || s.Held > 0))
	k.training = set(k.training, s, s.trains)
	k.waiting = set(k.waiting, s, s.ReadyBundles > 0)
	k.soft = set(k.soft, s, s.Held > 0 && p.mode(s) != 0)
	k.leaving = set(k.leaving, s, s.Leaving > 0)
}

// finished reports whether all groups of a stage have finished. It is true of a stage without
// groups.
func finished(s *stage) bool {
	c := s.Job.Counts[s.ID()]
	return c.Waiting+c.Running == 0
}

func (p *Policy) isEarly(s *stage) bool {
	all := p.index.Stages(s.Job.ID())
	return slices.ContainsFunc(s.Info().After, func(id scheduler.StageID) bool { return int(id) < len(all) && !finished(of(all[id])) })
}

func (p *Policy) spec(s *stage) virtual.Spec {
	x := virtual.Spec{Size: s.size, Weight: p.options.weight(s.Job.Info.Priority)}
	if !s.parked {
		x.Cap = s.cap()
	}
	return x
}

// turnBy is what decides whether a stage gets a slot when there are fewer slots than stages.
type turnBy struct {
	sharing  bool
	cap      int
	priority scheduler.Priority
}

func (s *stage) turnBy() turnBy {
	return turnBy{s.job != nil && !s.job.Late(), s.cap(), s.Job.Info.Priority}
}

// cap is how many slots all tasks of a stage could use.
func (s *stage) cap() int {
	return int(min(int64(s.tasks.Tasks)*int64(max(s.tasks.Slots, 0)), virtual.CapMax))
}

// finishReal marks a stage as really finished: it continues in the virtual cluster until its finish
// there.
func (k *kind) finishReal(s *stage) {
	k.cluster.FinishReal(s.job, s.size)
	s.job, s.over = nil, true
}

// part removes a stage whose job ended.
func (p *Policy) part(s *stage) {
	k := s.kind
	s.gone = p.view.Job(s.Job.ID()) != s.Job
	switch {
	case s.job == nil:
	case s.Over():
		s.tasks.Tasks = s.Info().Groups
		s.size, _ = p.estimator.Size(s.tasks)
		k.finishReal(s)
	default:
		k.cluster.Remove(s.job)
		s.job = nil
	}
	k.dealt.changed = true
	for _, list := range []*[]*stage{&k.all, &k.urgent, &k.training, &k.waiting, &k.soft, &k.early, &k.leaving} {
		*list = set(*list, s, false)
	}
}
