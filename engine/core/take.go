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

// Decide is the first part of a step: it takes one batch and decides everything. It returns the
// round for the policy, if one starts, which thinks while the caller calls Effects and logs the
// batch. The batch and its messages must not be changed afterwards.
func (c *Core) Decide(b *wire.Batch) *AskPolicy {
	c.state.Step.Begin(scheduler.Time(b.GetAt()))
	c.outbound.Dispatch.Feeds.Begin(c.state.Step.Now, c.state.Step.Set.CommandBytes)
	inputs := b.GetInputs()
	for i, in := range inputs {
		if next := prefetch.Next(inputs, i); next != nil {
			c.state.Cluster.PrefetchReports(next)
		}
		c.input(in)
	}
	c.continueWork()
	c.expire()
	c.endStep()
	c.lifecycle.Admission.DropExpected()
	c.rounds.DropExpected()
	return c.rounds.StartRound()
}

// Effects is the second part of a step. It returns the caller's actions beside the round, in
// order.
func (c *Core) Effects() []Action {
	changed, wanted := c.Changes()
	c.emitChangedJobs()
	effects := c.state.Step.Effects()
	actions := make([]Action, 0, len(effects)+1)
	if wanted {
		actions = append(actions, changed)
	}
	if some, removed := c.state.Schedules.DrainChanges(); len(some)+len(removed) > 0 {
		actions = append(actions, SchedulesChanged{Schedules: some, Removed: removed})
	}
	for i := range effects {
		if next := prefetch.Next(effects, i); next != nil {
			state.PrefetchSpecs(next)
		}
		actions = append(actions, c.action(&effects[i]))
	}
	c.state.Step.End()
	return actions
}

// Step is Decide and Effects, one after the other. The round is the first action.
func (c *Core) Step(b *wire.Batch) []Action {
	ask := c.Decide(b)
	actions := c.Effects()
	if ask == nil {
		return actions
	}
	return append([]Action{*ask}, actions...)
}

// action returns an effect's action. For a deferred start of an attempt it builds the command
// now.
func (c *Core) action(t *step.Effect) Action {
	a, later := t.Deferred.(*state.Attempt)
	if !later {
		return t.Action
	}
	m := c.outbound.Dispatch.StartCommand(a)
	m.Term, m.Incarnation = c.state.Step.Term, t.Incarnation
	c.state.Step.Stats.Commands++
	return ToLauncher{Launcher: a.Launcher.ID, Command: m}
}

// endStep does the work of every step that comes after all inputs and before the round.
func (c *Core) endStep() {
	if c.state.Resources.Offers.TakeTopologyChanged() {
		c.lifecycle.Bundles.ChooseKinds()
		c.lifecycle.Admission.CheckPlaceable()
		c.lifecycle.Bundles.RelaxExclusions()
	}
	if c.state.Resources.Offers.TakeCapacityFreed() {
		c.lifecycle.Attempts.ResumeSuspended()
	}
	c.lifecycle.Finishers.StartAll()
	c.outbound.Dispatch.FlushSources()
	c.rounds.NotifyEndedReservations()
	c.rounds.WatchStall()
	c.state.Schedules.ReleaseQueued(&c.state.Step, c.jobLives)
}

func (c *Core) input(in *wire.Input) {
	switch w := in.GetWhat().(type) {
	case *wire.Input_Report:
		c.membership.Report(w.Report)
	case *wire.Input_PolicyAnswer:
		c.rounds.Answer(w.PolicyAnswer)
	case *wire.Input_Prepare:
		c.lifecycle.Admission.ReserveID(w.Prepare)
	case *wire.Input_Submit:
		c.lifecycle.Admission.Submit(w.Submit)
	case *wire.Input_KillJob:
		c.lifecycle.Admission.KillJob(w.KillJob)
	case *wire.Input_RetryElements:
		c.lifecycle.Admission.RetryElements(w.RetryElements)
	case *wire.Input_UpdateJob:
		c.lifecycle.Admission.UpdateJob(w.UpdateJob)
	case *wire.Input_LauncherJoin:
		c.membership.Join(w.LauncherJoin.GetJoin())
	case *wire.Input_LauncherLost:
		c.membership.LauncherLost(w.LauncherLost)
	case *wire.Input_Drain:
		c.membership.Drain(w.Drain)
	case *wire.Input_PolicyStart:
		c.rounds.Start(w.PolicyStart)
	case *wire.Input_PolicyStarted:
		c.rounds.Started(w.PolicyStarted)
	case *wire.Input_PolicyFailed:
		c.rounds.Failed(w.PolicyFailed.GetGeneration(), w.PolicyFailed.GetReason())
	case *wire.Input_Settings:
		c.state.Policy.ChangeSettings(&c.state.Step, w.Settings)
	case *wire.Input_Note:
		c.state.Policy.Note(&c.state.Step, w.Note.GetGeneration(), scheduler.Note{Name: w.Note.GetName(), Body: w.Note.GetBody()})
	case *wire.Input_Request:
		c.state.Policy.Request(&c.state.Step, c.state.IDs.NextRequest, w.Request)
	case *wire.Input_AddSchedule:
		c.state.Schedules.Add(&c.state.Step, w.AddSchedule)
	case *wire.Input_ChangeSchedule:
		c.state.Schedules.Change(&c.state.Step, w.ChangeSchedule, c.jobLives)
	case *wire.Input_ScheduleDue:
		c.state.Schedules.Due(&c.state.Step, w.ScheduleDue, c.jobLives)
	case *wire.Input_TakeRun:
		c.state.Schedules.TakeRun(&c.state.Step, w.TakeRun)
	case *wire.Input_EndRun:
		c.state.Schedules.End(&c.state.Step, w.EndRun)
	case *wire.Input_ManagerStart:
		c.managerStart(w.ManagerStart)
	case *wire.Input_Site:
		c.site(w.Site)
	}
}

// managerStart handles a restart of the manager: the policy's processes are gone, and clients
// must repeat their requests.
func (c *Core) managerStart(m *wire.ManagerStart) {
	c.state.Step.BeginTerm(m.GetTerm())
	c.state.IDs.BeginLife(ids.Start{
		Now: c.state.Step.Now, Age: time.Duration(m.GetAgeNs()), Above: m.GetJobsAbove(), Known: m.GetJobsKnown(), Given: m.GetJobsGiven(),
	})
	c.rounds.DropPolicies()
	for j := range c.state.Cluster.Jobs.All() {
		j.Submission.Await(0)
		j.OutputCommit.SurviveRestart()
	}
	c.state.Schedules.SurviveRestart(&c.state.Step)
}

// site applies the site's settings. Settings that can't work change nothing.
func (c *Core) site(m *wire.SiteSettings) {
	s, err := ParseSettings(m.GetJson())
	if err != nil {
		c.state.Step.Log(Error, "the new settings of the core were not taken over", "error", err.Error())
		return
	}
	c.state.Step.Set = s
	c.applyUserLimits()
}

// applyUserLimits gives users the limits of the settings, and notifies the policy of those that changed.
func (c *Core) applyUserLimits() {
	for _, j := range c.state.Cluster.ApplyUserLimits() {
		c.outbound.Events.NotifyUserLimit(j)
	}
}

func (c *Core) emitChangedJobs() {
	if ids, ended := c.state.Cluster.Changes.DrainJobs(); len(ids) > 0 {
		c.state.Step.Emit(JobsChanged{Jobs: ids, Ended: ended})
	}
}
