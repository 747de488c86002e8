package core

import (
	"time"

	"github.com/hamadryad/hamadryad/engine/core/internal/ids"
	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/internal/prefetch"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// A step has two parts. Take takes one batch and decides all; what it returns is the round
// for the policy, if one starts: that thinks while the caller calls Rest, which says what
// else is to be done, and logs the batch. The batch and its messages must not be changed
// afterwards.
func (c *Core) Take(b *wire.Batch) *AskPolicy {
	c.rooms.Step.Begin(scheduler.Time(b.GetAt()))
	c.rooms.Dispatch.Feeds.Begin(c.rooms.Step.Now, c.rooms.Step.Set.CommandBytes)
	inputs := b.GetInputs()
	for i, in := range inputs {
		if next := prefetch.Next(inputs, i); next != nil {
			c.rooms.Cluster.PrefetchReports(next)
		}
		c.input(in)
	}
	c.continueWork()
	c.expire()
	c.endStep()
	c.rooms.Admission.DropExpected()
	c.rooms.Rounds.DropExpected()
	return c.rooms.Rounds.StartRound()
}

// Rest is the second part of a step: what is to be done beside the round, in order.
func (c *Core) Rest() []Action {
	news, tells := c.Facts()
	c.emitChangedJobs()
	todo := c.rooms.Step.Effects()
	actions := make([]Action, 0, len(todo)+1)
	if tells {
		actions = append(actions, news)
	}
	for i := range todo {
		if next := prefetch.Next(todo, i); next != nil {
			state.PrefetchSpecs(next)
		}
		actions = append(actions, c.action(&todo[i]))
	}
	c.rooms.Step.End()
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
func (c *Core) action(t *step.Effect) Action {
	a, later := t.Deferred.(*state.Attempt)
	if !later {
		return t.Action
	}
	m := c.rooms.Dispatch.StartCommand(a)
	m.Term, m.Incarnation = c.rooms.Step.Term, t.Incarnation
	c.rooms.Step.Stats.Commands++
	return ToLauncher{Launcher: a.Launcher.ID, Command: m}
}

// settle does what is done once a step, after all that happened and before the round.
func (c *Core) endStep() {
	if c.rooms.Resources.TakeTopologyChanged() {
		c.rooms.Bundles.ChooseKinds()
		c.rooms.Admission.CheckPlaceable()
		c.rooms.Bundles.RelaxExclusions()
	}
	if c.rooms.Resources.TakeCapacityFreed() {
		c.rooms.Attempts.ResumeSuspended()
	}
	c.rooms.Attempts.StartFinishers()
	c.rooms.Dispatch.FlushSources()
	c.rooms.Rounds.WatchStall()
}

func (c *Core) input(in *wire.Input) {
	switch w := in.GetWhat().(type) {
	case *wire.Input_Report:
		c.rooms.Membership.Report(w.Report)
	case *wire.Input_PolicyAnswer:
		c.rooms.Rounds.Answer(w.PolicyAnswer)
	case *wire.Input_Prepare:
		c.rooms.Admission.ReserveID(w.Prepare)
	case *wire.Input_Submit:
		c.rooms.Admission.Submit(w.Submit)
	case *wire.Input_KillJob:
		c.rooms.Admission.KillJob(w.KillJob)
	case *wire.Input_UpdateJob:
		c.rooms.Admission.UpdateJob(w.UpdateJob)
	case *wire.Input_LauncherJoin:
		c.rooms.Membership.Join(w.LauncherJoin.GetJoin())
	case *wire.Input_LauncherLost:
		c.rooms.Membership.LauncherLost(w.LauncherLost)
	case *wire.Input_Drain:
		c.rooms.Membership.Drain(w.Drain)
	case *wire.Input_PolicyStart:
		c.rooms.Rounds.Start(w.PolicyStart)
	case *wire.Input_PolicyStarted:
		c.rooms.Rounds.Started(w.PolicyStarted)
	case *wire.Input_PolicyFailed:
		c.rooms.Rounds.Failed(w.PolicyFailed.GetGeneration(), w.PolicyFailed.GetReason())
	case *wire.Input_Settings:
		c.rooms.Policy.ChangeSettings(&c.rooms.Step, w.Settings)
	case *wire.Input_Note:
		c.rooms.Policy.Note(&c.rooms.Step, w.Note.GetGeneration(), scheduler.Note{Name: w.Note.GetName(), Body: w.Note.GetBody()})
	case *wire.Input_Request:
		c.rooms.Policy.Request(&c.rooms.Step, &c.rooms.IDs.Request, w.Request)
	case *wire.Input_ManagerStart:
		c.managerStart(w.ManagerStart)
	case *wire.Input_Site:
		c.site(w.Site)
	}
}

// managerStart opens a life of the manager: the policy's processes of the last
// one are gone, and clients have to ask again.
func (c *Core) managerStart(m *wire.ManagerStart) {
	c.rooms.Step.Term = max(m.GetTerm(), c.rooms.Step.Term+1)
	c.rooms.IDs.BeginLife(ids.Start{
		Now: c.rooms.Step.Now, Age: time.Duration(m.GetAgeNs()), Above: m.GetJobsAbove(), Known: m.GetJobsKnown(), Given: m.GetJobsGiven(),
	})
	c.rooms.Membership.LossTold = false
	c.rooms.Rounds.DropPolicies()
	for j := range c.rooms.Cluster.Jobs.All() {
		j.Client = 0
		j.OutputCommit.SurviveRestart()
	}
}

// site takes over the site's settings. Settings that can't work change nothing.
func (c *Core) site(m *wire.SiteSettings) {
	s, err := ParseSettings(m.GetJson())
	if err != nil {
		c.rooms.Step.Log(Error, "the new settings of the core were not taken over", "error", err.Error())
		return
	}
	c.rooms.Step.Set = s
}

func (c *Core) emitChangedJobs() {
	if ids, ended := c.rooms.Cluster.DrainChangedJobs(); len(ids) > 0 {
		c.rooms.Step.Emit(JobsChanged{Jobs: ids, Ended: ended})
	}
}
