package step

import (
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// TimerKind says what a timer is about. Its numbers are in checkpoints: new ones come last.
type TimerKind uint8

// The kinds of timers.
const (
	TimerCommand TimerKind = iota + 1 // a launcher's unconfirmed commands
	TimerReservation
	TimerSpeculate
	TimerAdmission
	TimerRequest
	TimerSettings
	TimerReclaim
	TimerSuspend
	TimerUnplaceable
	TimerReadmit
	TimerPublish
	TimerClean
	TimerReservedIDs
	TimerStall
	TimerFeed
	TimerStoreRoom
	TimerTimeLimit
	TimerDeadline
	TimerSchedule // runs of a schedule that wait or run
	TimerAhead    // the attempts that a launcher holds ahead

	timerKinds // how many there are, and one more
)

// SetTimer sets a timer of a kind, for an id, that is due after a while. Timers are never
// cancelled: the handler checks, when one is due, whether there is still something to do.
func (s *Step) SetTimer(d time.Duration, kind TimerKind, id uint64) {
	s.timers.Set(s.Now.Add(d), uint8(kind), id)
}

// TimerDue says whether some timer is due.
func (s *Step) TimerDue() bool { return s.timers.Due(s.Now) }

// TakeTimer takes the first that is due.
func (s *Step) TakeTimer() (kind TimerKind, id uint64) {
	t := s.timers.Take()
	return TimerKind(t.Kind), t.ID
}

// NextTimer returns when the first is due; false when there is none.
func (s *Step) NextTimer() (scheduler.Time, bool) { return s.timers.Next() }

// Timers returns how many there are.
func (s *Step) Timers() int { return s.timers.Len() }
