package cluster

import (
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// launch makes attempts of a bundle; the checks are done.
func (c *Cluster) launch(b *bundle, where []scheduler.LauncherID) []scheduler.AttemptID {
	r := &run{bundle: b, second: b.state == launched}
	if r.second {
		c.Tally.Seconds++
	}
	b.state, b.twice = launched, false
	b.outputs, b.gone = nil, false
	if b.preempted > 0 {
		c.protect(b)
	}
	b.runs = append(b.runs, r)
	layer := b.job.spec.Layers[b.layer]
	var ids []scheduler.AttemptID
	for i := range b.groups {
		l := c.launcher(where[i])
		// Groups of a bundle take about equally long, and no two just as long.
		left := layer.Run/2 + time.Duration(c.rng.Int64N(int64(layer.Run)))
		a := &attempt{
			id: scheduler.AttemptID(c.id()), run: r, group: i, need: &b.groups[i], on: l,
			left: max(left, time.Millisecond), shuffles: layer.Shuffles,
		}
		ids = append(ids, a.id)
		r.attempts = append(r.attempts, a)
		l.attempts = append(l.attempts, a)
		c.tallyPlace(a)
		c.After(startDelay, func() { c.start(a) })
	}
	return ids
}

func (c *Cluster) tallyPlace(a *attempt) {
	if a.on.told.CPU > BusyOver {
		c.Tally.Busy++
	}
	if len(a.need.Places) == 0 {
		return
	}
	c.Tally.Located++
	if a.need.Places[0].Host == a.on.info.Host {
		c.Tally.Local++
	}
}

// about tells an event of a bundle and keeps it for snapshots.
func (c *Cluster) about(b *bundle, e scheduler.Event) {
	b.tale = append(b.tale, c.tell(e))
}

func (a *attempt) live() bool { return slices.Contains(a.run.attempts, a) }

func (c *Cluster) start(a *attempt) {
	if !a.live() || a.state != assigned {
		return
	}
	b := a.run.bundle
	c.about(b, scheduler.AttemptStarted{
		At: c.now, Attempt: a.id, Job: b.job.info.ID, Bundle: b.id, Group: a.group,
		Stage: a.need.Stage, Launcher: a.on.id, Speculative: a.run.second,
	})
	c.goOn(a)
}

// goOn lets an attempt run for what it has left.
func (c *Cluster) goOn(a *attempt) {
	a.state, a.since = running, c.now
	a.life++
	life, b := a.life, a.run.bundle
	still := func() bool { return a.live() && a.life == life }
	c.After(a.left/2, func() {
		if still() {
			c.halfway(a)
		}
	})
	if b.failures == 0 && b.job.spec.Layers[b.layer].FailOnce {
		c.After(a.left*3/4, func() {
			if still() {
				c.over(a, scheduler.Failed)
			}
		})
		return
	}
	c.After(a.left, func() {
		if still() {
			c.over(a, scheduler.Finished)
		}
	})
}

// over ends an attempt that came to its own end. What is being killed did its work if
// it is alone and finished; else it was preempted.
func (c *Cluster) over(a *attempt, outcome scheduler.AttemptOutcome) {
	r := a.run
	switch {
	case !r.kills(), outcome == scheduler.Finished && len(r.bundle.groups) == 1:
		c.end(a, outcome, 0)
	case len(r.attempts) == 1:
		c.end(a, scheduler.Preempted, r.leaving.by.For)
	default:
		c.drop(a, scheduler.Preempted, r.leaving.by.For)
	}
}

func (c *Cluster) halfway(a *attempt) {
	if a.shuffles {
		c.about(a.run.bundle, scheduler.AttemptPhase{At: c.now, Attempt: a.id, Phase: scheduler.PhaseExecute})
		a.shuffles = false
	}
	if c.Abilities.Has(scheduler.AbilityProgress) {
		c.about(a.run.bundle, scheduler.AttemptProgress{At: c.now, Attempt: a.id, Progress: 0.5, Work: scheduler.Work{Running: c.ran(a)}})
	}
}

func (c *Cluster) ran(a *attempt) time.Duration {
	if a.state == running {
		return a.ran + c.now.Sub(a.since)
	}
	return a.ran
}

func (c *Cluster) suspend(a *attempt) {
	spent := c.now.Sub(a.since)
	a.ran += spent
	a.left = max(a.left-spent, time.Millisecond)
	a.state = suspended
	c.freed(a, a.need.Slots, 0)
	a.life++
	life := a.life
	c.about(a.run.bundle, scheduler.AttemptSuspended{At: c.now, Attempt: a.id})
	c.Tally.Suspensions++
	if c.Abilities.Has(scheduler.AbilityResume) {
		return
	}
	c.After(SuspendMax, func() {
		if a.live() && a.life == life {
			c.end(a, scheduler.Preempted, 0)
		}
	})
}

func (c *Cluster) resume(r *run) {
	c.protect(r.bundle)
	c.suspendedRuns = slices.DeleteFunc(c.suspendedRuns, func(x *run) bool { return x == r })
	for _, a := range r.attempts {
		c.about(r.bundle, scheduler.AttemptResumed{At: c.now, Attempt: a.id})
		c.goOn(a)
		c.Tally.Resumptions++
	}
}

// resumable says whether all of a run is suspended and its slots are free.
func (c *Cluster) resumable(r *run) bool {
	room := c.room(nil)
	for _, a := range r.attempts {
		if a.state != suspended || !room.take(a.on.id, a.need.Kind, a.need.Slots, 0) {
			return false
		}
	}
	return len(r.attempts) > 0
}

// drop takes an attempt out of the books and tells of its end.
func (c *Cluster) drop(a *attempt, outcome scheduler.AttemptOutcome, beneficiary scheduler.JobID) {
	a.ran = c.ran(a)
	a.run.attempts = slices.DeleteFunc(a.run.attempts, func(x *attempt) bool { return x == a })
	a.on.attempts = slices.DeleteFunc(a.on.attempts, func(x *attempt) bool { return x == a })
	slots := a.need.Slots
	if a.state == suspended {
		slots = 0
	}
	c.freed(a, slots, a.need.Memory)
	a.run.bundle.twice = false
	c.about(a.run.bundle, scheduler.AttemptEnded{
		At: c.now, Attempt: a.id, Outcome: outcome, Work: scheduler.Work{Running: a.ran}, For: beneficiary,
	})
	a.life++
}

// end ends an attempt and does what follows for its bundle and its job.
func (c *Cluster) end(a *attempt, outcome scheduler.AttemptOutcome, beneficiary scheduler.JobID) {
	if !a.live() {
		return // ended with a peer
	}
	r, b := a.run, a.run.bundle
	c.drop(a, outcome, beneficiary)
	if outcome == scheduler.Finished {
		c.attemptFinished(a, r, b)
		return
	}
	for _, peer := range slices.Clone(r.attempts) {
		switch {
		case outcome == scheduler.Preempted:
			c.drop(peer, outcome, beneficiary)
		case r.kills() && c.launcher(peer.on.id) == peer.on:
			c.drop(peer, scheduler.Preempted, r.leaving.by.For)
		default:
			c.drop(peer, scheduler.Lost, 0) // a peer went away
		}
	}
	b.runs = slices.DeleteFunc(b.runs, func(x *run) bool { return x == r })
	if outcome == scheduler.Failed {
		c.Tally.Failed++
		b.failures++
		if !slices.Contains(b.avoid, a.on.id) {
			b.avoid = append(slices.Clone(b.avoid[max(0, len(b.avoid)-avoidMax+1):]), a.on.id)
		}
	}
	if len(b.runs) > 0 || b.state != launched {
		return
	}
	b.state, b.tale = waiting, nil
	if b.failures >= failuresMax {
		c.endJob(b.job, scheduler.JobFailed)
		return
	}
	c.refresh(b.job)
}

// attemptFinished: the first of two attempts to commit a group wins for its run.
func (c *Cluster) attemptFinished(a *attempt, r *run, b *bundle) {
	r.done++
	b.outputs = append(b.outputs, a.on.id)
	for _, other := range slices.Clone(b.runs) {
		if other == r {
			continue
		}
		for _, x := range slices.Clone(other.attempts) {
			c.drop(x, scheduler.Killed, 0)
		}
		b.runs = slices.DeleteFunc(b.runs, func(x *run) bool { return x == other })
	}
	if r.done < len(b.groups) {
		return
	}
	b.runs, b.state = nil, finished
	c.releaseOf(b)
	c.Tally.Finished++
	c.wantAgain(b.job)
	for _, other := range b.job.bundles {
		if other.state != finished {
			c.refresh(b.job)
			return
		}
	}
	c.endJob(b.job, scheduler.JobSucceeded)
}

// mayBeDoubled says whether a second attempt would help: the first is alone, runs, and
// does not end.
func (b *bundle) mayBeDoubled() bool {
	if b.state != launched || b.twice || len(b.runs) != 1 {
		return false
	}
	r := b.runs[0]
	return !r.second && r.leaving == nil && r.done == 0 && r.attempts[0].state == running
}

// onceOnly ends the offer to launch a bundle a second time, for a reason that snapshots do
// not tell: they don't tell of the offer, then.
func (b *bundle) onceOnly() {
	if !b.twice {
		return
	}
	b.twice = false
	for i, t := range slices.Backward(b.tale) {
		if _, is := t.event.(scheduler.SpeculationOffered); is {
			b.tale = slices.Delete(b.tale, i, i+1)
			return
		}
	}
}

// Straggle lets the nth running bundle be offered a second attempt.
func (c *Cluster) Straggle(n int) {
	var all []*bundle
	for _, j := range c.jobs {
		for _, b := range j.bundles {
			if b.mayBeDoubled() && (!c.Plain || len(b.groups) == 1) {
				all = append(all, b)
			}
		}
	}
	if len(all) == 0 {
		return
	}
	b := all[n%len(all)]
	b.twice = true
	c.Tally.SpeculationOffered++
	avoid := slices.Clone(b.avoid)
	for _, a := range b.runs[0].attempts {
		avoid = append(avoid, a.on.id)
	}
	slices.Sort(avoid)
	b.secondAvoid = slices.Compact(avoid)
	c.about(b, scheduler.SpeculationOffered{At: c.now, Job: b.job.info.ID, Bundle: b.id, Groups: b.groups, Avoid: b.secondAvoid})
}
