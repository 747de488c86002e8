package locality_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/locality"
)

func at(d time.Duration) scheduler.Time { return scheduler.Time(0).Add(d) }

// A job is passed over three times, and may then take a slot in the rack.
func Example() {
	limits := locality.Automatic(2 * time.Second) // 3 s and 3 s
	var w locality.Wait
	for second := range 4 {
		now := at(time.Duration(second) * time.Second)
		fmt.Println(now.Sub(0), w.Allowed(now, limits))
		w.Skip(now)
	}
	w.Launched(scheduler.RackLocal)
	fmt.Println("then", w.Allowed(at(4*time.Second), limits))
	// Output:
	// 0s node-local
	// 1s node-local
	// 2s node-local
	// 3s rack-local
	// then rack-local
}

var limits = locality.Limits{Node: 5 * time.Second, Rack: 10 * time.Second}

func TestLevelsRiseWithTheWait(t *testing.T) {
	var w locality.Wait
	w.Skip(at(time.Second))
	for _, c := range []struct {
		after time.Duration
		want  scheduler.Locality
		next  time.Duration
	}{
		{0, scheduler.NodeLocal, 5 * time.Second},
		{5*time.Second - 1, scheduler.NodeLocal, 5 * time.Second},
		{5 * time.Second, scheduler.RackLocal, 15 * time.Second},
		{15*time.Second - 1, scheduler.RackLocal, 15 * time.Second},
		{15 * time.Second, scheduler.Remote, 0},
	} {
		now := at(time.Second + c.after)
		next, more := w.Next(now, limits)
		if got := w.Allowed(now, limits); got != c.want || more != (c.next != 0) || more && next != at(time.Second+c.next) {
			t.Errorf("after %s: %s, more at %d (%t)", c.after, got, next, more)
		}
	}
}

// Only the time in which a job is asked in vain counts.
func TestPauseStopsTheClock(t *testing.T) {
	var w locality.Wait
	w.Skip(at(0))
	w.Pause(at(3 * time.Second))
	w.Pause(at(4 * time.Second))
	if _, more := w.Next(at(time.Hour), limits); more || w.Total(at(time.Hour)) != 3*time.Second {
		t.Errorf("%+v goes on waiting", w)
	}
	w.Skip(at(time.Hour))
	if got := w.Total(at(time.Hour + 2*time.Second)); got != 5*time.Second {
		t.Errorf("waited %s, want 5s", got)
	}
}

// What a job launched last decides where it starts to wait again.
func TestLaunchesSetTheLevel(t *testing.T) {
	w := locality.Wait{Level: scheduler.Remote}
	if got := w.Allowed(at(0), limits); got != scheduler.Remote {
		t.Errorf("after a remote launch %s is allowed", got)
	}
	w.Launched(scheduler.RackLocal)
	w.Skip(at(0))
	if a, b := w.Allowed(at(9*time.Second), limits), w.Allowed(at(10*time.Second), limits); a != scheduler.RackLocal || b != scheduler.Remote {
		t.Errorf("after a rack-local launch %s, then %s", a, b)
	}
	if next, more := w.Next(at(time.Second), limits); !more || next != at(10*time.Second) {
		t.Errorf("more is allowed at %d", next)
	}
	w.Launched(scheduler.NodeLocal)
	if w != (locality.Wait{}) {
		t.Errorf("after a node-local launch: %+v", w)
	}
}

func TestZeroLimitsTurnItOff(t *testing.T) {
	var w locality.Wait
	if got := w.Allowed(0, locality.Limits{}); got != scheduler.Remote {
		t.Errorf("%s, want remote", got)
	}
}
