package simulator

import (
	"fmt"
	"strings"
	"time"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

const jobSucceeded = wire.JobState_JOB_STATE_SUCCEEDED

const jobKilled = wire.JobState_JOB_STATE_KILLED

// policyDriver is the shell's part of the policy: it starts generations, asks
// them with the time they take, and starts them again when they fail.
type policyDriver struct {
	generation uint64 // the last that was asked for
	kinds      map[uint64]Policy
	lives      map[uint64]*life
	current    *life
	everBad    bool
	now        scheduler.Time // of the last round
}

// life is one generation, and the view that is held against the core.
type life struct {
	number  uint64
	kind    Policy
	policy  scheduler.TaskScheduler
	mirror  view.View
	dead    bool
	round   uint64
	fit     map[scheduler.BundleID]bool // launches of the last answer that fit what it had been told
	pending map[decision]bool           // decisions without an outcome
	refused map[scheduler.BundleID]int  // how often in a row a bundle found no capacity
}

type decision struct {
	kind  scheduler.DecisionKind
	index int
}

// startPolicy asks the core for a new generation.
func (s *Sim) startPolicy() {
	s.policy.generation++
	kind := s.draw()
	if s.policy.kinds == nil {
		s.policy.kinds = map[uint64]Policy{}
	}
	s.policy.kinds[s.policy.generation] = kind
	s.Push(wire.NewInput(&wire.PolicyStart{Generation: s.policy.generation, Policy: kind.Name}))
}

// draw picks the next generation's kind: a good one when the faults have ended.
func (s *Sim) draw() Policy {
	for {
		p := s.opt.Policies[s.rand.IntN(len(s.opt.Policies))]
		if !p.Bad || !s.calm {
			return p
		}
	}
}

func (d *policyDriver) forget() {
	for _, l := range d.lives {
		l.dead = true
	}
	d.lives, d.current = nil, nil
}

func (d *policyDriver) start(s *Sim, a core.StartPolicy) {
	if d.lives == nil {
		d.lives = map[uint64]*life{}
	}
	l := &life{number: a.Generation, kind: d.kinds[a.Generation]}
	l.policy = l.kind.New()
	d.everBad = d.everBad || l.kind.Bad
	d.lives[a.Generation] = l
	s.Seen["policy "+l.kind.Name]++
	snapshot := a.Snapshot()
	if err := l.mirror.Start(snapshot); err != nil {
		s.fail("the snapshot for generation %d: %v", a.Generation, err)
		return
	}
	if s.chance(200) {
		pages, err := schedwire.EncodeSnapshot(&snapshot)
		if err == nil {
			_, err = schedwire.DecodeSnapshot(pages)
		}
		if err != nil {
			s.fail("the snapshot for generation %d: %v", a.Generation, err)
			return
		}
	}
	s.After(s.upTo(500*time.Millisecond), func() { d.begin(s, l, snapshot, a.Environment) })
}

// begin starts the policy; some do not.
func (d *policyDriver) begin(s *Sim, l *life, snapshot scheduler.Snapshot, env scheduler.Environment) {
	if l.dead {
		return
	}
	about, err := l.policy.Start(scheduler.Config{}, snapshot, env)
	if err != nil && !l.kind.Bad {
		s.fail("policy %s does not start: %v", l.kind.Name, err)
		return
	}
	if err != nil || !s.calm && s.chance(50) {
		d.failed(s, l, "it did not start")
		return
	}
	s.Push(wire.NewPolicyStarted(l.number, about))
}

// failed tells of a generation's end, and starts another.
func (d *policyDriver) failed(s *Sim, l *life, why string) {
	if l.dead {
		return
	}
	l.dead = true
	delete(d.lives, l.number)
	s.Seen["policy failures"]++
	s.Push(wire.NewInput(&wire.PolicyFailed{Generation: l.number, Reason: why}))
	s.After(s.between(10*time.Millisecond, 2*time.Second), func() {
		if len(d.lives) == 0 {
			s.startPolicy()
		}
	})
}

func (d *policyDriver) gone(s *Sim, a core.PolicyGone) {
	l := d.lives[a.Generation]
	if l == nil {
		return
	}
	l.dead = true
	l.policy.Terminate()
	delete(d.lives, a.Generation)
	if a.Breach != "" {
		s.Seen["breaches"]++
		if !l.kind.Bad {
			s.fail("policy %s: %s", l.kind.Name, a.Breach)
		}
	}
	if len(d.lives) == 0 {
		s.After(s.upTo(time.Second), func() {
			if len(d.lives) == 0 {
				s.startPolicy()
			}
		})
	}
}

// ask gives a round to a generation, and its answer back after it thought.
func (d *policyDriver) ask(s *Sim, a core.AskPolicy) {
	l := d.lives[a.Generation]
	if l == nil {
		if d.everBad || s.Seen["policy failures"] > 0 || s.Seen["manager restarts"] > 0 {
			return // it died a moment ago; the core is being told
		}
		s.fail("generation %d is asked and not there", a.Generation)
		return
	}
	s.Seen["rounds"]++
	s.checkRound(l, a.Round)
	if s.err != nil {
		return
	}
	answer, err := l.answer(*a.Round)
	if err != nil {
		if !l.kind.Bad {
			s.fail("policy %s: %v", l.kind.Name, err)
		}
		d.failed(s, l, err.Error())
		return
	}
	if !s.calm && s.chance(3) {
		d.failed(s, l, "it crashed")
		return
	}
	think := s.upTo(20 * time.Millisecond)
	if !s.calm && s.chance(10) {
		think = s.upTo(3 * time.Second)
	}
	if !s.calm && s.chance(2) {
		s.Seen["hung policies"]++
		think = roundDeadline + s.upTo(3*time.Second)
		s.After(roundDeadline, func() { d.failed(s, l, "no answer in time") })
	}
	s.After(think, func() { s.answered(l, a.Round.Number, answer) })
}

// roundDeadline is how long a policy may think.
const roundDeadline = 5 * time.Second

// answered passes on an answer, now and then twice. That of a generation that is
// gone may still come, too late.
func (s *Sim) answered(l *life, round uint64, data []byte) {
	m := &wire.PolicyAnswer{Generation: l.number, Round: round, Decisions: data}
	if l.dead {
		if s.calm || s.chance(500) {
			return
		}
		s.Seen["late answers"]++
	}
	s.Push(wire.NewInput(m))
	if !s.calm && s.chance(5) {
		s.Seen["doubled answers"]++
		s.After(s.upTo(time.Second), func() { s.Push(wire.NewInput(m)) })
	}
}

// answer has the policy decide. A panic is a crash of its process.
func (l *life) answer(r scheduler.Round) (data []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("it panicked: %v", p)
		}
	}()
	d, err := l.policy.AssignTasks(r)
	if err != nil {
		return nil, err
	}
	l.pending = map[decision]bool{}
	l.round = r.Number
	l.fit = l.fitting(&d)
	for kind, n := range map[scheduler.DecisionKind]int{
		scheduler.DecisionRefuse: len(d.Refuse), scheduler.DecisionAdmit: len(d.Admit), scheduler.DecisionPreempt: len(d.Preempt),
		scheduler.DecisionResume: len(d.Resume), scheduler.DecisionLaunch: len(d.Launch),
	} {
		for i := range n {
			l.pending[decision{kind, i}] = true
		}
	}
	return schedwire.EncodeDecisions(&d)
}

