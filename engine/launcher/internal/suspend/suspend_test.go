package suspend_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hamadryad/hamadryad/engine/launcher/internal/suspend"
)

// An attempt's running time excludes suspensions, and the time before its beginning and after its
// end, even if calls are repeated.
func TestTimeThatStandsIsNoRunningTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s suspend.State
		ran := func(after, want time.Duration) {
			t.Helper()
			time.Sleep(after)
			if s.Ran() != want {
				t.Errorf("it ran %v, want %v", s.Ran(), want)
			}
		}
		ran(time.Minute, 0)
		s.BeginAttempt()
		ran(3*time.Second, 3*time.Second)
		s.Became(true, nil)
		ran(time.Minute, 3*time.Second)
		s.Became(true, nil)
		ran(time.Minute, 3*time.Second)
		s.Became(false, nil)
		ran(2*time.Second, 5*time.Second)
		s.Became(false, nil)
		ran(2*time.Second, 7*time.Second)
		s.End()
		ran(time.Minute, 7*time.Second)
		s.End()
		ran(time.Minute, 7*time.Second)
	})
}

// A change that failed is no longer wanted, and the state stays.
func TestWhatCannotBeDoneIsGivenUp(t *testing.T) {
	var s suspend.State
	s.BeginAttempt()
	s.Want(true)
	s.Became(true, errors.New("no permission"))
	if s.Wanted() || s.Suspended() {
		t.Errorf("it is wanted: %t, and so: %t", s.Wanted(), s.Suspended())
	}
	s.Want(true)
	s.Became(true, nil)
	s.Want(false)
	s.Became(false, errors.New("no permission"))
	if !s.Wanted() || !s.Suspended() {
		t.Errorf("it is wanted: %t, and so: %t", s.Wanted(), s.Suspended())
	}
	s.End()
	if s.Wanted() || s.Suspended() {
		t.Error("an attempt that is over stands still")
	}
}
