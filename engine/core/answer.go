package core

import (
	"fmt"
	"slices"

	"github.com/hamadryad/hamadryad/engine/core/exchange"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/internal/prefetch"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire"
)

// policyAnswer applies a policy's decisions, each of which gets its outcome.
func (c *Core) policyAnswer(m *wire.PolicyAnswer) {
	if !c.policy.Answers(m.GetGeneration(), m.GetRound()) {
		return
	}
	d, err := c.decode(m)
	if err != nil {
		c.breach(err.Error())
		return
	}
	c.policy.Decide(m.GetDecisions(), d)
	c.decide()
}

// ExpectAnswer has the next step take the decisions of an answer that it brings as they
// were read when it came. The core becomes their owner.
func (c *Core) ExpectAnswer(of *wire.PolicyAnswer, d scheduler.Decisions) {
	c.answer = expectedAnswer{of, d}
}

// decode reads decisions and holds them against the limits.
func (c *Core) decode(m *wire.PolicyAnswer) (scheduler.Decisions, error) {
	l, b := c.step.Set.PolicyLimits, m.GetDecisions()
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
	d := c.policy.Deciding()
	if !c.apply(d) {
		return
	}
	c.policy.Decided()
	c.applyRest(&d.Decisions)
	c.cutOver()
}

// apply applies decisions in the order of the contract; false when some are left. To start
// or to stop something tells the policy nothing by itself, so an outcome comes before all
// that follows from it.
func (c *Core) apply(d *exchange.Deciding) bool {
	round, list := c.policy.Asked(), &d.Decisions
	outcome := func(kind scheduler.DecisionKind, i int, reason scheduler.RefusalReason, detail string) scheduler.Outcome {
		accepted := reason == scheduler.NotRefused
		c.step.Stats.Decision(kind, reason)
		if !accepted {
			c.policy.Refused()
		}
		return scheduler.Outcome{At: c.step.Now, Round: round, Kind: kind, Index: i, Accepted: accepted, Reason: reason, Detail: detail}
	}
	refuse, admit, preempt, resume, launch := &d.Done[0], &d.Done[1], &d.Done[2], &d.Done[3], &d.Done[4]
	for ; *refuse < len(list.Refuse) && c.step.Spend(workDecide); *refuse++ {
		reason, why := c.refuse(list.Refuse[*refuse])
		c.policy.Tell(outcome(scheduler.DecisionRefuse, *refuse, reason, why))
	}
	for ; *admit < len(list.Admit) && c.step.Spend(workDecide); *admit++ {
		reason, why := c.admit(list.Admit[*admit])
		c.policy.Tell(outcome(scheduler.DecisionAdmit, *admit, reason, why))
	}
	for ; *preempt < len(list.Preempt) && c.step.Spend(workDecide); *preempt++ {
		x := list.Preempt[*preempt]
		known := c.gathered(x.Victims)
		reason, why := c.preempt(x)
		o := outcome(scheduler.DecisionPreempt, *preempt, reason, why)
		o.Preempt = x
		c.policy.Tell(o)
		if o.Accepted && len(known) > 0 {
			o.Preempt.Victims = known
			c.policy.TellNext(o)
		}
	}
	for ; *resume < len(list.Resume) && c.step.Spend(workDecide); *resume++ {
		reason, why := c.resume(list.Resume[*resume])
		c.policy.Tell(outcome(scheduler.DecisionResume, *resume, reason, why))
	}
	for ; *launch < len(list.Launch) && c.step.Spend(workDecide); *launch++ {
		if next := prefetch.Next(list.Launch, *launch); next != nil {
			c.prefetchLaunches(next)
		}
		x := list.Launch[*launch]
		ids, reason, why := c.launch(x)
		o := outcome(scheduler.DecisionLaunch, *launch, reason, why)
		o.Attempts, o.Launch = ids, x
		c.policy.Tell(o)
		if b := c.bundles.Get(x.Bundle); o.Accepted && c.policy.NextKnows(b.job.id, b.index) {
			c.policy.TellNext(o)
		}
	}
	return *refuse == len(list.Refuse) && *admit == len(list.Admit) && *preempt == len(list.Preempt) && *resume == len(list.Resume) && *launch == len(list.Launch)
}

// gathered returns those of some victims that a generation that is being started knows:
// what happens to the others it sees when its snapshot comes to them.
func (c *Core) gathered(victims []scheduler.AttemptID) []scheduler.AttemptID {
	if c.policy.Gathering() == nil {
		return victims
	}
	return slices.DeleteFunc(slices.Clone(victims), func(id scheduler.AttemptID) bool {
		a := c.attempts.Get(id)
		return a == nil || !c.policy.NextKnows(a.run.bundle.job.id, a.run.bundle.index)
	})
}

func (c *Core) applyRest(d *scheduler.Decisions) {
	for i := range d.Answers {
		c.policy.Answer(&c.step, &d.Answers[i])
	}
	for _, v := range d.Settings {
		c.settingsVerdict(v)
	}
	for _, w := range d.Waiting {
		if j := c.jobs.Get(w.Job); j != nil {
			w.Detail = c.step.Short(w.Detail)
			j.policyWait = w
			c.touch(j)
		}
	}
	for _, n := range d.Notes {
		c.policy.Note(&c.step, n)
	}
	c.policy.WakeAt(d.WakeAt)
	if d.Checkpoint != nil && c.policy.Has(scheduler.AbilityCheckpoint) {
		c.policy.KeepCheckpoint(*d.Checkpoint)
	}
}