// fitting lists the launches of an answer that fit the offers. One with other
// decisions in it, which come first, tells nothing.
func (l *life) fitting(d *scheduler.Decisions) map[scheduler.BundleID]bool {
	fit := map[scheduler.BundleID]bool{}
	if len(d.Preempt)+len(d.Resume) > 0 {
		return fit
	}
	mark := l.mirror.Mark()
	defer l.mirror.Undo(mark)
	for _, x := range d.Launch {
		b := l.mirror.Bundle(x.Bundle)
		if b == nil || len(x.Launchers) != len(b.Groups) {
			continue
		}
		all := true
		for i, id := range x.Launchers {
			at := l.mirror.Launcher(id)
			all = all && at != nil && l.mirror.TakeFor(at, b, &b.Groups[i])
		}
		fit[x.Bundle] = all
	}
	return fit
}

// refusedMax bounds how often in a row a policy may find no capacity for a bundle
// where it thought there was some: what it was told changes as it thinks, but what it
// was told must be so.
const refusedMax = 10

// checkCapacity counts refusals that a policy should not meet again and again.
func (s *Sim) checkCapacity(l *life, o scheduler.Outcome) {
	b := o.Launch.Bundle
	if o.Kind != scheduler.DecisionLaunch || !l.fit[b] {
		return
	}
	if o.Accepted || o.Reason != scheduler.NoCapacity {
		delete(l.refused, b)
		return
	}
	if l.refused == nil {
		l.refused = map[scheduler.BundleID]int{}
	}
	if l.refused[b]++; l.refused[b] > refusedMax {
		s.fail("policy %s finds no capacity for bundle %d, %d times in a row: %s", l.kind.Name, b, l.refused[b], o.Detail)
	}
}

// checkRound holds a round against the contract and the core's own state.
func (s *Sim) checkRound(l *life, r *scheduler.Round) {
	for _, e := range r.Events {
		o, ok := e.(scheduler.Outcome)
		if !ok || o.Round != l.round {
			continue // a generation may be told of launches by the one before
		}
		key := decision{o.Kind, o.Index}
		if !l.pending[key] {
			s.fail("round %d: decision %v has an outcome it was not waited for: %+v", r.Number, key, o)
		}
		delete(l.pending, key)
		s.checkCapacity(l, o)
		if o.Accepted {
			s.Seen["accepted "+o.Kind.String()]++
		} else {
			s.Seen["refused: "+o.Reason.String()]++
		}
	}
	if r.Now <= s.policy.now {
		s.fail("round %d is at %d, and the one before was at %d", r.Number, r.Now, s.policy.now)
	}
	s.policy.now = r.Now
	if len(l.pending) > 0 {
		s.fail("round %d: %d decisions of round %d have no outcome", r.Number, len(l.pending), l.round)
	}
	for _, e := range r.Events {
		s.Seen[strings.TrimPrefix(fmt.Sprintf("%T", e), "scheduler.")]++
		if e.When() > r.Now {
			s.fail("round %d of %d tells what happens at %d", r.Number, r.Now, e.When())
		}
	}
	if err := l.mirror.Apply(*r); err != nil {
		s.fail("%v", err)
		return
	}
	if got, want := l.mirror.World(), s.Core.World(); !sameWorld(got, want) {
		s.fail("round %d: the view is not the state:\nview\n%s\nstate\n%s", r.Number, got, want)
	}
	if s.chance(100) {
		data, err := schedwire.EncodeRound(r)
		if err == nil {
			_, err = schedwire.DecodeRound(data)
		}
		if err != nil {
			s.fail("round %d can't be sent: %v", r.Number, err)
		}
	}
}
