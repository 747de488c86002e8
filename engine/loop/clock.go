package loop

import (
	"time"

	"github.com/hamadryad/hamadryad/internal/timerqueue"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Clock is virtual time with the planned events in order. The zero Clock is at time 0.
type Clock struct {
	now    scheduler.Time
	events timerqueue.Queue[func()]
}

// Now returns the time of the current event.
func (c *Clock) Now() scheduler.Time { return c.now }

// At plans an event for a time, or for now if that is past.
func (c *Clock) At(t scheduler.Time, do func()) {
	c.events.Put(int64(max(t, c.now)), do)
}

// After plans an event after a delay.
func (c *Clock) After(d time.Duration, do func()) { c.At(c.now.Add(d), do) }

// Upcoming returns the time of the next event; false when there is none.
func (c *Clock) Upcoming() (scheduler.Time, bool) {
	if c.events.Len() == 0 {
		return 0, false
	}
	return scheduler.Time(c.events.First().At), true
}

// Next runs the next event; false when there is none.
func (c *Clock) Next() bool {
	if c.events.Len() == 0 {
		return false
	}
	e := c.events.Take()
	c.now = scheduler.Time(e.At)
	e.T()
	return true
}

// Pass runs all events until a time, and sets the clock to it.
func (c *Clock) Pass(until scheduler.Time) {
	for at, ok := c.Upcoming(); ok && at <= until; at, ok = c.Upcoming() {
		c.Next()
	}
	c.now = max(c.now, until)
}
