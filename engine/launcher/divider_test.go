package launcher

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hamadryad/hamadryad/engine/isolate/cpuset"
)

// A user's growing need is handled at once, but at most ten times a second, however many tasks
// begin. While a user has processors of its own there is an occasional check, and otherwise none.
func TestLooksAtProcessors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		d := &divider{grown: make(chan struct{}, 1)}
		var looks atomic.Int64
		var alone atomic.Bool
		go d.run(ctx, func(time.Time) time.Duration {
			looks.Add(1)
			if alone.Load() {
				return 0
			}
			return cpuset.Held
		})
		within := func(wait time.Duration) int64 {
			before := looks.Load()
			time.Sleep(wait)
			synctest.Wait()
			return looks.Load() - before
		}
		d.grows()
		if n := within(0); n != 1 {
			t.Errorf("who needs more was looked at %d times at once", n)
		}
		few := within(10 * cpuset.Held)
		if few < 5 || few > 10 {
			t.Errorf("in ten times Held it was looked %d times", few)
		}
		many := int64(0)
		for range 1000 {
			d.grows()
			many += within(time.Millisecond)
		}
		if most := int64(time.Second/dividePause) + 1; many > most || many < most/2 {
			t.Errorf("1000 tasks in a second had it look %d times", many)
		}
		alone.Store(true)
		d.grows()
		within(2 * dividePause)
		if n := within(10 * cpuset.Held); n > 0 {
			t.Errorf("with nobody to be kept apart it was looked %d times", n)
		}
	})
}
