package core

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	"github.com/hamadryad/hamadryad/engine/core/inputs"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// heldUpBy marks the bundles, by index, that attempts wait for: those that write
// what they miss, and what those need in turn before they can start.
func (j *job) heldUpBy(runs []*run) []bool {
	var readers []*inputs.Reader
	for _, r := range runs {
		for _, a := range r.attempts {
			readers = append(readers, &a.reads)
		}
	}
	return j.inputs.HeldUpBy(readers, func(bundle int) iter.Seq[int32] {
		if b := &j.bundles[bundle]; b.phase == bundleWaiting {
			return b.allNodes()
		}
		return nil
	})
}

// takeBack frees slots for a bundle that early readers of its job wait for and
// that has found none: the youngest of those that wait are stopped until it
// fits, and what they free is kept for it. They start again when their inputs
// are complete, so that they can't take the slots from the next such bundle. A
// job that got slots a short while ago is left alone: its turn comes again.
func (c *Core) takeBack(id scheduler.JobID) {
	j := c.jobs.Get(id)
	if j == nil {
		return
	}
	j.watched = false
	runs := c.youngestWaiting(j)
	if j.phase != jobRunning || len(runs) == 0 {
		return
	}
	c.watchWaiting(j)
	var wanted []bool
	tried := 0
	for b := range j.allReady() {
		waited := c.step.Now.Sub(max(b.since, j.lastLaunch))
		if waited < c.step.Set.TakeBackAfter {
			continue
		}
		if wanted == nil {
			wanted = j.heldUpBy(runs)
		}
		if !wanted[b.index] {
			continue
		}
		if c.capacity.BeingFreed(b.id) || !c.fits(b, nil, nil) && c.takeFor(b, runs) {
			return
		}
		if waited >= passedOver*c.step.Set.TakeBackAfter {
			c.takeRun(runs[0], b)
			return
		}
		if tried++; tried == bundlesTried {
			break
		}
	}
	c.takeForSuspended(j, runs, wanted)
}

// passedOver is how many times takeBackAfter work that readers wait for may be
// passed over though it has room, or would not have it with all of them gone:
// then the youngest is stopped all the same. A policy may be collecting the very
// slots that it waits on for another job, or two jobs' readers stand in each
// other's way.
const passedOver = 6

// takeFor stops as many of the waiting, the youngest first, as make room; false
// when all of them do not.
func (c *Core) takeFor(b *bundle, runs []*run) bool {
	for n := range runs {
		if c.fits(b, nil, freedBy(runs[:n+1], false)) {
			c.takeRuns(b, runs[:n+1])
			return true
		}
	}
	return false
}

// takeForSuspended stops waiting readers that hold the slots which work of their
// job, suspended and waited for, needs to go on. Nothing is kept for it: whoever
// resumes sees that there is room.
func (c *Core) takeForSuspended(j *job, runs []*run, wanted []bool) {
	for s := range c.suspended.All() {
		if s.bundle.job != j || s.bundle.last() || s.stopped != 0 || c.step.Now.Sub(max(s.suspended, j.lastLaunch)) < c.step.Set.TakeBackAfter {
			continue
		}
		if wanted == nil {
			wanted = j.heldUpBy(runs)
		}
		if !wanted[s.bundle.index] {
			continue
		}
		if victims := inTheWay(s, runs); len(victims) > 0 {
			for _, r := range victims {
				c.takeRun(r, s.bundle)
			}
			return
		}
	}
}

// inTheWay lists the runs, in their order, whose end gives a suspended one the
// slots that it lacks; none if it lacks none, or all of them do not give enough.
func inTheWay(s *run, runs []*run) (victims []*run) {
	type place struct {
		launcher *launcher
		kind     string
	}
	var places []place
	lacks := map[place]int{}
	for _, a := range s.attempts {
		if a.phase == attemptSuspended && !a.resuming {
			p := place{a.launcher, a.Kind}
			if _, there := lacks[p]; !there {
				places = append(places, p)
				lacks[p] = -a.launcher.Free().Of(a.Kind) - a.launcher.stopping(a.Kind)
			}
			lacks[p] += a.Slots
		}
	}
	for _, r := range runs {
		helps := false
		for _, a := range r.attempts {
			if p := (place{a.launcher, a.Kind}); a.HasSlots && a.phase != attemptEnded && lacks[p] > 0 {
				lacks[p] -= a.Slots
				helps = true
			}
		}
		if helps {
			victims = append(victims, r)
		}
	}
	if slices.ContainsFunc(places, func(p place) bool { return lacks[p] > 0 }) {
		return nil
	}
	return victims
}

// stopping counts the slots that attempts hold which were told to stop.
func (l *launcher) stopping(kind string) (n int) {
	for _, a := range l.attempts {
		if a.stop != nil && a.HasSlots && a.Kind == kind {
			n += a.Slots
		}
	}
	return n
}

// youngestWaiting lists the running bundle attempts of a job that wait for sources
// to be made, the last started first.
func (c *Core) youngestWaiting(j *job) []*run {
	var runs []*run
	for _, a := range j.attempts.sorted() {
		if a.reads.Misses() > 0 && a.run.stopped == 0 && !a.run.granted && !slices.Contains(runs, a.run) && j.inputs.Waits(&a.reads) {
			runs = append(runs, a.run)
		}
	}
	slices.SortFunc(runs, func(x, y *run) int { return cmp.Compare(y.id, x.id) })
	return runs
}

func (c *Core) takeRuns(b *bundle, runs []*run) {
	k := c.reserve(b.job.id, b.id, 0)
	for _, r := range runs {
		for _, a := range r.attempts {
			if a.phase != attemptEnded {
				c.capacity.AddVictim(k, &a.Holding)
			}
		}
		c.takeRun(r, b)
	}
}

// takeRun stops a reader for a bundle that it waits for.
func (c *Core) takeRun(r *run, b *bundle) {
	j := b.job
	c.step.Stats.TakenBack++
	c.noteJob(j, fmt.Sprintf("%s was taken back: %s, which it waits for, found no slot", j.describe(r.bundle, 0), j.describe(b, 0)))
	j.inputs.SetLate(&r.bundle.gate, r.bundle.allNodes())
	c.stopRun(r, scheduler.Preempted, "taken back: what it waits for found no slot", 0, j.id)
}
