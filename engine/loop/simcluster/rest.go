package simcluster

import (
	"time"

	"github.com/hamadryad/hamadryad/engine/wire"
)

// Suspended says whether it holds no slots.
func (a *Attempt) Suspended() bool { return a.clock.state == suspended }

// Worked is how long it executes by now, without the time in which it was suspended.
func (a *Attempt) Worked() time.Duration {
	if !a.executing {
		return 0
	}
	return a.clock.time().Sub(a.executes)
}

// Later has an attempt do something after a while, unless it ended or its launcher's life
// did. While it is suspended the time does not pass for it.
func (a *Attempt) Later(d time.Duration, do func()) { a.clock.later(a.slowed(d), do) }

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
	a.clock.stop()
	a.clock.change(suspends, suspended, a.slowed(a.takes(Suspending)), a.reportSuspended)
}

func (a *Attempt) reportSuspended() {
	a.On.Report(&wire.Report{What: &wire.Report_Suspended{Suspended: a.Start.Attempt}})
}

// resume has it go on where it was, or says that it can't.
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
