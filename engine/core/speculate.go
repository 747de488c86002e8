package core

import (
	"cmp"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/prefetch"
)

// watchStragglers sets the timer that looks for stragglers while anything runs.
func (c *Core) watchStragglers() {
	if c.set.Speculation && !c.speculating {
		c.speculating = true
		c.after(c.set.SpeculationEvery, timerSpeculate, 0)
	}
}

// speculate offers second attempts for stragglers.
func (c *Core) speculate() {
	c.speculating = false
	if c.attempts.Len() == 0 {
		return
	}
	c.watchStragglers()
	for j := range c.jobs.all() {
		if len(j.attempts) > 0 && j.phase == jobRunning && !j.spec.NoSpeculation {
			c.speculateOn(j)
		}
	}
}

// speculateOn looks at all live attempts of a job, in any order, and sorts those that
// straggle.
func (c *Core) speculateOn(j *job) {
	second := 0
	var candidates []*attempt
	marks := make([]time.Duration, len(j.stages)) // computed once
	for i, a := range j.attempts {
		if next := prefetch.Next(j.attempts, i); next != nil {
			prefetchStragglers(next)
		}
		if a.run.speculative || a.run.bundle.twice != 0 {
			second++
			continue
		}
		if c.straggles(a, marks) {
			candidates = append(candidates, a)
		}
	}
	allowed := max(len(j.attempts)*c.set.SpeculationSharePercent/100, 1)
	// Those that run longest first.
	slices.SortFunc(candidates, func(x, y *attempt) int { return cmp.Or(cmp.Compare(x.started, y.started), cmp.Compare(x.id, y.id)) })
	for _, a := range candidates {
		if second >= allowed {
			return
		}
		second++
		c.wantTwice(a.run.bundle)
	}
}

// straggles says whether an attempt runs far longer than others of its stage did.
func (c *Core) straggles(a *attempt, marks []time.Duration) bool {
	r, b := a.run, a.run.bundle
	if len(b.runs) != 1 || len(r.attempts) != 1 || r.granted || r.stopped != 0 || a.phase != attemptRunning || a.suspending || a.misses > 0 {
		return false
	}
	mark := marks[a.stage]
	if mark == 0 {
		s := &b.job.stages[a.stage]
		mark = durationMax
		if s.done > 0 && s.done*100 >= s.groups*c.set.SpeculationAfterPercent {
			median := s.times.median()
			mark = max(c.set.SpeculationMin, median/100*time.Duration(c.set.SpeculationPercent))
		}
		marks[a.stage] = mark
	}
	return a.running(c.now) > mark
}

// wantTwice offers a running bundle for a second attempt.
func (c *Core) wantTwice(b *bundle) {
	b.twice = c.now
	c.emit(b, c.twiceEvent(b))
	c.touch(b.job)
}

func (c *Core) twiceEvent(b *bundle) scheduler.BundleWantedTwice {
	avoid := slices.Clone(c.avoidOf(b))
	for _, r := range b.runs {
		for _, a := range r.attempts {
			avoid = addSorted(avoid, a.launcher.id)
		}
	}
	return scheduler.BundleWantedTwice{At: b.twice, Job: b.job.id, Bundle: b.id, Groups: c.groupsFor(b, true), Avoid: avoid}
}
