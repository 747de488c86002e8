package faultsim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// dependencyStream distinguishes the random numbers of dependencies from those of the history.
const dependencyStream = 0x6166746572

// dependency is a job that another is to wait for.
type dependency struct {
	of  *fakeJob
	any bool // any end suffices
}

// drawDependencies draws which jobs wait for earlier ones. It has a random generator of its own, so
// that histories without such jobs stay as they were.
func (c *clients) drawDependencies(r *rand.Rand) {
	for i, j := range c.list {
		for _, of := range c.list[:i] {
			if r.IntN(1000) < 50 {
				j.after = append(j.after, dependency{of, r.IntN(2) == 0})
			}
		}
	}
}

// submission returns a job's submission. At the first one it names the jobs to wait for that have
// been accepted by then.
func (c *clients) submission(j *fakeJob) *wire.Submit {
	if !j.submitted {
		j.submitted = true
		for _, d := range j.after {
			if d.of.accepted && !d.of.lost {
				j.spec.After = append(j.spec.After, &wire.JobDependency{Job: d.of.id, Any: d.any})
			}
		}
	}
	m := &wire.Submit{Client: c.name("submit"), Job: j.id, Spec: j.spec}
	for _, d := range j.spec.After {
		if of := c.byID[d.Job]; of.over && !of.lost {
			m.Ended = append(m.Ended, &wire.JobSummary{Job: d.Job, State: of.state})
		}
	}
	return m
}

// failedFor reports whether a failure says that a dependency of a job did not succeed, and that is
// so. In a history whose log lost its end the dependency may be unknown.
func (c *clients) failedFor(j *fakeJob, f *wire.Failure) bool {
	return slices.ContainsFunc(j.spec.After, func(d *wire.JobDependency) bool {
		of := c.byID[d.Job]
		if c.lossy && of.lost && strings.Contains(f.GetMessage(), "can't wait for "+scheduler.JobID(d.Job).String()) {
			return true
		}
		state := of.state // as its client was told: the core forgets jobs that ended long ago
		if s, known := c.Core.JobStatus(scheduler.JobID(d.Job), false); known {
			state = s.Summary.State
		}
		return !d.Any && wire.JobOver(state) && state != jobSucceeded &&
			strings.Contains(f.GetMessage(), scheduler.JobID(d.Job).String()+", which had to succeed first")
	})
}

// checkAfter reports a start of a job before those that it waits for have ended as they should.
func (c *clients) checkAfter(m *wire.StartAttempt) error {
	j := c.byID[m.Job]
	if j == nil || m.Finish != nil && !m.Finish.Publish {
		return nil
	}
	for _, d := range j.spec.After {
		s, ok := c.Core.JobStatus(scheduler.JobID(d.Job), false)
		switch {
		case !ok && c.lossy:
		case !ok || !wire.JobOver(s.Summary.State):
			return fmt.Errorf("attempt %d of %s starts before the end of %s", m.Attempt, j.name, c.byID[d.Job].name)
		case !d.Any && s.Summary.State != jobSucceeded:
			return fmt.Errorf("attempt %d of %s starts, and %s did not succeed", m.Attempt, j.name, c.byID[d.Job].name)
		}
	}
	c.Seen["starts after other jobs"] += min(len(j.spec.After), 1)
	return nil
}
