package core

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hamadryad/hamadryad/engine/core/capacity"
	"github.com/hamadryad/hamadryad/engine/core/step"
	"github.com/hamadryad/hamadryad/internal/sorted"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// blame notes a failure of a bundle on a launcher: the bundle avoids it from now
// on, the job after several, the site after several jobs.
func (c *Core) blame(b *bundle, l *launcher) {
	j := b.job
	j.avoiding = true
	if !slices.Contains(b.avoid, l.ID) {
		if len(b.avoid) >= c.step.Set.AvoidMax {
			b.avoid = b.avoid[len(b.avoid)-c.step.Set.AvoidMax+1:]
		}
		b.avoid = append(slices.Clone(b.avoid), l.ID)
	}
	i, found := slices.BinarySearchFunc(j.blamed, l.ID, func(x blame, id scheduler.LauncherID) int { return cmp.Compare(x.launcher, id) })
	if !found {
		j.blamed = slices.Insert(j.blamed, i, blame{launcher: l.ID})
	}
	if j.blamed[i].failures++; j.blamed[i].failures != c.step.Set.BlameAfter {
		return
	}
	c.noteJob(j, fmt.Sprintf("launcher %s is avoided: %d attempts failed there", l.Name, c.step.Set.BlameAfter))
	j.avoid = sorted.Add(slices.Clone(j.avoid), l.ID)
	for b := range j.allReady() {
		c.announceAgain(b)
	}
	if !c.capacity.Blame(&l.Launcher, j.id, capacity.BlameLimits{Jobs: c.step.Set.BlameJobs, SharePercent: c.step.Set.BlameSharePercent}) {
		return
	}
	c.step.Stats.Blamed++
	c.step.Log(Warn, "a launcher is avoided for a while: attempts of several jobs failed there", "launcher", l.Name, "for", c.step.Set.BlameFor.String())
	c.step.After(c.step.Set.BlameFor, step.TimerBlame, uint64(l.ID))
}

// announceAgain tells the policy of a ready bundle anew, because the launchers
// it avoids are others now.
func (c *Core) announceAgain(b *bundle) {
	c.dropAvoidIfAll(b)
	c.announce(b)
}

func (c *Core) announce(b *bundle) {
	b.since = c.step.Now
	c.emit(b, scheduler.BundleWithdrawn{At: c.step.Now, Job: b.job.id, Bundle: b.id})
	c.emit(b, c.readyEvent(b))
}

// dropAvoidIfAll forgets what a bundle avoids when nothing else is left: a
// launcher where it failed is better than none.
func (c *Core) dropAvoidIfAll(b *bundle) {
	if len(b.avoid) > 0 && !c.somewhere(b) {
		b.avoid = b.avoid[len(b.avoid)-1:] // where it failed last is still avoided
		if !c.somewhere(b) {
			b.avoid = nil
		}
	}
	if len(b.job.avoid) > 0 && !c.somewhere(b) {
		b.job.avoid, b.job.blamed = nil, nil
		for other := range b.job.allReady() {
			if other != b {
				c.announce(other) // the policy was told what the job avoided
			}
		}
	}
}

// somewhere says whether a bundle would have room on the launchers that it does
// not avoid, were they empty. A gang may need one of those where it failed.
func (c *Core) somewhere(b *bundle) bool {
	return c.capacity.FitsEmpty(b, func(l *capacity.Launcher) bool {
		return l.Usable() && !sorted.Has(b.job.avoid, l.ID) && !slices.Contains(b.avoid, l.ID)
	})
}

// relaxAvoid looks, after launchers came or went, whether some ready bundle now
// avoids all that is left.
func (c *Core) relaxAvoid() {
	for j := range c.jobs.All() {
		if !j.avoiding {
			continue
		}
		for b := range j.allReady() {
			if (len(b.avoid) > 0 || len(j.avoid) > 0) && !c.somewhere(b) {
				c.announceAgain(b)
			}
		}
	}
}
