package cluster

import (
	"fmt"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// vainMax is how many preemptions in a row may be refused before the policy is
// said to ask in vain for ever.
const vainMax = 200

// Apply takes the answer to a round, in the contract's order. Each decision gets
// one outcome in the next round.
func (c *Cluster) Apply(round uint64, d scheduler.Decisions) {
	if !c.awaits(round) {
		c.fault("an answer to round %d was dropped", round)
		return
	}
	for i, x := range d.Refuse {
		c.outcome(scheduler.Outcome{Kind: scheduler.DecisionRefuse, Index: i}, c.refuse(x))
	}
	for i, x := range d.Admit {
		c.outcome(scheduler.Outcome{Kind: scheduler.DecisionAdmit, Index: i}, c.letIn(x))
	}
	for i, x := range d.Preempt {
		reason, runs := c.preempt(x)
		t := c.outcome(scheduler.Outcome{Kind: scheduler.DecisionPreempt, Index: i, Preempt: x}, reason)
		for _, r := range runs {
			r.goneSince(t)
		}
	}
	for i, x := range d.Resume {
		reason, r := c.mayResume(x)
		o := scheduler.Outcome{Kind: scheduler.DecisionResume, Index: i}
		if reason != scheduler.NotRefused {
			c.outcome(o, reason)
			continue
		}
		o.Attempts = r.ids()
		c.addHistory(r.bundle, c.outcome(o, reason))
		c.resume(r)
	}
	for i, x := range d.Launch {
		c.applyLaunch(i, x)
	}
	c.wake(d.WakeAt)
	c.answers(d)
}

// outcome tells what became of a decision. A refusal that no race excuses is the
// policy's fault; protection and the arithmetic of a preemption are the
// manager's, and may be tried.
func (c *Cluster) outcome(o scheduler.Outcome, reason scheduler.RefusalReason) emission {
	o.At, o.Round, o.Accepted, o.Reason = c.Now(), c.last(), reason == scheduler.NotRefused, reason
	if o.Kind == scheduler.DecisionPreempt {
		c.tallyRefusal(reason)
	}
	switch {
	case reason == scheduler.NotRefused:
		if o.Kind == scheduler.DecisionPreempt {
			c.vain = 0
		}
	case reason == scheduler.Protected, reason == scheduler.NothingGained:
		if c.vain++; c.vain == vainMax {
			c.fault("%d preemptions in a row were refused, the last because %s", vainMax, reason)
		}
	case c.excused():
		c.Tally.StaleRefusals++
	default:
		c.fault("%s %d of round %d was refused: %s%s", o.Kind, o.Index, o.Round, reason, decided(o))
	}
	return c.emit(o)
}

func (c *Cluster) tallyRefusal(reason scheduler.RefusalReason) {
	if reason != scheduler.NotRefused {
		c.Tally.PreemptionsRefused++
	}
	switch reason {
	case scheduler.Protected:
		c.Tally.Protected++
	case scheduler.NothingGained:
		c.Tally.NothingGained++
	}
}

// decided tells what a refused launch or preemption was; other decisions are told
// by their number.
func decided(o scheduler.Outcome) string {
	switch o.Kind {
	case scheduler.DecisionLaunch:
		return fmt.Sprintf(" (%v on launchers %d)", o.Launch.Bundle, o.Launch.Launchers)
	case scheduler.DecisionPreempt:
		return fmt.Sprintf(" (%s of attempts %d for %s)", o.Preempt.Mode, o.Preempt.Victims, o.Preempt.For)
	}
	return ""
}

func (c *Cluster) applyLaunch(i int, x scheduler.Launch) {
	o := scheduler.Outcome{Kind: scheduler.DecisionLaunch, Index: i, Launch: x}
	b, reason := c.mayLaunch(x)
	if reason != scheduler.NotRefused {
		c.outcome(o, reason)
		return
	}
	for i := range b.groups {
		c.reservations.draw(b.job.id(), b.id, x.Launchers[i], b.group(i))
	}
	o.Attempts = c.launch(b, x.Launchers)
	c.releaseOf(b)
	c.Tally.Launches++
	c.addHistory(b, c.outcome(o, scheduler.NotRefused))
}

func (c *Cluster) mayLaunch(x scheduler.Launch) (*bundle, scheduler.RefusalReason) {
	b := c.bundle(x.Bundle)
	switch {
	case b == nil:
		return nil, scheduler.UnknownID
	case !b.launchable():
		return nil, scheduler.NotReady
	case len(x.Launchers) != len(b.groups):
		return nil, scheduler.WrongShape
	}
	for _, id := range x.Launchers {
		switch l := c.get(id); {
		case !c.everKnown(id):
			return nil, scheduler.UnknownID
		case l == nil || l.closed() || slices.Contains(b.excluded(), id):
			return nil, scheduler.LauncherUnavailable
		}
	}
	r := c.room(b.job.id(), b.id)
	for i, id := range x.Launchers {
		g := b.groups[i]
		if !r.take(id, g.Kind, g.Slots, g.Memory) {
			return nil, scheduler.NoCapacity
		}
	}
	return b, scheduler.NotRefused
}

func (c *Cluster) mayResume(x scheduler.Resume) (scheduler.RefusalReason, *run) {
	a := c.attempt(x.Attempt)
	switch {
	case a == nil:
		return scheduler.UnknownID, nil
	case !a.suspended() || a.run.leaves():
		return scheduler.NotSuspended, nil
	case !c.resumable(a.run, nil, 0):
		return scheduler.NoCapacity, nil
	}
	return scheduler.NotRefused, a.run
}

func (c *Cluster) letIn(x scheduler.Admit) scheduler.RefusalReason {
	j, reason := c.takeAsked(x.Job)
	if j != nil {
		c.Tally.Admitted++
		c.admit(j)
	}
	return reason
}

func (c *Cluster) refuse(x scheduler.Refuse) scheduler.RefusalReason {
	j, reason := c.takeAsked(x.Job)
	if j != nil {
		c.Tally.RefusedJobs++
		if x.Reason == "" {
			c.fault("%s was refused without a reason", x.Job)
		}
	}
	return reason
}

// answers takes what needs no outcome.
func (c *Cluster) answers(d scheduler.Decisions) {
	for _, a := range d.Answers {
		c.answered(a)
	}
	for _, s := range d.Settings {
		if c.judged(s) && s.Abilities != 0 {
			c.able(s.Abilities)
		}
	}
	for _, w := range d.Waiting {
		if c.job(w.Job) == nil && !c.excused() {
			c.fault("a reason for waiting of %s, which is not live", w.Job)
		}
	}
	c.posted(d.Notes, d.Checkpoint)
}

// able takes over what the policy says it can do from now on.
func (c *Cluster) able(a scheduler.Ability) {
	heard := c.Abilities.Has(scheduler.AbilityLoad)
	if c.Abilities = a; !heard && a.Has(scheduler.AbilityLoad) {
		c.emitLoads()
	}
}
