package core

import (
	"fmt"
	"slices"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/prefetch"
	schedwire "github.com/hamadryad/hamadryad/sdk/scheduler/wire"
)

// policyAnswer applies a policy's decisions, each of which gets its outcome.
func (c *Core) policyAnswer(m *wire.PolicyAnswer) {
	p := &c.policy
	if p.current == nil || !p.inFlight || p.deciding != nil || p.current.number != m.GetGeneration() || p.asked != m.GetRound() {
		p.dropped++
		return
	}
	d, err := c.decode(m)
	if err != nil {
		c.breach(err.Error())
		return
	}
	p.deciding = &deciding{data: m.GetDecisions(), decisions: d}
	c.decide()
}

// expectedAnswer is what was read in an answer already.
type expectedAnswer struct {
	of        *wire.PolicyAnswer
	decisions scheduler.Decisions
}

// ExpectAnswer has the next step take the decisions of an answer that it brings as they
// were read when it came. The core becomes their owner.
func (c *Core) ExpectAnswer(of *wire.PolicyAnswer, d scheduler.Decisions) {
	c.answer = expectedAnswer{of, d}
}

// decode reads decisions and holds them against the limits.
func (c *Core) decode(m *wire.PolicyAnswer) (scheduler.Decisions, error) {
	l, b := c.set.PolicyLimits, m.GetDecisions()
	if len(b) > l.AnswerBytes {
		return scheduler.Decisions{}, fmt.Errorf("its answer has %d bytes, at most %d are allowed", len(b), l.AnswerBytes)
	}
	d := c.answer.decisions
	if c.answer.of != m {
		var err error
		if d, err = schedwire.DecodeDecisions(b); err != nil {
			return d, fmt.Errorf("its answer can't be read: %w", err)
		}
	}
	if n := len(d.Refuse) + len(d.Admit) + len(d.Preempt) + len(d.Resume) + len(d.Launch); n > l.Decisions {
		return d, fmt.Errorf("its answer has %d decisions, at most %d are allowed", n, l.Decisions)
	}
	if k := d.Checkpoint; k != nil && len(k.Data) > l.CheckpointBytes {
		return d, fmt.Errorf("its checkpoint has %d bytes, at most %d are allowed", len(k.Data), l.CheckpointBytes)
	}
	return d, nil
}

// decide applies the answer at hand, or as much of it as the step may do.
func (c *Core) decide() {
	p := &c.policy
	g, d := p.current, p.deciding
	if !c.apply(g, d) {
		return
	}
	p.deciding, p.inFlight = nil, false
	c.applyRest(g, &d.decisions)
	c.cutOver()
}

// apply applies decisions in the order of the contract; false when some are left. To start
// or to stop something tells the policy nothing by itself, so an outcome comes before all
// that follows from it.
func (c *Core) apply(g *generation, d *deciding) bool {
	round, list := c.policy.asked, &d.decisions
	outcome := func(kind scheduler.DecisionKind, i int, reason scheduler.RefusalReason, detail string) scheduler.Outcome {
		accepted := reason == scheduler.NotRefused
		c.stats.decision(kind, reason)
		return scheduler.Outcome{At: c.now, Round: round, Kind: kind, Index: i, Accepted: accepted, Reason: reason, Detail: detail}
	}
	refuse, admit, preempt, resume, launch := &d.done[0], &d.done[1], &d.done[2], &d.done[3], &d.done[4]
	for ; *refuse < len(list.Refuse) && c.spend(workDecide); *refuse++ {
		reason, why := c.refuse(list.Refuse[*refuse])
		c.tell(g, outcome(scheduler.DecisionRefuse, *refuse, reason, why))
	}
	for ; *admit < len(list.Admit) && c.spend(workDecide); *admit++ {
		reason, why := c.admit(list.Admit[*admit])
		c.tell(g, outcome(scheduler.DecisionAdmit, *admit, reason, why))
	}
	for ; *preempt < len(list.Preempt) && c.spend(workDecide); *preempt++ {
		x := list.Preempt[*preempt]
		known := c.gathered(x.Victims)
		reason, why := c.preempt(x)
		o := outcome(scheduler.DecisionPreempt, *preempt, reason, why)
		o.Preempt = x
		c.tell(g, o)
		if o.Accepted && len(known) > 0 {
			o.Preempt.Victims = known
			c.tell(c.policy.next, o)
		}
	}
	for ; *resume < len(list.Resume) && c.spend(workDecide); *resume++ {
		reason, why := c.resume(list.Resume[*resume])
		c.tell(g, outcome(scheduler.DecisionResume, *resume, reason, why))
	}
	for ; *launch < len(list.Launch) && c.spend(workDecide); *launch++ {
		if next := prefetch.Next(list.Launch, *launch); next != nil {
			c.prefetchLaunches(next)
		}
		x := list.Launch[*launch]
		ids, reason, why := c.launch(x)
		o := outcome(scheduler.DecisionLaunch, *launch, reason, why)
		o.Attempts, o.Launch = ids, x
		c.tell(g, o)
		if n := c.policy.next; n != nil && o.Accepted && n.gathering.hasBundle(c.bundles.Get(x.Bundle)) {
			c.tell(n, o)
		}
	}
	return *refuse == len(list.Refuse) && *admit == len(list.Admit) && *preempt == len(list.Preempt) && *resume == len(list.Resume) && *launch == len(list.Launch)
}

// gathered returns those of some victims that a generation that is being started knows:
// what happens to the others it sees when its snapshot comes to them.
func (c *Core) gathered(victims []scheduler.AttemptID) []scheduler.AttemptID {
	n := c.policy.next
	if n == nil || n.gathering == nil {
		return victims
	}
	return slices.DeleteFunc(slices.Clone(victims), func(id scheduler.AttemptID) bool {
		a := c.attempts.Get(id)
		return a == nil || !n.gathering.hasBundle(a.run.bundle)
	})
}

func (c *Core) applyRest(g *generation, d *scheduler.Decisions) {
	for i := range d.Answers {
		c.answerRequest(&d.Answers[i])
	}
	for _, v := range d.Settings {
		c.settingsVerdict(v)
	}
	for _, w := range d.Waiting {
		if j := c.jobs.get(w.Job); j != nil {
			w.Detail = c.short(w.Detail)
			j.policyWait = w
			c.touch(j)
		}
	}
	for _, n := range d.Notes {
		c.note(n)
	}
	g.wakeAt = d.WakeAt
	if d.Checkpoint != nil && g.abilities.Has(scheduler.AbilityCheckpoint) {
		c.policy.checkpoints[g.policy] = &policyCheckpoint{at: c.policy.askedAt, checkpoint: *d.Checkpoint}
	}
}
