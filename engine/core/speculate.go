package core

import (
	"cmp"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/engine/core/step"
	"github.com/hamadryad/hamadryad/internal/prefetch"
)

// watchStragglers sets the timer that looks for stragglers while anything runs.
func (c *Core) watchStragglers() {
	if c.step.Set.Speculation && !c.speculating {
		c.speculating = true
		c.step.After(c.step.Set.SpeculationEvery, step.TimerSpeculate, 0)
	}
}

// speculate offers second attempts for stragglers.
func (c *Core) speculate() {
	c.speculating = false
	if c.attempts.Len() == 0 {
		return
	}
	c.watchStragglers()
	for j := range c.jobs.All() {
		if len(j.attempts) > 0 && j.phase == jobRunning && !j.spec.NoSpeculation {
			c.speculateOn(j)
		}
	}
}

// speculateOn looks at all live attempts of a job, in any order, and sorts those that
// straggle. There may be very many, so of most it looks at nothing else.
func (c *Core) speculateOn(j *job) {
	var candidates []*attempt
	marks := make([]time.Duration, len(j.stages)) // computed once
	for i, a := range j.attempts {
		if next := prefetch.Next(j.attempts, i); next != nil {
			prefetchAttempts(next)
		}
		if a.phase == attemptRunning && a.running(c.step.Now) > c.stragglerMark(j, a.stage, marks) && a.mayBeDoubled() {
			candidates = append(candidates, a)
		}
	}
	allowed := max(len(j.attempts)*c.step.Set.SpeculationSharePercent/100, 1)
	// Those that run longest first.
	slices.SortFunc(candidates, func(x, y *attempt) int { return cmp.Or(cmp.Compare(x.started, y.started), cmp.Compare(x.id, y.id)) })
	for _, a := range candidates {
		if j.doubled >= allowed {
			return
		}
		c.wantTwice(a.run.bundle)
	}
}

// stragglerMark is the running time above which an attempt of a stage straggles: far
// longer than others of the stage ran. Of a stage of which too few have finished none does.
func (c *Core) stragglerMark(j *job, stage int32, marks []time.Duration) time.Duration {
	if marks[stage] == 0 {
		marks[stage] = step.DurationMax
		if median, yes := j.stages[stage].Median(c.step.Set.SpeculationAfterPercent); yes {
			marks[stage] = max(c.step.Set.SpeculationMin, median/100*time.Duration(c.step.Set.SpeculationPercent))
		}
	}
	return marks[stage]
}

// mayBeDoubled says whether a second attempt beside this one would help: it is alone,
// does not end, and waits for nothing.
func (a *attempt) mayBeDoubled() bool {
	r, b := a.run, a.run.bundle
	return len(b.runs) == 1 && len(r.attempts) == 1 && !r.speculative && b.twice == 0 &&
		!r.granted && r.stopped == 0 && !a.suspending && a.reads.Misses() == 0
}

// wantTwice offers a running bundle for a second attempt.
func (c *Core) wantTwice(b *bundle) {
	b.setTwice(c.step.Now)
	c.emit(b, c.twiceEvent(b))
	c.touch(b.job)
}
