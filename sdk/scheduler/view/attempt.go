package view

import (
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// AttemptState is where a live attempt stands.
type AttemptState uint8

// The states of an attempt.
const (
	Assigned  AttemptState = iota // accepted, its worker has not started
	Running                       // its worker runs
	Suspended                     // stopped: no slots, but memory, in swap as far as there is room
)

// String returns the state's name.
func (s AttemptState) String() string { return [...]string{"assigned", "running", "suspended"}[s] }

// Attempt is a live attempt.
type Attempt struct {
	ID       scheduler.AttemptID
	Bundle   *Bundle
	Group    int
	Need     *scheduler.Group // what it takes
	Launcher scheduler.LauncherID
	// Speculative says that it is the second of two, whether the first lives or not. From
	// a snapshot, of one whose first is gone, it is known once one of its groups has
	// started.
	Speculative bool
	State       AttemptState
	Phase       scheduler.Phase // 0 while assigned
	Progress    float64         // as last reported, 0 to 1
	Work        scheduler.Work  // as last reported
	// Since is when State was entered, PhaseSince when Phase was, AssignedAt when
	// the launch was accepted.
	Since, PhaseSince, AssignedAt scheduler.Time
	// Leaving is the job for which an accepted preemption takes the attempt's
	// slots, 0 when none does.
	Leaving scheduler.JobID
	// Resuming says that it is suspended, and an accepted resumption has it go on: it holds
	// its slots.
	Resuming bool

	suspending bool // it is leaving to be suspended

	run   *run
	on    *Launcher     // nil in Start, for one that joins after it, or is gone
	place int           // in its job's list, which keeps it
	turn  int           // the bundle's, when it was launched
	ran   time.Duration // up to Since, net of suspension
}

// run is one accepted launch of a bundle.
type run struct{ left int } // groups that have not finished

// ProtectedUntil is when the attempt may be preempted: the manager refuses that before. It is 0, or
// a time that has passed, when it may be preempted now.
func (a *Attempt) ProtectedUntil() scheduler.Time { return a.Bundle.ProtectedUntil }

// Job returns the attempt's job.
func (a *Attempt) Job() *Job { return a.Bundle.Job }

// Ran returns how long the attempt has run at a time, net of suspension.
func (a *Attempt) Ran(now scheduler.Time) time.Duration {
	if a.State == Running {
		return a.ran + now.Sub(a.Since)
	}
	return a.ran
}

// isOf says whether the attempt was launched for a readiness of its bundle.
func (a *Attempt) isOf(turn int) bool { return a.turn == turn }

// isLast is called once, when the attempt has finished: it says whether all groups have
// that were launched together.
func (a *Attempt) isLast() bool {
	a.run.left--
	return a.run.left == 0
}

// together walks the live attempts that were launched together with one, and that.
func (a *Attempt) together(yield func(*Attempt) bool) {
	for _, x := range a.Bundle.Attempts() {
		if x.run == a.run && !yield(x) {
			return
		}
	}
}

// waits says whether it is suspended, and nothing resumes or stops it.
func (a *Attempt) waits() bool { return a.State == Suspended && !a.Resuming && a.Leaving == 0 }

// isSuspending says whether it is leaving to be suspended.
func (a *Attempt) isSuspending() bool { return a.suspending }

// prefetch returns what the end of the attempt is about.
func (a *Attempt) prefetch() (*Bundle, *Launcher) { return a.Bundle, a.on }

// Ended is an attempt that ended in the last Apply or Start.
type Ended struct {
	*Attempt
	Event scheduler.AttemptEnded
}
