package core

import (
	"io"
	"maps"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/engine/core/capacity"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Frozen is the state of a core at one moment. It stays while the core goes on.
type Frozen struct{ core *Core }

// Freeze returns the state between two steps, to be written by another goroutine. It
// takes far less time than writing: arrays are copied as they are, and only what lives
// (launchers, running attempts, reservations) is gone through one by one. What is shared with
// the core nobody changes: specifications, plans, messages, events and commits. Where that
// is too long still (FreezeTime), a core that replays the log beside this one writes the
// same checkpoint.
func (c *Core) Freeze() *Frozen {
	f := *c
	f.prepared, f.ended = slices.Clone(c.prepared), slices.Clone(c.ended)
	f.step, f.ids = c.step.Clone(), c.ids.Clone()
	f.suspended = c.suspended.Clone(func(r *run) *run { return r }) // of which the ids are written
	f.policy = c.policy.Clone()
	f.launchers = c.launchers.Clone((*launcher).frozen)
	f.capacity = c.capacity.Clone(func(id scheduler.LauncherID) *capacity.Launcher { return &f.launchers.Get(id).Launcher })
	f.jobs = c.jobs.Clone((*job).frozen)
	return &Frozen{&f}
}

// What it takes to freeze one of each, as measured with memory that is touched for the
// first time, which is most of it. A bundle has a stored output.
const (
	freezeJob         = time.Microsecond
	freezeBundle      = 250 * time.Nanosecond
	freezeAttempt     = time.Microsecond
	freezeLauncher    = time.Microsecond
	freezeReservation = time.Microsecond
	freezeSmall       = 10 * time.Nanosecond // a timer, or an event for the policy
)

// FreezeTime estimates how long Freeze takes now: within half and twice of it on the
// machine where it was measured. It goes through the jobs, and nothing that a job has many of.
func (c *Core) FreezeTime() time.Duration {
	small := c.step.Timers() + c.policy.Events()
	took := time.Duration(c.launchers.Len())*freezeLauncher + time.Duration(c.attempts.Len())*freezeAttempt +
		time.Duration(c.capacity.Reservations())*freezeReservation + time.Duration(small)*freezeSmall
	for _, id := range c.jobs.IDs() {
		took += freezeJob + time.Duration(len(c.jobs.Get(id).bundles))*freezeBundle
	}
	return took
}

// Write writes the checkpoint, which is that of the moment of Freeze.
func (f *Frozen) Write(to io.Writer) error { return f.core.WriteCheckpoint(to) }

func (l *launcher) frozen() *launcher {
	f := *l
	f.Launcher = l.Clone()
	f.names, f.line = slices.Clone(l.names), l.line.Clone()
	f.outputs = maps.Clone(l.outputs) // of which the ids are written
	f.attempts = nil                  // written with their jobs
	return &f
}

func (j *job) frozen() *job {
	f := *j
	f.attempts = nil // written with their bundles
	f.avoid, f.ranOn, f.blamed = slices.Clone(j.avoid), slices.Clone(j.ranOn), slices.Clone(j.blamed)
	f.tally, f.notes, f.kept = j.tally.Clone(), slices.Clone(j.notes), slices.Clone(j.kept)
	f.stages = slices.Clone(j.stages)
	for i := range f.stages {
		f.stages[i].Stage = j.stages[i].Clone()
	}
	f.inputs = j.inputs.Clone()
	f.bundles = slices.Clone(j.bundles)
	for i := range f.bundles {
		b := &f.bundles[i]
		if len(b.runs) > 0 || len(b.avoid) > 0 {
			b.runs, b.avoid = frozenRuns(b.runs), slices.Clone(b.avoid)
		}
	}
	return &f
}

func frozenRuns(runs []*run) []*run {
	list := make([]*run, len(runs))
	for i, r := range runs {
		f := *r
		f.commits = slices.Clone(r.commits)
		f.attempts = make([]*attempt, len(r.attempts))
		for k, a := range r.attempts {
			f.attempts[k] = a.frozen()
		}
		list[i] = &f
	}
	return list
}

func (a *attempt) frozen() *attempt {
	f := *a
	f.reads = a.reads.Clone()
	if a.stop != nil {
		stop := *a.stop
		f.stop = &stop
	}
	return &f
}
