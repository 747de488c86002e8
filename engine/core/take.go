package core

import (
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/engine/core/step"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/internal/prefetch"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// A step has two parts. Take takes one batch and decides all; what it returns is the round
// for the policy, if one starts: that thinks while the caller calls Rest, which says what
// else is to be done, and logs the batch. The batch and its messages must not be changed
// afterwards.
func (c *Core) Take(b *wire.Batch) *AskPolicy {
	c.step.Begin(scheduler.Time(b.GetAt()))
	c.feeds.Begin(c.step.Now, c.step.Set.CommandBytes)
	inputs := b.GetInputs()
	for i, in := range inputs {
		if next := prefetch.Next(inputs, i); next != nil {
			c.prefetchReports(next)
		}
		c.input(in)
	}
	c.goOn()
	c.expire()
	c.settle()
	c.drafts, c.answer = nil, expectedAnswer{}
	return c.startRound()
}

// Rest is the second part of a step: what is to be done beside the round, in order.
func (c *Core) Rest() []Action {
	c.tellChanged()
	todo := c.step.Todo()
	actions := make([]Action, len(todo))
	for i := range todo {
		if next := prefetch.Next(todo, i); next != nil {
			prefetchSpecs(next)
		}
		actions[i] = c.action(&todo[i])
	}
	c.step.Done()
	return actions
}

// Step is both parts one after the other. The round is the first action.
func (c *Core) Step(b *wire.Batch) []Action {
	ask := c.Take(b)
	actions := c.Rest()
	if ask == nil {
		return actions
	}
	return append([]Action{*ask}, actions...)
}

// action is what is to be done: as it was said, or to start an attempt, of which the
// command is written now.
func (c *Core) action(t *step.Todo) Action {
	a, later := t.Later.(*attempt)
	if !later {
		return t.Action
	}
	m := c.startCommand(a)
	m.Term, m.Incarnation = c.step.Term, t.Incarnation
	c.step.Stats.Commands++
	return ToLauncher{Launcher: a.launcher.ID, Command: m}
}

// settle does what is done once a step, after all that happened and before the round.
func (c *Core) settle() {
	if c.capacity.TakeReplaced() {
		c.checkPlaceable()
		c.relaxAvoid()
	}
	if c.capacity.TakeRoomier() {
		c.resumeSuspended()
	}
	c.flushSources()
	c.watchStall()
}

func (c *Core) input(in *wire.Input) {
	switch w := in.GetWhat().(type) {
	case *wire.Input_Report:
		c.report(w.Report)
	case *wire.Input_PolicyAnswer:
		c.policyAnswer(w.PolicyAnswer)
	case *wire.Input_Prepare:
		c.prepare(w.Prepare)
	case *wire.Input_Submit:
		c.submit(w.Submit)
	case *wire.Input_KillJob:
		c.killJob(w.KillJob)
	case *wire.Input_UpdateJob:
		c.updateJob(w.UpdateJob)
	case *wire.Input_LauncherJoin:
		c.join(w.LauncherJoin.GetJoin())
	case *wire.Input_LauncherLost:
		c.launcherLost(w.LauncherLost)
	case *wire.Input_Drain:
		c.drain(w.Drain)
	case *wire.Input_PolicyStart:
		c.policyStart(w.PolicyStart)
	case *wire.Input_PolicyStarted:
		c.policyStarted(w.PolicyStarted)
	case *wire.Input_PolicyFailed:
		c.policyFailed(w.PolicyFailed.GetGeneration(), w.PolicyFailed.GetReason())
	case *wire.Input_Settings:
		c.policy.ChangeSettings(&c.step, w.Settings)
	case *wire.Input_Note:
		c.policy.Note(&c.step, scheduler.Note{Name: w.Note.GetName(), Body: w.Note.GetBody()})
	case *wire.Input_Request:
		c.policy.Request(&c.step, &c.ids.Request, w.Request)
	case *wire.Input_ManagerStart:
		c.managerStart(w.ManagerStart)
	case *wire.Input_Site:
		c.site(w.Site)
	}
}

// managerStart opens a life of the manager: the policy's processes of the last
// one are gone, and clients have to ask again.
func (c *Core) managerStart(m *wire.ManagerStart) {
	c.step.Term = max(m.GetTerm(), c.step.Term+1)
	c.ids.Begin(c.step.Now, time.Duration(m.GetAgeNs()))
	c.lossTold = false
	c.dropPolicies()
	for j := range c.jobs.All() {
		j.client, j.outlived = 0, true
	}
}

// site takes over the site's settings. Settings that can't work change nothing.
func (c *Core) site(m *wire.SiteSettings) {
	s, err := ParseSettings(m.GetJson())
	if err != nil {
		c.step.Log(Error, "the new settings of the core were not taken over", "error", err.Error())
		return
	}
	c.step.Set = s
}

func (c *Core) tellChanged() {
	if len(c.changed) == 0 {
		return
	}
	ids := make([]scheduler.JobID, len(c.changed))
	var ended []scheduler.JobID
	for i, j := range c.changed {
		ids[i], j.touched = j.id, false
		if c.jobs.Get(j.id) == nil {
			ended = append(ended, j.id)
		}
	}
	slices.Sort(ids)
	slices.Sort(ended)
	c.step.Act(JobsChanged{Jobs: ids, Ended: ended})
	clear(c.changed)
	c.changed = c.changed[:0]
}
