package simcluster

import (
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// clock is an attempt's own time with its planned events. Time stands still from the command to
// suspend the attempt until it has resumed; planned events move by that much.
type clock struct {
	now    func() scheduler.Time       // the loop's
	after  func(time.Duration, func()) // plans an event of the loop, while the attempt lives
	moved  func()                      // is called at each change of state; may be nil
	state  restState
	turn   int            // counts changes of the state
	since  scheduler.Time // when it stopped to go on
	rested time.Duration  // before that
	timers []*timer
}

type restState int

const (
	awake     restState = iota
	suspends            // does nothing, and holds its slots
	suspended           // has left its slots
	resumes             // has slots, and does nothing yet
)

// timer is a planned event of an attempt.
type timer struct {
	clock *clock
	turn  int            // of the clock, when it was armed
	at    scheduler.Time // when it is awake
	left  time.Duration  // when it rests
	do    func()
	again func() time.Duration // in the place of do: returns after how long it runs again; 0: never
}

// ring runs the event, unless the clock was stopped since; it is planned again when the clock goes
// on.
func (t *timer) ring() {
	c := t.clock
	if c.turn != t.turn {
		return
	}
	i := slices.Index(c.timers, t)
	c.timers = slices.Delete(c.timers, i, i+1)
	if t.again == nil {
		t.do()
	} else if d := t.again(); d > 0 {
		c.plan(t, d)
	}
}

// time is the attempt's own.
func (c *clock) time() scheduler.Time {
	now := c.now()
	if c.state != awake {
		now = c.since
	}
	return now.Add(-c.rested)
}

// later plans an event after so much of the attempt's own time.
func (c *clock) later(d time.Duration, do func()) { c.plan(&timer{clock: c, do: do}, d) }

// repeat plans an event after so much of the attempt's own time, and after each run another until it
// returns 0. Its timer is used again: most events are of this kind.
func (c *clock) repeat(d time.Duration, again func() time.Duration) {
	c.plan(&timer{clock: c, again: again}, d)
}

// plan plans the event of a timer that is not planned.
func (c *clock) plan(t *timer, d time.Duration) {
	t.left = d
	c.timers = append(c.timers, t)
	if c.state == awake {
		c.arm(t)
	}
}

// arm has a timer's time pass.
func (c *clock) arm(t *timer) {
	t.at, t.turn = c.now().Add(t.left), c.turn
	c.after(t.left, t.ring)
}

// stop stops the attempt's time.
func (c *clock) stop() {
	if c.state != awake {
		return
	}
	c.since = c.now()
	for _, t := range c.timers {
		t.left = max(t.at.Sub(c.since), 0)
	}
}

// goOn has the time pass again.
func (c *clock) goOn() {
	c.rested += c.now().Sub(c.since)
	before := slices.Clone(c.timers)
	for i, t := range before { // timers armed before may still be planned, and ring in vain
		before[i] = &timer{clock: c, left: t.left, do: t.do, again: t.again}
		c.timers[i] = before[i]
	}
	for _, t := range before {
		c.arm(t)
	}
}

// change brings it into a state by way of another, which takes a while of the loop's time, and then
// calls say; it calls say again when it is there already.
func (c *clock) change(by, to restState, takes time.Duration, say func()) {
	switch c.state {
	case by:
		return
	case to:
		say()
		return
	}
	c.move(by)
	c.turn++
	turn := c.turn
	c.after(takes, func() {
		if c.turn == turn {
			c.move(to)
			say()
		}
	})
}

func (c *clock) move(to restState) {
	c.state = to
	if c.moved != nil {
		c.moved()
	}
}
