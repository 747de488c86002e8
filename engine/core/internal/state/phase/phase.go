// Package phase is the state machine of one attempt, from its launch to its end. It has the
// attempt's phase, the request that it has not fulfilled yet, and how long it ran. It knows no
// slots, messages or policies.
//
// # Invariants
//
// An attempt is assigned, runs, may be suspended and run again, and ends once. One request is open
// at a time: to suspend while it runs, to resume while it is suspended, or to stop. Nothing takes
// back a stop. Its running time excludes suspensions.
package phase

import (
	"fmt"
	"time"

	"github.com/hamadryad/hamadryad/engine/core/internal/checkpoint"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Phase is the phase of an attempt.
type Phase uint8

const (
	Assigned Phase = iota // the start command was sent to its launcher
	Running
	Suspended
	Ended
)

// Stop is why an attempt is being stopped.
type Stop struct {
	Outcome scheduler.AttemptOutcome
	Grace   time.Duration // before it is killed; 0: at once
	Reason  string
	ForJob  scheduler.JobID // the beneficiary; 0: none
	At      scheduler.Time
}

// Machine is the state machine of one attempt. The zero value is assigned. Not safe for
// concurrent use.
type Machine struct {
	phase   Phase
	started scheduler.Time
	since   scheduler.Time // start of the running or suspended phase, or the end
	ran     time.Duration  // running time up to since
	execute scheduler.Time // when it began to execute; 0: not reported
	outcome scheduler.AttemptOutcome

	stop       *Stop
	suspending bool
	resuming   bool
}

// Phase returns the attempt's phase.
func (c *Machine) Phase() Phase { return c.phase }

// Started returns when the attempt began to run; 0 before.
func (c *Machine) Started() scheduler.Time { return c.started }

// Since returns when the attempt last began to run, was suspended or ended.
func (c *Machine) Since() scheduler.Time { return c.since }

// Ran returns the running time up to the start of the current phase.
func (c *Machine) Ran() time.Duration { return c.ran }

// SuspendedTime returns the suspended time up to the start of the current phase.
func (c *Machine) SuspendedTime() time.Duration {
	if c.started == 0 {
		return 0
	}
	return c.since.Sub(c.started) - c.ran
}

// Executing returns since when the attempt executes, after reading its input; 0: not reported.
func (c *Machine) Executing() scheduler.Time { return c.execute }

// Outcome returns how the attempt ended.
func (c *Machine) Outcome() scheduler.AttemptOutcome { return c.outcome }

// Stop returns why the attempt is being stopped; nil: it is not. The caller must not change it.
func (c *Machine) Stop() *Stop { return c.stop }

// Suspending says whether a request to suspend is open.
func (c *Machine) Suspending() bool { return c.suspending }

// Resuming says whether a request to resume is open.
func (c *Machine) Resuming() bool { return c.resuming }

// WaitsForResume says whether the attempt is suspended and no request to resume is open.
func (c *Machine) WaitsForResume() bool { return c.phase == Suspended && !c.resuming }

// Running returns the attempt's total running time.
func (c *Machine) Running(now scheduler.Time) time.Duration {
	if c.phase == Running {
		return c.ran + now.Sub(c.since)
	}
	return c.ran
}

// Start marks the attempt as running.
func (c *Machine) Start(now scheduler.Time) { c.phase, c.started, c.since = Running, now, now }

// Execute records that the attempt executes; false if that was known.
func (c *Machine) Execute(now scheduler.Time) bool {
	if c.execute != 0 {
		return false
	}
	c.execute = now
	return true
}

// AskSuspend opens a request to suspend. It returns false if the attempt does not run, or a
// request to suspend or stop is open.
func (c *Machine) AskSuspend() bool {
	if c.phase != Running || c.suspending || c.stop != nil {
		return false
	}
	c.suspending = true
	return true
}

// CannotSuspend withdraws the request to suspend.
func (c *Machine) CannotSuspend() { c.suspending = false }

// Suspend marks the attempt as suspended; false if no request to suspend is open.
func (c *Machine) Suspend(now scheduler.Time) bool {
	if c.phase != Running || !c.suspending {
		return false
	}
	c.ran, c.since = c.Running(now), now
	c.phase, c.suspending = Suspended, false
	return true
}

// AskResume opens a request to resume. The attempt must be suspended.
func (c *Machine) AskResume() { c.resuming = true }

// Resume marks the attempt as running again; false if no request to resume is open.
func (c *Machine) Resume(now scheduler.Time) bool {
	if c.phase != Suspended || !c.resuming {
		return false
	}
	c.phase, c.resuming, c.since = Running, false, now
	return true
}

// AskStop opens a request to stop, which overrides any other. It returns false if a stop is open
// already and this one is not harder. The first reason stays.
func (c *Machine) AskStop(s Stop) bool {
	switch {
	case c.stop == nil:
		c.stop = &s
	case c.stop.Grace == 0 || s.Grace > 0:
		return false
	default:
		harder := *c.stop // a copy of the course has the old one
		harder.Grace = 0
		c.stop = &harder
	}
	c.suspending, c.resuming = false, false
	return true
}

// End marks the attempt as ended.
func (c *Machine) End(now scheduler.Time, outcome scheduler.AttemptOutcome) {
	c.ran, c.since, c.outcome = c.Running(now), now, outcome
	c.phase, c.suspending, c.resuming = Ended, false, false
}

// Check verifies the invariants.
func (c *Machine) Check() error {
	switch {
	case c.suspending && c.phase != Running, c.resuming && c.phase != Suspended:
		return fmt.Errorf("in phase %d it is asked to suspend: %t, to resume: %t", c.phase, c.suspending, c.resuming)
	case c.stop != nil && (c.suspending || c.resuming):
		return fmt.Errorf("it is being stopped, and asked to suspend: %t, to resume: %t", c.suspending, c.resuming)
	case c.phase != Assigned && c.phase != Ended && c.started == 0:
		return fmt.Errorf("in phase %d it never started", c.phase)
	}
	return nil
}

// CodePhase, CodeAsked, CodeTimes and CodeStop code its parts, which lie apart in a
// checkpoint.
func (c *Machine) CodePhase(w *checkpoint.Codec) { checkpoint.Num(w, &c.phase) }

// CodeAsked codes the open requests, except a stop.
func (c *Machine) CodeAsked(w *checkpoint.Codec) {
	checkpoint.Flag(w, &c.suspending)
	checkpoint.Flag(w, &c.resuming)
}

// CodeTimes codes the attempt's times and its outcome.
func (c *Machine) CodeTimes(w *checkpoint.Codec) {
	checkpoint.Num(w, &c.started)
	checkpoint.Num(w, &c.since)
	checkpoint.Num(w, &c.ran)
	checkpoint.Num(w, &c.execute)
	checkpoint.Num(w, &c.outcome)
}

// CodeStop codes why the attempt is being stopped.
func (c *Machine) CodeStop(w *checkpoint.Codec) {
	checkpoint.Opt(w, &c.stop, func(w *checkpoint.Codec, s *Stop) {
		checkpoint.Num(w, &s.Outcome)
		checkpoint.Num(w, &s.Grace)
		checkpoint.Str(w, &s.Reason)
		checkpoint.Num(w, &s.ForJob)
		checkpoint.Num(w, &s.At)
	})
}
