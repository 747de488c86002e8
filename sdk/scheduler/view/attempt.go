package view

import (
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// AttemptState is the state of a live attempt.
type AttemptState uint8

// The states of an attempt.
const (
	Assigned  AttemptState = iota // accepted; its worker has not started
	Running                       // its worker runs
	Suspended                     // stopped: holds no slots, but memory, in swap as far as there is room
)

// String returns the state's name.
func (s AttemptState) String() string { return [...]string{"assigned", "running", "suspended"}[s] }

// Attempt is a live attempt.
type Attempt struct {
	ID       scheduler.AttemptID
	Bundle   *Bundle
	Group    int
	Need     *scheduler.Group // its slots and memory
	Launcher scheduler.LauncherID
	// Speculative means that this is the second of two attempts, whether the first lives or not. If
	// a snapshot lists a second attempt without its first, the field is set after one of its groups
	// started.
	Speculative bool
	State       AttemptState
	Phase       scheduler.Phase // 0 while assigned
	Progress    float64         // as last reported, 0 to 1
	Work        scheduler.Work  // as last reported
	// Since is when State was entered, PhaseSince when Phase was, AssignedAt when
	// the launch was accepted.
	Since, PhaseSince, AssignedAt scheduler.Time
	// Leaving is the job for which an accepted preemption takes the attempt's slots; 0 if none
	// does.
	Leaving scheduler.JobID
	// Stopping means that the manager stops the attempt, for whatever reason. It can't be preempted,
	// suspended or resumed any more.
	Stopping bool
	// Resuming means that the attempt is suspended and an accepted resumption will continue it: it
	// holds its slots.
	Resuming bool

	// Ahead means that it is held ahead at its launcher (scheduler.Launch): it holds nothing, and
	// is in none of the lists of attempts but Job.Ahead and Bundle.Attempts.
	Ahead bool
	// Owner is data of the policy; the view ignores it.
	Owner any

	suspending bool // a preemption will suspend it

	run   *run
	on    *Launcher     // nil during Start if its launcher joins later, or is gone
	place int           // index in its job's list
	turn  int           // the bundle's turn at the launch
	ran   time.Duration // up to Since, net of suspension
}

// run is one accepted launch of a bundle.
type run struct{ left int } // groups that have not finished

// ProtectedUntil is when the attempt may be preempted; the manager refuses that earlier. If it may
// be preempted now, it is 0 or a time in the past.
func (a *Attempt) ProtectedUntil() scheduler.Time { return a.Bundle.ProtectedUntil }

// Job returns the attempt's job.
func (a *Attempt) Job() *Job { return a.Bundle.Job }

// Ran returns how long the attempt has run until now, net of suspension.
func (a *Attempt) Ran(now scheduler.Time) time.Duration {
	if a.State == Running {
		return a.ran + now.Sub(a.Since)
	}
	return a.ran
}

// joined returns the attempt's launcher, or nil if that is lost.
func (a *Attempt) joined() *Launcher {
	if a.on == nil || a.on.lost {
		return nil
	}
	return a.on
}

// isOf reports whether the attempt was launched in a turn of its bundle.
func (a *Attempt) isOf(turn int) bool { return a.turn == turn }

// isLast is called once, when the attempt has finished. It reports whether all groups of its launch
// have finished.
func (a *Attempt) isLast() bool {
	a.run.left--
	return a.run.left == 0
}

// stopOthers marks the attempts that the manager stops because this one has ended: the rest of its
// launch if it did not finish, and all others of its bundle if that is finished. An earlier manager
// does not tell of them.
func (a *Attempt) stopOthers(outcome scheduler.AttemptOutcome) {
	for _, x := range a.Bundle.Attempts() {
		if x.run == a.run && outcome != scheduler.Finished || a.Bundle.State == Finished {
			x.Stopping = true
		}
	}
}

// together walks the live attempts of this attempt's launch, itself included.
func (a *Attempt) together(yield func(*Attempt) bool) {
	for _, x := range a.Bundle.Attempts() {
		if x.run == a.run && !yield(x) {
			return
		}
	}
}

// waits reports whether it is suspended, is not being stopped, and no resumption of it is accepted.
func (a *Attempt) waits() bool { return a.State == Suspended && !a.Resuming && !a.Stopping }

// isSuspending reports whether a preemption will suspend it.
func (a *Attempt) isSuspending() bool { return a.suspending }

// prefetch returns what the end of the attempt will access.
func (a *Attempt) prefetch() (*Bundle, *Launcher) { return a.Bundle, a.on }

// Ended is an attempt that ended in the last Apply or Start.
type Ended struct {
	*Attempt
	Event scheduler.AttemptEnded
}
