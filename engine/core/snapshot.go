package core

import (
	"cmp"
	"math"
	"slices"

	"github.com/hamadryad/hamadryad/engine/core/exchange"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// gather goes on with the snapshot for the generation that is being started, and starts
// that when it is made. What failed or was lost on the way is left out. How far work is,
// where a policy asked for that, is told as of when it is come to.
func (c *Core) gather() {
	g := c.policy.Gathering()
	if g == nil || !c.gatherLaunchers(g) || !c.gatherJobs(g) {
		return
	}
	c.step.Act(StartPolicy{Generation: c.policy.Starting(), Environment: c.environment(), Gathered: c.policy.Gathered(c.step.Now)})
}

// gatherLaunchers tells of launchers; false when some are left.
func (c *Core) gatherLaunchers(g *exchange.Gathering) bool {
	i, _ := slices.BinarySearch(c.launchers.IDs(), g.Launcher+1)
	for ; g.Launcher != exchange.AllLaunchers && i < len(c.launchers.IDs()); i++ {
		if !c.step.Spend(workGather) {
			return false
		}
		g.Launcher = c.launchers.IDs()[i]
		if l := c.launchers.Get(g.Launcher); l.Up {
			g.Add(l.JoinedEvent())
			if l.Draining {
				g.Add(scheduler.LauncherDraining{At: l.Joined, Launcher: l.ID, Draining: true})
			}
		}
	}
	g.Launcher = exchange.AllLaunchers
	return true
}

// gatherJobs tells of jobs; false when some are left.
func (c *Core) gatherJobs(g *exchange.Gathering) bool {
	for {
		if j := c.jobs.Get(g.Job); j != nil && j.phase != jobAsked && !c.gatherBundles(g, j) {
			return false
		}
		i, _ := slices.BinarySearch(c.jobs.IDs(), g.Job+1)
		if i == len(c.jobs.IDs()) {
			return true
		}
		if !c.step.Spend(workGather) {
			return false
		}
		g.Job, g.Bundle = c.jobs.IDs()[i], 0
		if j := c.jobs.Get(g.Job); j.phase == jobAsked {
			g.Bundle = math.MaxInt // what becomes of it is told by events
		} else {
			g.Add(scheduler.JobSubmitted{At: j.admitted, Job: j.forPolicy()})
		}
	}
}

// gatherBundles tells of a job's bundles; false when some are left.
func (c *Core) gatherBundles(g *exchange.Gathering, j *job) bool {
	for ; g.Bundle < len(j.bundles); g.Bundle++ {
		if !c.step.Spend(workGather * j.bundles[g.Bundle].Width()) {
			return false
		}
		c.gatherBundle(g, &j.bundles[g.Bundle])
	}
	return true
}

// past is a bundle attempt as a snapshot tells it.
type past struct {
	run      *run // nil when it committed
	launched scheduler.Time
	commits  []*commit
}

func (c *Core) gatherBundle(g *exchange.Gathering, b *bundle) {
	var runs []past
	for _, r := range b.runs {
		runs = append(runs, past{r, r.launched, r.commits})
	}
	// A finished bundle that is wanted again waits for the attempt that it had to end.
	again := b.phase == bundleWaiting && len(b.runs) > 0
	if b.phase == bundleFinished || again {
		runs = append(runs, past{nil, b.kept[0].launched, b.kept})
		slices.SortStableFunc(runs, func(x, y past) int { return cmp.Compare(x.launched, y.launched) })
	}
	for i, p := range runs {
		if i == 0 {
			g.Add(scheduler.BundleReady{
				At: p.launched, Job: b.job.id, Bundle: b.id, Groups: c.groupsFor(b, b.phase != bundleFinished), Avoid: c.avoidOf(b),
			})
		} else {
			// It was wanted in a step before the one that launched it.
			g.Add(scheduler.SpeculationOffered{At: p.launched - 1, Job: b.job.id, Bundle: b.id, Groups: c.groupsFor(b, false)})
		}
		addLaunch(g, b, p)
	}
	for _, p := range runs { // a step launches before it hears what ended: so what has one time is told in that order
		addRun(g, b, p)
	}
	if again {
		g.Add(scheduler.BundleWantedAgain{At: b.since, Job: b.job.id, Bundle: b.id})
	}
	if b.twice != 0 {
		g.Add(c.twiceEvent(b))
	}
	if b.phase == bundleReady {
		g.Add(c.readyEvent(b))
	}
	if b.protected != 0 && len(b.runs) > 0 {
		g.Add(c.protectedEvent(b))
	}
	c.gatherProgress(g, b)
}

// gatherProgress tells the progress that some policy was told of before: one that
// chooses by it would else take all for equal until the next reports.
func (c *Core) gatherProgress(g *exchange.Gathering, b *bundle) {
	for _, r := range b.runs {
		for _, a := range r.attempts {
			if a != nil && a.told != 0 && (a.phase == attemptRunning || a.phase == attemptSuspended) {
				g.Add(scheduler.AttemptProgress{At: c.step.Now, Attempt: a.id, Progress: a.progress, Work: c.workOf(a, a.work)})
			}
		}
	}
}

// addLaunch tells that a bundle attempt was launched.
func addLaunch(g *exchange.Gathering, b *bundle, p past) {
	o := scheduler.Outcome{At: p.launched, Kind: scheduler.DecisionLaunch, Accepted: true, Launch: scheduler.Launch{Bundle: b.id}}
	for i, k := range p.commits {
		id, where := scheduler.AttemptID(0), scheduler.LauncherID(0)
		if k != nil {
			id, where = k.attempt, k.launcher
		} else {
			id, where = p.run.attempts[i].id, p.run.attempts[i].launcher.ID
		}
		o.Attempts, o.Launch.Launchers = append(o.Attempts, id), append(o.Launch.Launchers, where)
	}
	g.Add(o)
}

// addRun tells what became of it.
func addRun(g *exchange.Gathering, b *bundle, p past) {
	for i, k := range p.commits {
		if k != nil {
			addCommit(g, b, i, k)
		} else {
			addAttempt(g, p.run.attempts[i])
		}
	}
}

func addCommit(g *exchange.Gathering, b *bundle, i int, k *commit) {
	stage := b.stageOf(i)
	g.Add(scheduler.AttemptStarted{
		At: k.started, Attempt: k.attempt, Job: b.job.id, Bundle: b.id, Group: i, Stage: scheduler.StageID(stage), Launcher: k.launcher, Speculative: k.spec,
	})
	if k.phased != 0 {
		g.Add(scheduler.AttemptPhase{At: k.phased, Attempt: k.attempt, Phase: scheduler.PhaseExecute})
	}
	g.Add(scheduler.AttemptEnded{At: k.ended, Attempt: k.attempt, Outcome: scheduler.Finished, Work: k.work})
}

func addAttempt(g *exchange.Gathering, a *attempt) {
	b := a.run.bundle
	stage := b.stageOf(a.group)
	if a.started != 0 {
		// Told as if it had never been suspended before: so its running time is right.
		start := a.since.Add(-a.ran)
		g.Add(scheduler.AttemptStarted{
			At: start, Attempt: a.id, Job: b.job.id, Bundle: b.id, Group: a.group, Stage: scheduler.StageID(stage),
			Launcher: a.launcher.ID, Speculative: a.run.speculative,
		})
		if a.phased != 0 {
			g.Add(scheduler.AttemptPhase{At: max(a.phased, start), Attempt: a.id, Phase: scheduler.PhaseExecute})
		}
		if a.phase == attemptSuspended {
			g.Add(scheduler.AttemptSuspended{At: max(a.since, a.phased), Attempt: a.id})
		}
	}
	if a.phase == attemptEnded {
		g.Add(scheduler.AttemptEnded{At: a.since, Attempt: a.id, Outcome: a.outcome})
		return
	}
	leaves := func(at scheduler.Time, mode scheduler.PreemptMode, job scheduler.JobID) {
		g.Add(scheduler.Outcome{
			At: at, Kind: scheduler.DecisionPreempt, Accepted: true,
			Preempt: scheduler.Preempt{Victims: []scheduler.AttemptID{a.id}, Mode: mode, For: job},
		})
	}
	switch {
	case a.stop != nil && a.stop.outcome == scheduler.Preempted:
		leaves(a.stop.at, scheduler.PreemptKill, a.stop.forJob)
	case a.stop == nil && a.suspending:
		leaves(a.run.toSuspend, scheduler.PreemptSuspend, a.run.suspendFor)
	}
}
