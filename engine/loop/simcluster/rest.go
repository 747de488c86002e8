package simcluster

import (
	"time"

	"github.com/hamadryad/hamadryad/engine/wire"
)

// Suspended reports whether it holds no slots.
func (a *Attempt) Suspended() bool { return a.clock.state == suspended }

// Worked is how long it has executed, without the time in which it was suspended.
func (a *Attempt) Worked() time.Duration {
	if !a.executing {
		return 0
	}
	return a.clock.time().Sub(a.executes)
}

// Later plans an event of an attempt after a delay, unless the attempt or its launcher's
// incarnation ends. The delay does not pass while it is suspended.
func (a *Attempt) Later(d time.Duration, do func()) { a.clock.later(a.slowed(d), do) }

// after plans an event of an attempt, whether that is suspended or not.
func (a *Attempt) after(d time.Duration, do func()) {
	if d <= 0 {
		a.ifAlive(do)
		return
	}
	a.On.cluster.Loop.After(d, func() { a.ifAlive(do) })
}

// ifAlive runs a planned event of an attempt, unless the attempt or its launcher's incarnation has
// ended. The event of a frozen launcher comes later.
func (a *Attempt) ifAlive(do func()) {
	switch {
	case a.dead || a.ended != nil:
	case a.On.cluster.Loop.Now() < a.On.Frozen:
		a.On.Stands(func() { a.ifAlive(do) })
	default:
		do()
	}
}

// slowed is how long a step takes on this machine.
func (a *Attempt) slowed(d time.Duration) time.Duration {
	if a.On.Slow > 0 {
		return time.Duration(float64(d) * a.On.Slow)
	}
	return d
}

// suspend suspends an attempt. It holds its slots for the time that suspending costs.
func (a *Attempt) suspend() {
	if !a.On.CanSuspend {
		a.On.refuse(a.Start.Attempt, wire.ErrorKind_ERROR_KIND_INVALID, "this launcher can't suspend")
		return
	}
	if a.On.KeepsRunning != nil {
		if why := a.On.KeepsRunning(a); why != "" {
			a.On.refuse(a.Start.Attempt, wire.ErrorKind_ERROR_KIND_RESOURCE, why)
			return
		}
	}
	a.clock.stop()
	a.clock.change(suspends, suspended, a.slowed(a.takes(Suspending)), a.reportSuspended)
}

func (a *Attempt) reportSuspended() {
	a.On.Report(&wire.Report{What: &wire.Report_Suspended{Suspended: a.Start.Attempt}})
}

// resume resumes an attempt, or reports that it can't.
func (a *Attempt) resume() {
	if a.Suspended() && a.On.Balks != nil {
		if why := a.On.Balks(a); why != "" {
			a.On.refuse(a.Start.Attempt, wire.ErrorKind_ERROR_KIND_RESOURCE, why)
			return
		}
	}
	again := a.clock.state == awake
	a.clock.change(resumes, awake, a.slowed(a.takes(Resuming)), func() {
		a.On.Report(&wire.Report{What: &wire.Report_Resumed{Resumed: a.Start.Attempt}})
		if !again {
			a.clock.goOn()
			a.goOn()
		}
	})
}
