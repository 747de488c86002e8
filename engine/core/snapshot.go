package core

import (
	"cmp"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// snapshot tells the world as it is by the events that would have told it, with
// their original times: launchers, live jobs, what is ready, what runs, and what
// finished with how long it took. What failed or was lost on the way is left out.
// How far work is, where a policy asked for that, is told as of now.
func (c *Core) snapshot(policy string) scheduler.Snapshot {
	var events []scheduler.Event
	for _, id := range c.launchers.ids {
		if l := c.launchers.get(id); l.up {
			events = append(events, l.joinedEvent())
			if l.draining {
				events = append(events, scheduler.LauncherDraining{At: l.joined, Launcher: l.id, Draining: true})
			}
		}
	}
	for j := range c.jobs.all() {
		if j.phase == jobAsked {
			continue
		}
		events = append(events, scheduler.JobSubmitted{At: j.admitted, Job: j.forPolicy()})
		for i := range j.bundles {
			events = c.snapshotBundle(events, &j.bundles[i])
		}
	}
	// The events of one launcher, job or bundle are in order of time already; a
	// stable sort keeps what has one time in the order it has to have.
	slices.SortStableFunc(events, func(x, y scheduler.Event) int { return cmp.Compare(x.When(), y.When()) })
	s := scheduler.Snapshot{Now: c.now, Events: events}
	if k := c.policy.checkpoints[policy]; k != nil {
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

func (c *Core) snapshotBundle(events []scheduler.Event, b *bundle) []scheduler.Event {
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
			events = append(events, scheduler.BundleReady{
				At: p.launched, Job: b.job.id, Bundle: b.id, Groups: c.groupsFor(b, b.phase != bundleFinished), Avoid: c.avoidOf(b),
			})
		} else {
			events = append(events, scheduler.BundleWantedTwice{At: p.launched, Job: b.job.id, Bundle: b.id, Groups: c.groupsFor(b, false)})
		}
		events = snapshotRun(events, b, p)
	}
	if again {
		events = append(events, scheduler.BundleWantedAgain{At: b.since, Job: b.job.id, Bundle: b.id})
	}
	if b.twice != 0 {
		events = append(events, c.twiceEvent(b))
	}
	if b.phase == bundleReady {
		events = append(events, c.readyEvent(b))
	}
	return c.snapshotProgress(events, b)
}

// snapshotProgress tells the progress that some policy was told of before: one that
// chooses by it would else take all for equal until the next reports.
func (c *Core) snapshotProgress(events []scheduler.Event, b *bundle) []scheduler.Event {
	for _, r := range b.runs {
		for _, a := range r.attempts {
			if a != nil && a.told != 0 && (a.phase == attemptRunning || a.phase == attemptSuspended) {
				events = append(events, scheduler.AttemptProgress{At: c.now, Attempt: a.id, Progress: a.progress, Work: c.workOf(a, a.work)})
			}
		}
	}
	return events
}

func snapshotRun(events []scheduler.Event, b *bundle, p past) []scheduler.Event {
	o := scheduler.Outcome{At: p.launched, Kind: scheduler.DecisionLaunch, Accepted: true, Launch: scheduler.Launch{Bundle: b.id}}
	at := len(events)
	events = append(events, nil)
	for i, k := range p.commits {
		if k != nil {
			o.Attempts = append(o.Attempts, k.attempt)
			o.Launch.Launchers = append(o.Launch.Launchers, k.launcher)
			events = snapshotCommit(events, b, i, k)
			continue
		}
		a := p.run.attempts[i]
		o.Attempts = append(o.Attempts, a.id)
		o.Launch.Launchers = append(o.Launch.Launchers, a.launcher.id)
		events = snapshotAttempt(events, a)
	}
	events[at] = o
	return events
}

func snapshotCommit(events []scheduler.Event, b *bundle, i int, k *commit) []scheduler.Event {
	stage, _, _, _ := b.demand(i)
	events = append(events, scheduler.AttemptStarted{
		At: k.started, Attempt: k.attempt, Job: b.job.id, Bundle: b.id, Group: i, Stage: scheduler.StageID(stage), Launcher: k.launcher, Speculative: k.spec,
	})
	if k.phased != 0 {
		events = append(events, scheduler.AttemptPhase{At: k.phased, Attempt: k.attempt, Phase: scheduler.PhaseExecute})
	}
	return append(events, scheduler.AttemptEnded{At: k.ended, Attempt: k.attempt, Outcome: scheduler.Finished, Work: k.work})
}

func snapshotAttempt(events []scheduler.Event, a *attempt) []scheduler.Event {
	b := a.run.bundle
	stage, _, _, _ := b.demand(a.group)
	if a.started != 0 {
		// Told as if it had never been suspended before: so its running time is right.
		start := a.since.Add(-a.ran)
		events = append(events, scheduler.AttemptStarted{
			At: start, Attempt: a.id, Job: b.job.id, Bundle: b.id, Group: a.group, Stage: scheduler.StageID(stage),
			Launcher: a.launcher.id, Speculative: a.run.speculative,
		})
		if a.phased != 0 {
			events = append(events, scheduler.AttemptPhase{At: max(a.phased, start), Attempt: a.id, Phase: scheduler.PhaseExecute})
		}
		if a.phase == attemptSuspended {
			events = append(events, scheduler.AttemptSuspended{At: max(a.since, a.phased), Attempt: a.id})
		}
	}
	if a.phase == attemptEnded {
		return append(events, scheduler.AttemptEnded{At: a.since, Attempt: a.id, Outcome: a.outcome})
	}
	if a.stop != nil && a.stop.outcome == scheduler.Preempted {
		events = append(events, scheduler.Outcome{
			At: a.stop.at, Kind: scheduler.DecisionPreempt, Accepted: true,
			Preempt: scheduler.Preempt{Victims: []scheduler.AttemptID{a.id}, Mode: scheduler.PreemptKill, For: a.stop.forJob},
		})
	}
	return events
}
