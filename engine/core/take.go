package core

import (
	"time"

	"github.com/hamadryad/hamadryad/engine/core/life"
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
	c.orders.Feeds.Begin(c.step.Now, c.step.Set.CommandBytes)
	inputs := b.GetInputs()
	for i, in := range inputs {
		if next := prefetch.Next(inputs, i); next != nil {
			c.life.PrefetchReports(next)
		}
		c.input(in)
	}
	c.goOn()
	c.expire()
	c.settle()
	c.admission.Forget()
	c.decisions.Forget()
	return c.decisions.StartRound()
}

// Rest is the second part of a step: what is to be done beside the round, in order.
func (c *Core) Rest() []Action {
	c.tellChanged()
	todo := c.step.Todo()
	actions := make([]Action, len(todo))
	for i := range todo {
		if next := prefetch.Next(todo, i); next != nil {
			life.PrefetchSpecs(next)
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
	a, later := t.Later.(*life.Attempt)
	if !later {
		return t.Action
	}
	m := c.orders.StartCommand(a)
	m.Term, m.Incarnation = c.step.Term, t.Incarnation
	c.step.Stats.Commands++
	return ToLauncher{Launcher: a.Launcher.ID, Command: m}
}

// settle does what is done once a step, after all that happened and before the round.
func (c *Core) settle() {
	if c.capacity.TakeReplaced() {
		c.admission.CheckPlaceable()
		c.bundles.RelaxAvoid()
	}
	if c.capacity.TakeRoomier() {
		c.attempts.ResumeSuspended()
	}
	c.orders.FlushSources()
	c.decisions.WatchStall()
}

func (c *Core) input(in *wire.Input) {
	switch w := in.GetWhat().(type) {
	case *wire.Input_Report:
		c.sessions.Report(w.Report)
	case *wire.Input_PolicyAnswer:
		c.decisions.Answer(w.PolicyAnswer)
	case *wire.Input_Prepare:
		c.admission.Prepare(w.Prepare)
	case *wire.Input_Submit:
		c.admission.Submit(w.Submit)
	case *wire.Input_KillJob:
		c.admission.KillJob(w.KillJob)
	case *wire.Input_UpdateJob:
		c.admission.UpdateJob(w.UpdateJob)
	case *wire.Input_LauncherJoin:
		c.sessions.Join(w.LauncherJoin.GetJoin())
	case *wire.Input_LauncherLost:
		c.sessions.LauncherLost(w.LauncherLost)
	case *wire.Input_Drain:
		c.sessions.Drain(w.Drain)
	case *wire.Input_PolicyStart:
		c.decisions.Start(w.PolicyStart)
	case *wire.Input_PolicyStarted:
		c.decisions.Started(w.PolicyStarted)
	case *wire.Input_PolicyFailed:
		c.decisions.Failed(w.PolicyFailed.GetGeneration(), w.PolicyFailed.GetReason())
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
	c.sessions.LossTold = false
	c.decisions.DropPolicies()
	for j := range c.life.Jobs.All() {
		j.Client = 0
		j.Publishing.Outlive()
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
	if ids, ended := c.life.TakeChanged(); len(ids) > 0 {
		c.step.Act(JobsChanged{Jobs: ids, Ended: ended})
	}
}
