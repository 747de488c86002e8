package core

import (
	"cmp"
	"math"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// gathering is a snapshot that is being made, in slices: it tells the world as it is by
// the events that would have told it, with their original times: launchers, live jobs,
// what is ready, what runs, and what finished with how long it took. What failed or was
// lost on the way is left out. How far work is, where a policy asked for that, is told
// as of when it is come to.
//
// What happens meanwhile to what was come to is told by events, as after a snapshot;
// what happens to the rest is seen when that is come to. So, put in order of time, both
// together are the snapshot of the moment at which the last was come to.
type gathering struct {
	launcher scheduler.LauncherID // this one and all before were come to
	job      scheduler.JobID      // likewise; of this one the bundles below bundle
	bundle   int
	pages    [][]scheduler.Event // what was told; not in checkpoints, as a new life of the manager starts its policy anew
}

const (
	// gatheringPage is how many events a page holds: a list that grows would be copied
	// as a whole.
	gatheringPage = 4096
	allLaunchers  = scheduler.LauncherID(math.MaxUint64)
)

// Whether a launcher, a job or a bundle was come to. A snapshot that is made, nil, has
// come to all.
func (g *gathering) hasLauncher(id scheduler.LauncherID) bool { return g == nil || id <= g.launcher }
func (g *gathering) hasJob(id scheduler.JobID) bool           { return g == nil || id <= g.job }
func (g *gathering) hasBundle(b *bundle) bool {
	return g == nil || b.job.id < g.job || b.job.id == g.job && b.index < g.bundle
}

// gather goes on with the snapshot for the generation that is being started, and starts
// that when it is made.
func (c *Core) gather() {
	n := c.policy.next
	if n == nil || n.gathering == nil || !c.gatherLaunchers(n.gathering) || !c.gatherJobs(n.gathering) {
		return
	}
	a := StartPolicy{Generation: n.number, Environment: c.environment(), now: c.now, pages: append(n.gathering.pages, n.events), checkpoint: c.policy.checkpoints[n.policy]}
	n.gathering, n.events = nil, nil
	c.act(a)
}

// gatherLaunchers tells of launchers; false when some are left.
func (c *Core) gatherLaunchers(g *gathering) bool {
	i, _ := slices.BinarySearch(c.launchers.ids, g.launcher+1)
	for ; g.launcher != allLaunchers && i < len(c.launchers.ids); i++ {
		if !c.spend(workGather) {
			return false
		}
		g.launcher = c.launchers.ids[i]
		if l := c.launchers.get(g.launcher); l.up {
			g.add(l.joinedEvent())
			if l.draining {
				g.add(scheduler.LauncherDraining{At: l.joined, Launcher: l.id, Draining: true})
			}
		}
	}
	g.launcher = allLaunchers
	return true
}

// gatherJobs tells of jobs; false when some are left.
func (c *Core) gatherJobs(g *gathering) bool {
	for {
		if j := c.jobs.get(g.job); j != nil && j.phase != jobAsked && !c.gatherBundles(g, j) {
			return false
		}
		i, _ := slices.BinarySearch(c.jobs.ids, g.job+1)
		if i == len(c.jobs.ids) {
			return true
		}
		if !c.spend(workGather) {
			return false
		}
		g.job, g.bundle = c.jobs.ids[i], 0
		if j := c.jobs.get(g.job); j.phase == jobAsked {
			g.bundle = math.MaxInt // what becomes of it is told by events
		} else {
			g.add(scheduler.JobSubmitted{At: j.admitted, Job: j.forPolicy()})
		}
	}
}

// gatherBundles tells of a job's bundles; false when some are left.
func (c *Core) gatherBundles(g *gathering, j *job) bool {
	for ; g.bundle < len(j.bundles); g.bundle++ {
		if !c.spend(workGather * j.bundles[g.bundle].width()) {
			return false
		}
		c.gatherBundle(g, &j.bundles[g.bundle])
	}
	return true
}

func (g *gathering) add(e scheduler.Event) {
	last := len(g.pages) - 1
	if last < 0 || len(g.pages[last]) == gatheringPage {
		g.pages = append(g.pages, make([]scheduler.Event, 0, gatheringPage))
		last++
	}
	g.pages[last] = append(g.pages[last], e)
}

// Snapshot puts what the core gathered in order. With a million tasks that takes a
// second, and is done beside the core. Each call makes it anew.
func (a StartPolicy) Snapshot() scheduler.Snapshot {
	events := slices.Concat(a.pages...)
	// The events of one launcher, job or bundle are in order of time already; a
	// stable sort keeps what has one time in the order it has to have.
	slices.SortStableFunc(events, func(x, y scheduler.Event) int { return cmp.Compare(x.When(), y.When()) })
	s := scheduler.Snapshot{Now: a.now, Events: events}
	if k := a.checkpoint; k != nil {
		s.Checkpoint = &scheduler.Checkpoint{Version: k.checkpoint.Version, Data: slices.Clone(k.checkpoint.Data)}
		s.Since, _ = slices.BinarySearchFunc(events, k.at+1, func(e scheduler.Event, at scheduler.Time) int { return cmp.Compare(e.When(), at) })
	}
	return s
}

// past is a bundle attempt as a snapshot tells it.
type past struct {
	run      *run // nil when it committed
	launched scheduler.Time
	commits  []*commit
}

func (c *Core) gatherBundle(g *gathering, b *bundle) {
	var runs []past
	for _, r := range b.runs {
		runs = append(runs, past{r, r.launched, r.commits})
	}
	// A finished bundle that is wanted again waits for the twin it had to end.
	again := b.phase == bundleWaiting && len(b.runs) > 0
	if b.phase == bundleFinished || again {
		runs = append(runs, past{nil, b.kept[0].launched, b.kept})
		slices.SortStableFunc(runs, func(x, y past) int { return cmp.Compare(x.launched, y.launched) })
	}
	for i, p := range runs {
		if i == 0 {
			g.add(scheduler.BundleReady{
				At: p.launched, Job: b.job.id, Bundle: b.id, Groups: c.groupsFor(b, b.phase != bundleFinished), Avoid: c.avoidOf(b),
			})
		} else {
			g.add(scheduler.BundleWantedTwice{At: p.launched, Job: b.job.id, Bundle: b.id, Groups: c.groupsFor(b, false)})
		}
		g.addRun(b, p)
	}
	if again {
		g.add(scheduler.BundleWantedAgain{At: b.since, Job: b.job.id, Bundle: b.id})
	}
	if b.twice != 0 {
		g.add(c.twiceEvent(b))
	}
	if b.phase == bundleReady {
		g.add(c.readyEvent(b))
	}
	c.gatherProgress(g, b)
}

// gatherProgress tells the progress that some policy was told of before: one that
// chooses by it would else take all for equal until the next reports.
func (c *Core) gatherProgress(g *gathering, b *bundle) {
	for _, r := range b.runs {
		for _, a := range r.attempts {
			if a != nil && a.told != 0 && (a.phase == attemptRunning || a.phase == attemptSuspended) {
				g.add(scheduler.AttemptProgress{At: c.now, Attempt: a.id, Progress: a.progress, Work: c.workOf(a, a.work)})
			}
		}
	}
}

// addRun tells of a bundle attempt: that it was launched, then what became of it.
func (g *gathering) addRun(b *bundle, p past) {
	o := scheduler.Outcome{At: p.launched, Kind: scheduler.DecisionLaunch, Accepted: true, Launch: scheduler.Launch{Bundle: b.id}}
	for i, k := range p.commits {
		id, where := scheduler.AttemptID(0), scheduler.LauncherID(0)
		if k != nil {
			id, where = k.attempt, k.launcher
		} else {
			id, where = p.run.attempts[i].id, p.run.attempts[i].launcher.id
		}
		o.Attempts, o.Launch.Launchers = append(o.Attempts, id), append(o.Launch.Launchers, where)
	}
	g.add(o)
	for i, k := range p.commits {
		if k != nil {
			g.addCommit(b, i, k)
		} else {
			g.addAttempt(p.run.attempts[i])
		}
	}
}

func (g *gathering) addCommit(b *bundle, i int, k *commit) {
	stage, _, _, _ := b.demand(i)
	g.add(scheduler.AttemptStarted{
		At: k.started, Attempt: k.attempt, Job: b.job.id, Bundle: b.id, Group: i, Stage: scheduler.StageID(stage), Launcher: k.launcher, Speculative: k.spec,
	})
	if k.phased != 0 {
		g.add(scheduler.AttemptPhase{At: k.phased, Attempt: k.attempt, Phase: scheduler.PhaseExecute})
	}
	g.add(scheduler.AttemptEnded{At: k.ended, Attempt: k.attempt, Outcome: scheduler.Finished, Work: k.work})
}

func (g *gathering) addAttempt(a *attempt) {
	b := a.run.bundle
	stage, _, _, _ := b.demand(a.group)
	if a.started != 0 {
		// Told as if it had never been suspended before: so its running time is right.
		start := a.since.Add(-a.ran)
		g.add(scheduler.AttemptStarted{
			At: start, Attempt: a.id, Job: b.job.id, Bundle: b.id, Group: a.group, Stage: scheduler.StageID(stage),
			Launcher: a.launcher.id, Speculative: a.run.speculative,
		})
		if a.phased != 0 {
			g.add(scheduler.AttemptPhase{At: max(a.phased, start), Attempt: a.id, Phase: scheduler.PhaseExecute})
		}
		if a.phase == attemptSuspended {
			g.add(scheduler.AttemptSuspended{At: max(a.since, a.phased), Attempt: a.id})
		}
	}
	if a.phase == attemptEnded {
		g.add(scheduler.AttemptEnded{At: a.since, Attempt: a.id, Outcome: a.outcome})
		return
	}
	if a.stop != nil && a.stop.outcome == scheduler.Preempted {
		g.add(scheduler.Outcome{
			At: a.stop.at, Kind: scheduler.DecisionPreempt, Accepted: true,
			Preempt: scheduler.Preempt{Victims: []scheduler.AttemptID{a.id}, Mode: scheduler.PreemptKill, For: a.stop.forJob},
		})
	}
}
