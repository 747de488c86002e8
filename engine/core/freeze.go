package core

import (
	"io"
	"time"
)

// Frozen is a copy of a core's state at one moment, unaffected by later steps.
type Frozen struct{ core *Core }

// Freeze returns the state between two steps, for another goroutine to write. It takes far less
// time than writing: it copies arrays whole, and only live objects (launchers, running attempts,
// reservations) one by one. It shares immutable data with the core: specifications, plans,
// messages, events and commits. If even that takes too long (FreezeTime), another core that replays
// the log writes the same checkpoint.
func (c *Core) Freeze() *Frozen {
	return &Frozen{newCore(c.state.Freeze())}
}

// The time to freeze one of each, measured with memory that is touched for the first time, which is
// most of the time. A bundle has a stored output.
const (
	freezeJob         = time.Microsecond
	freezeBundle      = 250 * time.Nanosecond
	freezeAttempt     = time.Microsecond
	freezeLauncher    = time.Microsecond
	freezeReservation = time.Microsecond
	freezeSmall       = 10 * time.Nanosecond // a timer, or an event for the policy
)

// FreezeTime estimates how long Freeze takes now: within half and twice of it on the machine where
// it was measured. It walks the jobs, but not their bundles or attempts.
func (c *Core) FreezeTime() time.Duration {
	small := c.state.Step.Timers() + c.state.Policy.Events()
	took := time.Duration(c.state.Cluster.Launchers.Len())*freezeLauncher + time.Duration(c.state.Cluster.Attempts.Len())*freezeAttempt +
		time.Duration(c.state.Resources.Reservations.Len())*freezeReservation + time.Duration(small)*freezeSmall
	for _, id := range c.state.Cluster.Jobs.IDs() {
		took += freezeJob + time.Duration(len(c.state.Cluster.Jobs.Get(id).Bundles))*freezeBundle
	}
	return took
}

// Write writes the checkpoint of the moment of Freeze.
func (f *Frozen) Write(to io.Writer) error { return f.core.WriteCheckpoint(to) }
