package outbound

import (
	"cmp"
	"slices"

	"github.com/hamadryad/hamadryad/engine/core/internal/policystate"
	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/core/internal/state/phase"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Environment is what a policy is told of the site when it starts.
func (ev *PolicyEvents) Environment() scheduler.Environment {
	e := scheduler.Environment{
		Heartbeat: ev.step.Set.Heartbeat, Seed: ev.step.Set.Seed, Limits: ev.step.Set.Limits(), Simulated: ev.step.Set.Simulated,
		ReserveMax: ev.step.Set.ReserveMax, ProtectFor: ev.step.Set.ProtectFor, SuspendMax: ev.step.Set.SuspendMax, WakeMin: ev.step.Set.WakeMin,
		Kinds: slices.Clone(ev.step.Set.Kinds),
	}
	if len(e.Kinds) == 0 {
		e.Kinds = []scheduler.SlotKind{scheduler.DefaultKind}
	}
	return e
}

// BuildSnapshot continues the snapshot for the starting generation, and starts the generation when
// it is complete. Attempts that failed or were lost before are left out. Progress, where a policy
// asked for it, is that of the moment at which an attempt is added.
func (ev *PolicyEvents) BuildSnapshot() {
	g := ev.policy.Building()
	if g == nil || !ev.addAll(g) {
		return
	}
	ev.step.Emit(step.StartPolicy{Generation: ev.policy.Starting(), Environment: ev.Environment(), SnapshotMaker: ev.policy.FinishSnapshot(ev.step.Now)})
}

// SnapshotNow makes the snapshot for a policy that would start now, in one piece. It is for
// simulations: with many jobs it is slow.
func (ev *PolicyEvents) SnapshotNow(policy string) scheduler.Snapshot {
	g := &policystate.SnapshotBuilder{}
	for !ev.addAll(g) {
		ev.step.RenewBudget()
	}
	return ev.policy.SnapshotOf(g, policy, ev.step.Now).Snapshot()
}

// addAll adds the whole state; false when some is left.
func (ev *PolicyEvents) addAll(g *policystate.SnapshotBuilder) bool {
	return ev.addLaunchers(g) && ev.addJobs(g)
}

// addLaunchers adds launchers; false when some are left.
func (ev *PolicyEvents) addLaunchers(g *policystate.SnapshotBuilder) bool {
	ids := ev.state.Launchers.IDs()
	for i, more := g.NextLauncher(ids); more && i < len(ids); i++ {
		if !ev.step.ConsumeBudget(step.WorkSnapshot) {
			return false
		}
		g.BeginLauncher(ids[i])
		if l := ev.state.Launchers.Get(ids[i]); l.Up {
			g.Add(l.JoinedEvent())
			if l.Draining {
				g.Add(scheduler.LauncherDraining{At: l.Joined, Launcher: l.ID, Draining: true})
			}
			if l.Excluded {
				g.Add(scheduler.LauncherExcluded{At: l.Joined, Launcher: l.ID, Excluded: true})
			}
		}
	}
	g.LaunchersAdded()
	return true
}

// addJobs adds jobs; false if some are left.
func (ev *PolicyEvents) addJobs(g *policystate.SnapshotBuilder) bool {
	for {
		if j := ev.state.Jobs.Get(g.Job()); j != nil && j.KnownToPolicy() && !ev.addBundles(g, j) {
			return false
		}
		i, _ := slices.BinarySearch(ev.state.Jobs.IDs(), g.Job()+1)
		if i == len(ev.state.Jobs.IDs()) {
			return true
		}
		if !ev.step.ConsumeBudget(step.WorkSnapshot) {
			return false
		}
		g.BeginJob(ev.state.Jobs.IDs()[i])
		if j := ev.state.Jobs.Get(g.Job()); !j.KnownToPolicy() {
			g.SkipBundles()
		} else {
			g.Add(scheduler.JobSubmitted{At: j.Submission.Admitted(), Job: j.ForPolicy()})
			if j.User().Limited() {
				g.Add(userLimitEvent(j, j.Submission.Admitted()))
			}
		}
	}
}

// addBundles adds a job's bundles; false if some are left.
func (ev *PolicyEvents) addBundles(g *policystate.SnapshotBuilder, j *state.Job) bool {
	for ; g.Bundle() < len(j.Plan.Bundles); g.BundleAdded() {
		b := &j.Bundles[g.Bundle()]
		if !ev.step.ConsumeBudget(step.WorkSnapshot * b.Width()) {
			return false
		}
		ev.addBundle(g, b)
	}
	return true
}

// pastAttempt is a bundle attempt as a snapshot shows it.
type pastAttempt struct {
	run      *state.BundleAttempt // nil when it committed
	launched scheduler.Time
	commits  []*state.Commit
}

func (ev *PolicyEvents) addBundle(g *policystate.SnapshotBuilder, b *state.Bundle) {
	if b.Phase() == state.BundleGivenUp {
		g.Add(scheduler.BundleGivenUp{At: b.Since(), Job: b.Job.ID, Bundle: b.ID(), Stage: scheduler.StageID(b.StageOf(0)), GivenUp: true})
		return
	}
	var runs []pastAttempt
	for _, r := range b.Attempts() {
		runs = append(runs, pastAttempt{r, r.Launched(), r.Commits()})
	}
	// A reopened bundle waits for the end of an earlier attempt.
	again := b.Phase() == state.BundleWaiting && len(b.Attempts()) > 0
	if b.Phase() == state.BundleFinished || again {
		runs = append(runs, pastAttempt{nil, b.LastCommits()[0].Launched, b.LastCommits()})
		slices.SortStableFunc(runs, func(x, y pastAttempt) int { return cmp.Compare(x.launched, y.launched) })
	}
	for i, p := range runs {
		if i == 0 {
			g.Add(scheduler.BundleReady{
				At: p.launched, Job: b.Job.ID, Bundle: b.ID(), Groups: ev.GroupsFor(b, b.Phase() != state.BundleFinished), Avoid: excludedFor(b),
			})
		} else {
			// It was offered in an earlier step than its launch.
			g.Add(scheduler.SpeculationOffered{At: p.launched - 1, Job: b.Job.ID, Bundle: b.ID(), Groups: ev.GroupsFor(b, false)})
		}
		addLaunch(g, b, p)
	}
	for _, p := range runs { // a step launches before it handles ends: events of one time keep that order
		addBundleAttempt(g, b, p)
	}
	if again {
		g.Add(scheduler.BundleReopened{At: b.Since(), Job: b.Job.ID, Bundle: b.ID()})
	}
	if b.SpeculationOffered() != 0 {
		g.Add(ev.SpeculationEvent(b))
	}
	if b.Phase() == state.BundleReady {
		g.Add(ev.ReadyEvent(b))
		if r := ev.resources.Reservations.PlannedFor(b.ID()); r != nil {
			g.Add(reservedEvent(b, r))
		}
	}
	if b.Protection.Until() != 0 && len(b.Attempts()) > 0 {
		g.Add(ev.protectedEvent(b))
	}
	ev.addProgress(g, b)
}

// addProgress adds the progress that an earlier policy received. A policy that chooses by progress
// would consider all attempts equal until the next reports.
func (ev *PolicyEvents) addProgress(g *policystate.SnapshotBuilder, b *state.Bundle) {
	for _, r := range b.Attempts() {
		for _, a := range r.Attempts {
			if a != nil && a.ProgressNotified() != 0 && (a.Phase() == phase.Running || a.Phase() == phase.Suspended) {
				g.Add(scheduler.AttemptProgress{At: ev.step.Now, Attempt: a.ID, Progress: a.Progress(), Work: ev.WorkOf(a, a.Work())})
			}
		}
	}
}

// addLaunch adds the launch of a bundle attempt.
func addLaunch(g *policystate.SnapshotBuilder, b *state.Bundle, p pastAttempt) {
	o := scheduler.Outcome{At: p.launched, Kind: scheduler.DecisionLaunch, Accepted: true, Launch: scheduler.Launch{Bundle: b.ID()}}
	for i, k := range p.commits {
		id, where := scheduler.AttemptID(0), scheduler.LauncherID(0)
		if k != nil {
			id, where = k.Attempt, k.Launcher
		} else {
			id, where = p.run.Attempts[i].ID, p.run.Attempts[i].Launcher.ID
			o.Launch.Ahead = p.run.Attempts[i].HeldAhead()
		}
		o.Attempts, o.Launch.Launchers = append(o.Attempts, id), append(o.Launch.Launchers, where)
	}
	g.Add(o)
}

// addBundleAttempt adds a bundle attempt's outcome.
func addBundleAttempt(g *policystate.SnapshotBuilder, b *state.Bundle, p pastAttempt) {
	for i, k := range p.commits {
		if k != nil {
			addCommit(g, b, i, k)
		} else {
			addAttempt(g, p.run.Attempts[i])
		}
	}
}

func addCommit(g *policystate.SnapshotBuilder, b *state.Bundle, i int, k *state.Commit) {
	stage := b.StageOf(i)
	g.Add(scheduler.AttemptStarted{
		At: k.Started, Attempt: k.Attempt, Job: b.Job.ID, Bundle: b.ID(), Group: i, Stage: scheduler.StageID(stage), Launcher: k.Launcher, Speculative: k.Spec,
	})
	if k.Phased != 0 {
		g.Add(scheduler.AttemptPhase{At: k.Phased, Attempt: k.Attempt, Phase: scheduler.PhaseExecute})
	}
	g.Add(scheduler.AttemptEnded{At: k.Ended, Attempt: k.Attempt, Outcome: scheduler.Finished, Work: k.Work})
}

// addSuspensions adds an attempt's suspension and resumption before its current state. Their number
// is not kept, so they are added once: the running time and the start of the current run are then
// right.
func addSuspensions(g *policystate.SnapshotBuilder, a *state.Attempt) {
	suspended := a.Since().Sub(a.Started()) - a.Ran()
	if suspended <= 0 {
		return
	}
	from, to := a.Started(), a.Started().Add(suspended)
	if a.Phase() == phase.Running {
		from, to = a.Started().Add(a.Ran()), a.Since()
	}
	g.Add(scheduler.AttemptSuspended{At: from, Attempt: a.ID})
	g.Add(scheduler.AttemptResumed{At: to, Attempt: a.ID})
}

func addAttempt(g *policystate.SnapshotBuilder, a *state.Attempt) {
	b := a.BundleAttempt.Bundle
	stage := b.StageOf(a.Group)
	if a.Started() != 0 {
		g.Add(scheduler.AttemptStarted{
			At: a.Started(), Attempt: a.ID, Job: b.Job.ID, Bundle: b.ID(), Group: a.Group, Stage: scheduler.StageID(stage),
			Launcher: a.Launcher.ID, Speculative: a.BundleAttempt.Speculative(),
		})
		if a.Executing() != 0 {
			g.Add(scheduler.AttemptPhase{At: max(a.Executing(), a.Started()), Attempt: a.ID, Phase: scheduler.PhaseExecute})
		}
		addSuspensions(g, a)
		if a.Phase() == phase.Suspended {
			at := max(a.Since(), a.Executing())
			g.Add(scheduler.AttemptSuspended{At: at, Attempt: a.ID})
			if a.Resuming() {
				g.Add(resumption(at, []scheduler.AttemptID{a.ID}))
			}
		}
	}
	if a.Phase() == phase.Ended {
		g.Add(scheduler.AttemptEnded{At: a.Since(), Attempt: a.ID, Outcome: a.Outcome()})
		return
	}
	leaves := func(at scheduler.Time, mode scheduler.PreemptMode, job scheduler.JobID) {
		g.Add(scheduler.Outcome{
			At: at, Kind: scheduler.DecisionPreempt, Accepted: true,
			Preempt: scheduler.Preempt{Victims: []scheduler.AttemptID{a.ID}, Mode: mode, For: job},
		})
	}
	switch {
	case a.Stop() != nil && a.Stop().Outcome == scheduler.Preempted && a.Stop().ForJob != 0:
		leaves(a.Stop().At, scheduler.PreemptKill, a.Stop().ForJob)
	case a.Stop() != nil:
		g.Add(scheduler.AttemptStopping{At: a.Stop().At, Attempt: a.ID, For: a.Stop().ForJob})
	case a.Suspending():
		at, beneficiary := a.BundleAttempt.SuspendRequested()
		leaves(at, scheduler.PreemptSuspend, beneficiary)
	}
}
