package hfsp

import (
	"cmp"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/plugins/hfsp/estimation"
	"github.com/hamadryad/hamadryad/plugins/hfsp/virtual"
	"github.com/hamadryad/hamadryad/plugins/hfsp/work"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/locality"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// stage is what the policy keeps of a stage: what the paper calls a job.
type stage struct {
	*work.Stage
	learnt
	size    float64 // slot-seconds
	trained bool

	kind *kind
	job  *virtual.Job // nil before it came, and once it is over
	// early says that stages which it reads have not finished: what is ready of it would only wait for them.
	early bool
	read  bool // all of it has finished, as its readers know

	turn
	round uint64 // of which turn is

	told   scheduler.WaitReason
	trains bool // it is in its kind's training

	saved   []byte // its record in the checkpoint; nil where there is none
	pending bool   // it may have changed since
}

// turn is what a round decides of a stage.
type turn struct {
	entitled int // slots
	granted  int // slots, of what is launched and resumed
	launched int // bundles
	delayed  bool
	unfit    *view.Bundle
	lacked   bool // slots that are due to it were sought at others
}

// turnOf is what the last round decided of a stage: nothing where it did not look at it.
func (p *Policy) turnOf(s *stage) turn {
	if s.round != p.view.Round() {
		return turn{}
	}
	return s.turn
}

// learnt is what no snapshot tells of a stage.
type learnt struct {
	tasks *estimation.Stage
	over  bool // it has been in the virtual cluster, and ended
	wait  locality.Wait
	skip  scheduler.Time // when the offers that it passed up were counted last
}

// of returns what the policy keeps of a stage of the book.
func of(w *work.Stage) *stage { return w.Owner.(*stage) }

func (s *stage) virtualID() virtual.ID { return virtual.ID{Job: s.Job.ID(), Stage: s.ID()} }

// want is how many slots the stage could use now.
func (s *stage) want() int { return s.Held + s.Suspended + s.Ready }

// has is how many it has after what the round gives.
func (s *stage) has() int { return s.Held + s.granted }

// kind is all that concerns one kind of slot.
type kind struct {
	name    scheduler.SlotKind
	slots   int // on launchers that are neither draining nor blamed
	cluster *virtual.Cluster
	// training are stages that came and are not trained, waiting those with something to launch, and soft those that hold
	// something that can be taken off. In order.
	training, waiting, soft []*stage
	// urgent are stages with something to launch or resume that have no place in the virtual cluster: those that
	// publish, and those that are to run again after they were over. In order.
	urgent  []*stage
	early   []*stage // that are early, with something to launch, resume or take off, in order
	all     []*stage // that came and are not over, in order
	leaving []*stage // of which something is being taken off, in order
}

func compare(a, b *stage) int { return work.Compare(a.Stage, b.Stage) }

// set puts a stage into a list in order, or takes it out.
func set(list []*stage, s *stage, in bool) []*stage {
	i, found := slices.BinarySearchFunc(list, s, compare)
	switch {
	case in && !found:
		return slices.Insert(list, i, s)
	case !in && found:
		return slices.Delete(list, i, i+1)
	}
	return list
}

// kindOf returns what there is of a kind, and makes it.
func (p *Policy) kindOf(name scheduler.SlotKind) *kind {
	i, found := slices.BinarySearchFunc(p.kinds, name, func(k *kind, name scheduler.SlotKind) int { return cmp.Compare(k.name, name) })
	if !found {
		k := &kind{name: name, slots: p.slotsOf(name)}
		k.cluster = virtual.New(k.slots, p.view.Now())
		p.kinds = slices.Insert(p.kinds, i, k)
	}
	return p.kinds[i]
}

func (p *Policy) slotsOf(kind scheduler.SlotKind) (n int) {
	for _, l := range p.view.Launchers() {
		if !l.Closed() {
			n += l.Total(kind)
		}
	}
	return n
}

// countSlots takes over which launchers there are.
func (p *Policy) countSlots() {
	for _, k := range p.kinds {
		k.slots = p.slotsOf(k.name)
		k.cluster.SetCapacity(k.slots)
	}
}

// meet gives the stages of a job that came what the policy keeps of them.
func (p *Policy) meet(id scheduler.JobID) {
	for _, w := range p.book.Stages(id) {
		if w.Owner != nil {
			continue
		}
		info := w.Info()
		w.Owner = &stage{
			Stage: w, kind: p.kindOf(info.Kind),
			learnt: learnt{tasks: estimation.NewStage(estimation.Kind{Slots: info.Kind, Shuffles: info.Shuffles}, info.Groups, info.Slots)},
		}
	}
}

// learn takes in what events say of lengths, and of decisions that were refused.
func (p *Policy) learn(events []scheduler.Event) {
	var ended map[scheduler.AttemptID]*view.Ended
	for i, e := range p.view.Ended() {
		if ended == nil {
			ended = map[scheduler.AttemptID]*view.Ended{}
		}
		ended[e.ID] = &p.view.Ended()[i]
	}
	for _, e := range events {
		switch e := e.(type) {
		case scheduler.AttemptProgress:
			if a := p.view.Attempt(e.Attempt); a != nil {
				p.progressed(a, e)
			}
		case scheduler.AttemptEnded:
			if x := ended[e.Attempt]; x != nil {
				p.ended(x)
			}
		case scheduler.Outcome:
			p.outcome(e)
		}
	}
}

// progressed takes in how far an attempt is that executes.
func (p *Policy) progressed(a *view.Attempt, e scheduler.AttemptProgress) {
	w := p.book.Of(a)
	if w == nil || w.Publishes || a.Phase != scheduler.PhaseExecute {
		return
	}
	if p.estimator.Progress(of(w).tasks, uint64(a.ID), measure(a, a.Ran(e.At)), e.Progress) {
		p.book.Touch(w)
	}
}

// ended takes in the end of an attempt.
func (p *Policy) ended(x *view.Ended) {
	w := p.book.Of(x.Attempt)
	if w == nil || w.Publishes {
		return
	}
	if x.Event.Outcome == scheduler.Finished {
		// Ran counts on from Since, which for one that has ended is the end already.
		p.estimator.Finished(of(w).tasks, uint64(x.ID), measure(x.Attempt, x.Ran(x.Since)))
	} else {
		p.estimator.Gone(of(w).tasks, uint64(x.ID))
	}
}

// measure splits the time that an attempt has run.
func measure(a *view.Attempt, ran time.Duration) estimation.Measure {
	ran = max(ran, 0)
	shuffled := time.Duration(0)
	if a.Job().Info.Stages[a.Need.Stage].Shuffles {
		if shuffled = ran; a.Phase == scheduler.PhaseExecute {
			shuffled = min(max(a.PhaseSince.Sub(a.AssignedAt), 0), ran)
		}
	}
	return estimation.Measure{Shuffle: shuffled.Seconds(), Execute: (ran - shuffled).Seconds(), Bytes: a.Need.InputBytes}
}

// outcome takes in a refusal.
func (p *Policy) outcome(o scheduler.Outcome) {
	switch {
	case o.Kind == scheduler.DecisionPreempt && o.Accepted:
		p.memory.accepted(o.Preempt.For)
	case o.Kind == scheduler.DecisionPreempt:
		p.memory.refused(o)
		if o.Reason == scheduler.Unsupported && o.Preempt.Mode == scheduler.PreemptSuspend {
			for _, id := range o.Preempt.Victims {
				if a := p.view.Attempt(id); a != nil {
					p.memory.cannotSuspend(a.Launcher)
				}
			}
		}
	}
}

// settle takes over what became of a stage.
func (p *Policy) settle(s *stage) {
	p.saver.look(s)
	k := s.kind
	s.tasks.Tasks = s.Info().Groups
	if s.Came {
		p.estimator.Came(s.tasks)
	}
	s.size, s.trained = p.estimator.Size(s.tasks)
	s.early = p.isEarly(s)
	live := s.Came && !s.over && !s.Publishes
	switch {
	case !live:
	case s.early && s.job == nil:
		live = false // it comes when what it reads is there
	case s.Over():
		if s.job != nil {
			k.retire(s)
		}
		s.over, live = true, false // also of a snapshot, where it never came here
	case s.job == nil:
		s.job = k.cluster.Add(s.virtualID(), p.spec(s), 0)
		s.job.Owner = s
	default:
		k.cluster.Set(s.job, p.spec(s))
	}
	k.all = set(k.all, s, live)
	something := s.ReadyBundles > 0 || s.Suspended > 0
	k.urgent = set(k.urgent, s, something && !live && !s.early)
	k.early = set(k.early, s, s.early && (something || s.Held > 0))
	s.trains = live && !s.trained && !s.early
	k.training = set(k.training, s, s.trains)
	k.waiting = set(k.waiting, s, s.ReadyBundles > 0)
	k.soft = set(k.soft, s, s.Held > 0 && p.mode(s) != 0)
	k.leaving = set(k.leaving, s, s.Leaving > 0)
	if read := finished(s); read != s.read {
		s.read = read
		for _, w := range p.book.Stages(s.Job.ID()) {
			if slices.Contains(w.Info().After, s.ID()) {
				p.settle(of(w))
			}
		}
	}
}

// finished says whether all groups of a stage have finished, or it has none.
func finished(s *stage) bool {
	c := s.Job.Counts[s.ID()]
	return c.Waiting+c.Running == 0
}

func (p *Policy) isEarly(s *stage) bool {
	all := p.book.Stages(s.Job.ID())
	return slices.ContainsFunc(s.Info().After, func(id scheduler.StageID) bool { return int(id) < len(all) && !finished(of(all[id])) })
}

func (p *Policy) spec(s *stage) virtual.Spec {
	slots := int64(s.tasks.Tasks) * int64(max(s.tasks.Slots, 0))
	return virtual.Spec{Size: s.size, Weight: p.options.weight(s.Job.Info.Priority), Cap: int(min(slots, virtual.CapMax))}
}

// retire has a stage that has really ended go on virtually to its end.
func (k *kind) retire(s *stage) {
	k.cluster.Retire(s.job, s.size)
	s.job, s.over = nil, true
}

// part forgets a stage whose job ended.
func (p *Policy) part(s *stage) {
	k := s.kind
	switch {
	case s.job == nil:
	case s.Over():
		s.tasks.Tasks = s.Info().Groups
		s.size, _ = p.estimator.Size(s.tasks)
		k.retire(s)
	default:
		k.cluster.Remove(s.job)
		s.job = nil
	}
	for _, list := range []*[]*stage{&k.all, &k.urgent, &k.training, &k.waiting, &k.soft, &k.early, &k.leaving} {
		*list = set(*list, s, false)
	}
}
