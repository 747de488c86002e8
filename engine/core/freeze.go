package core

import (
	"io"
	"time"
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
	return &Frozen{newCore(c.state.Freeze())}
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
	small := c.state.Step.Timers() + c.state.Policy.Events()
	took := time.Duration(c.state.Cluster.Launchers.Len())*freezeLauncher + time.Duration(c.state.Cluster.Attempts.Len())*freezeAttempt +
		time.Duration(c.state.Resources.Reservations.Len())*freezeReservation + time.Duration(small)*freezeSmall
	for _, id := range c.state.Cluster.Jobs.IDs() {
		took += freezeJob + time.Duration(len(c.state.Cluster.Jobs.Get(id).Bundles))*freezeBundle
	}
	return took
}

// Write writes the checkpoint, which is that of the moment of Freeze.
func (f *Frozen) Write(to io.Writer) error { return f.core.WriteCheckpoint(to) }
