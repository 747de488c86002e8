package step

import "github.com/hamadryad/hamadryad/sdk/scheduler"

// Stats count what happened since the core was made or restored, for metrics.
// They are no state: a checkpoint leaves them out.
type Stats struct {
	Rounds              uint64
	Commands            uint64
	Resent              uint64
	StaleReports        uint64 // of attempts or launchers that were given up
	LateCommits         uint64 // refused
	LaunchersLost       uint64
	OutputsLost         uint64
	LogLosses           uint64 // lives in which the event log turned out to lack records
	UnknownEnded        uint64 // attempts that launchers had and the core did not know
	Rerun               uint64 // bundles that ran again because their output was lost
	Speculative         uint64
	Preempted           uint64 // bundle attempts
	TakenBack           uint64
	Blamed              uint64
	ReservationsExpired uint64
	Failed              uint64
	Finished            uint64

	Outcomes  [scheduler.Killed + 1]uint64         // of attempts, by scheduler.AttemptOutcome
	Jobs      [scheduler.JobKilled + 1]uint64      // that ended, by scheduler.JobOutcome
	Accepted  [scheduler.DecisionLaunch + 1]uint64 // decisions, by kind
	Refused   [scheduler.Unsupported + 1]uint64    // decisions, by reason
	Local     [scheduler.LocalityLevels]uint64     // finished attempts that read stored files, by the level that gave most
	Read      [scheduler.LocalityLevels]uint64     // bytes that finished attempts read, by locality
	Running   int                                  // attempts that live
	Suspended int                                  // bundle attempts that are suspended
	Ready     int                                  // bundles
	JobsLive  int
}

// Decision counts a decision and what became of it.
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
