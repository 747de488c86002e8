package machines

import (
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// rest is what suspension is about: what an attempt is to do, and how far it is with
// that. From the command to suspend it until it has resumed it does nothing, and what it
// was to do takes as much longer.
type rest struct {
	state    restState
	turn     int            // counts commands that changed the state
	since    scheduler.Time // when it stopped to go on
	rested   time.Duration  // before that
	timers   []*timer
	executes scheduler.Time // since when it works, by its own time
}

type restState int

const (
	awake     restState = iota
	suspends            // does nothing, and holds its slots
	suspended           // has left its slots
	resumes             // has slots, and does nothing yet
)

// timer is something that an attempt is to do.
type timer struct {
	at   scheduler.Time // when it is awake
	left time.Duration  // when it rests
	do   func()
}

// Suspended says whether it holds no slots.
func (a *Attempt) Suspended() bool { return a.rest.state == suspended }

// Worked is how long it executes by now, without the time in which it was suspended.
func (a *Attempt) Worked() time.Duration {
	if !a.executing {
		return 0
	}
	return a.own().Sub(a.rest.executes)
}

// own is an attempt's own time, which stands still while it rests.
func (a *Attempt) own() scheduler.Time {
	now := a.On.cluster.Loop.Now()
	if a.rest.state != awake {
		now = a.rest.since
	}
	return now.Add(-a.rest.rested)
}

// Later has an attempt do something after a while, unless it ended or its launcher's life
// did. While it is suspended the time does not pass for it.
func (a *Attempt) Later(d time.Duration, do func()) { a.later(a.slowed(d), do) }

func (a *Attempt) later(d time.Duration, do func()) {
	t := &timer{left: d, do: do}
	a.rest.timers = append(a.rest.timers, t)
	if a.rest.state == awake {
		a.arm(t)
	}
}

// arm has a timer's time pass.
func (a *Attempt) arm(t *timer) {
	t.at = a.On.cluster.Loop.Now().Add(t.left)
	turn := a.rest.turn
	a.after(t.left, func() {
		if a.rest.turn == turn {
			i := slices.Index(a.rest.timers, t)
			a.rest.timers = slices.Delete(a.rest.timers, i, i+1)
			t.do()
		}
	})
}

// after has a launcher do something for an attempt, whether that is suspended or not.
func (a *Attempt) after(d time.Duration, do func()) {
	var run func()
	run = func() {
		if !a.dead && a.ended == nil && !a.On.Stands(run) {
			do()
		}
	}
	if d <= 0 {
		run()
		return
	}
	a.On.cluster.Loop.After(d, run)
}

// slowed is how long something takes on this machine.
func (a *Attempt) slowed(d time.Duration) time.Duration {
	if a.On.Slow > 0 {
		return time.Duration(float64(d) * a.On.Slow)
	}
	return d
}

// suspend has an attempt rest. It holds its slots until what that costs is over.
func (a *Attempt) suspend() {
	if !a.On.CanSuspend {
		a.On.refuse(a.Start.Attempt, wire.ErrorKind_ERROR_KIND_INVALID, "this launcher can't suspend")
		return
	}
	r := &a.rest
	if r.state == awake {
		now := a.On.cluster.Loop.Now()
		r.since = now
		for _, t := range r.timers {
			t.left = max(t.at.Sub(now), 0)
		}
	}
	a.change(suspends, suspended, Suspending, func() {
		a.On.Tell(&wire.Report{What: &wire.Report_Suspended{Suspended: a.Start.Attempt}})
	})
}

// resume has it go on where it was.
func (a *Attempt) resume() {
	a.change(resumes, awake, Resuming, func() {
		a.On.Tell(&wire.Report{What: &wire.Report_Resumed{Resumed: a.Start.Attempt}})
	})
}

// change brings an attempt into a state by way of another, and says so then; again when
// it is there already.
func (a *Attempt) change(by, to restState, s Step, say func()) {
	r := &a.rest
	switch r.state {
	case by:
		return
	case to:
		say()
		return
	}
	r.state = by
	r.turn++
	turn := r.turn
	a.after(a.slowed(a.takes(s)), func() {
		if r.turn != turn {
			return
		}
		r.state = to
		say()
		if to == awake {
			a.goOnAgain()
		}
	})
}

// goOnAgain has the time pass again for what it was to do.
func (a *Attempt) goOnAgain() {
	r := &a.rest
	r.rested += a.On.cluster.Loop.Now().Sub(r.since)
	for _, t := range slices.Clone(r.timers) {
		a.arm(t)
	}
	a.goOn()
}
