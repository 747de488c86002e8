package step

import (
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Stats counts what happened since the core was created or restored, for metrics. A checkpoint does
// not include it.
type Stats struct {
	Rounds              uint64
	Commands            uint64
	Resent              uint64
	GivenUp             uint64 // elements of job arrays
	StaleReports        uint64 // of attempts or launchers that were given up
	LateCommits         uint64 // refused
	LaunchersLost       uint64
	LaunchersLeft       uint64 // stopped by a person
	OutputsLost         uint64
	LogLosses           uint64 // times that the event log turned out to lack records
	UnknownEnded        uint64 // attempts that launchers had and the core did not know
	Rerun               uint64 // bundles that ran again because their output was lost
	Speculative         uint64
	Ahead               uint64 // launches ahead
	AheadWithdrawn      uint64 // of them
	Preempted           uint64 // bundle attempts
	Reclaimed           uint64
	Excluded            uint64
	Resumed             uint64 // suspended attempts that were resumed
	ResumesRefused      uint64 // refused by launchers
	ReservationsExpired uint64
	Failed              uint64
	Finished            uint64

	Outcomes [scheduler.Killed + 1]uint64            // ended jobs, by scheduler.JobOutcome
	Jobs     [scheduler.JobKilled + 1]uint64         // that ended, by scheduler.JobOutcome
	Accepted [scheduler.DecisionSpeculate + 1]uint64 // decisions, by kind
	Refused  [scheduler.UserAtLimit + 1]uint64       // decisions, by reason
	Local    [scheduler.LocalityLevels]uint64        // finished attempts that read stored files, by the locality of most bytes
	Read     [scheduler.LocalityLevels]uint64        // bytes that finished attempts read, by locality

	// Suspensions counts ended suspensions by duration: at most that of SuspensionBounds; the last
	// counts all longer ones. SuspendedFor is their total duration.
	Suspensions  [len(SuspensionBounds) + 1]uint64
	SuspendedFor time.Duration

	Running   int // live attempts
	Suspended int // bundle attempts that are suspended
	Ready     int // bundles
	JobsLive  int
}

// SuspensionBounds are the upper bounds of the classes of suspensions in Stats.
var SuspensionBounds = [...]time.Duration{
	100 * time.Millisecond, time.Second, 5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, time.Hour, 6 * time.Hour,
}

// AddSuspension counts an ended suspension.
func (s *Stats) AddSuspension(d time.Duration) {
	i := 0
	for i < len(SuspensionBounds) && d > SuspensionBounds[i] {
		i++
	}
	s.Suspensions[i]++
	s.SuspendedFor += d
}

// Decision counts a decision by its result.
func (s *Stats) Decision(kind scheduler.DecisionKind, r scheduler.RefusalReason) {
	if r == scheduler.NotRefused {
		s.Accepted[kind]++
	} else {
		s.Refused[r]++
	}
}

// Refusals returns how many decisions were refused.
func (s *Stats) Refusals() (n uint64) {
	for _, x := range s.Refused {
		n += x
	}
	return n
}
