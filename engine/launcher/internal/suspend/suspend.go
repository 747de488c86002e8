// Package suspend suspends and resumes an attempt. It keeps what the manager wants, the actual
// state, the time that the attempt ran, and the way in which its processes are stopped.
//
//	way, err := suspend.Choose(suspend.Auto, identity, groups, log)
//	tree, err := way.Tree(mark, limits)  // of a worker that is about to be started
//
//	var s suspend.State
//	s.BeginAttempt()        // it runs
//	s.Want(true)            // the manager's command
//	tree.Lock()             // to carry it out
//	err := tree.Set(true)
//	s.Became(true, err)     // the result
//	tree.Unlock()
//
// # Ways to suspend
//
// A launcher chooses the way at its start, and logs which way and why. Where it may make groups in
// cgroup2, each worker is started in a group of its own. So everything that it starts is in that
// group from the first moment. The group is frozen, thawed and killed as one. A systemd unit with
// Delegate=yes may do that, and so may root. Hybrid systems mount cgroup2 beside the older
// hierarchies, without limits. Elsewhere each process of the tree gets stop signals.
// launcher.suspend demands one of the two. No privilege is requested.
//
// A worker dies with its launcher. What a suspended worker had started could never go on after
// that, so package reaper ends it.
//
// # Invariants
//
// Time during which an attempt was suspended is not running time. The manager's last command wins.
package suspend

import "time"

// State is the suspension state of one attempt. Its owner guards it by a lock. The zero State is an
// attempt that has not begun.
type State struct {
	wanted bool // the manager's last command: suspend
	stands bool // its processes are stopped
	ever   bool // wanted was true at any time

	// The running time is ran plus the time since since. since is zero before the attempt begins,
	// while it is suspended, and after its end.
	ran   time.Duration
	since time.Time
}

// BeginAttempt notes that the attempt runs from now on.
func (s *State) BeginAttempt() { s.run() }

// Want notes the manager's command.
func (s *State) Want(stand bool) { s.wanted, s.ever = stand, s.ever || stand }

// EverWanted reports whether a suspension was ever wanted. If so, the processes of an ended attempt
// may be stopped, or about to be.
func (s *State) EverWanted() bool { return s.ever }

// Wanted reports whether the attempt is to be suspended.
func (s *State) Wanted() bool { return s.wanted }

// Suspended reports whether the attempt is suspended.
func (s *State) Suspended() bool { return s.stands }

// Became notes that the attempt's processes were stopped or continued, or why they could not be.
// After an error the present state counts as wanted: nothing is retried without a new command.
func (s *State) Became(stands bool, err error) {
	if err != nil {
		s.wanted = s.stands
		return
	}
	if s.stands = stands; stands {
		s.stop()
		return
	}
	s.run()
}

// End notes that the attempt is over: it neither runs nor is suspended.
func (s *State) End() {
	s.stop()
	s.wanted, s.stands = false, false
}

// Ran is how long the attempt has run, without suspensions.
func (s *State) Ran() time.Duration {
	if s.since.IsZero() {
		return s.ran
	}
	return s.ran + time.Since(s.since)
}

func (s *State) run() {
	if s.since.IsZero() {
		s.since = time.Now()
	}
}

func (s *State) stop() { s.ran, s.since = s.Ran(), time.Time{} }
