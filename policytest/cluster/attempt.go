package cluster

import (
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

type attemptState uint8

const (
	assigned attemptState = iota
	running
	suspended
	resuming // it holds its slots again, and does not run yet
)

// run is one launch of a bundle.
type run struct {
	bundle   *bundle
	attempts []*attempt // live
	done     int        // groups that have finished
	second   bool
	leaving  *leaving // nil: it stays
	stuck    bool     // it can't be resumed, and nobody knows yet
}

// leaving is what takes a run off its slots.
type leaving struct {
	by    scheduler.Preempt
	since emission
}

// kills says whether a run is about to be killed: what it does until then is for nothing.
func (r *run) kills() bool { return r.leaving != nil && r.leaving.by.Mode != scheduler.PreemptSuspend }

// leaves says whether something takes it off its slots.
func (r *run) leaves() bool { return r.leaving != nil }

// rests says whether it can be resumed: all of it is suspended, and nothing takes it away.
func (r *run) rests() bool {
	return len(r.attempts) > 0 && r.leaving == nil && !slices.ContainsFunc(r.attempts, func(a *attempt) bool { return !a.suspended() })
}

// resting is the run of a bundle that rests, or nil.
func (b *bundle) resting() *run {
	for _, r := range b.runs {
		if r.rests() {
			return r
		}
	}
	return nil
}

// goneSince keeps the outcome by which the run is to leave, for snapshots.
func (r *run) goneSince(t emission) { r.leaving.since = t }

// stillLeaving tells of a preemption what is left of it: this run.
func (r *run) stillLeaving() emission {
	t := r.leaving.since
	o := t.event.(scheduler.Outcome)
	o.Preempt.Victims = r.ids()
	return t.as(o)
}

// where lists the launchers of its live attempts.
func (r *run) where() (all []scheduler.LauncherID) {
	for _, a := range r.attempts {
		all = append(all, a.on.id)
	}
	return all
}

// ids lists its live attempts.
func (r *run) ids() (all []scheduler.AttemptID) {
	for _, a := range r.attempts {
		all = append(all, a.id)
	}
	return all
}

// live returns the attempts that have not ended. What the caller ends is taken from
// another list.
func (r *run) live() []*attempt { return slices.Clone(r.attempts) }

// single says whether a second attempt may be offered: the first is alone, and does not end.
func (b *bundle) single() bool {
	if b.state != launched || b.speculation || len(b.runs) != 1 {
		return false
	}
	r := b.runs[0]
	return !r.second && r.leaving == nil && r.done == 0
}

// runsNow says whether the first attempt runs.
func (b *bundle) runsNow() bool { return b.runs[0].attempts[0].state == running }

// restsNow says whether the first attempt waits to be resumed.
func (b *bundle) restsNow() bool { return b.resting() != nil }

type attempt struct {
	id       scheduler.AttemptID
	run      *run
	group    int
	need     *scheduler.Group
	on       *launcher
	state    attemptState
	left     time.Duration // still to run
	ran      time.Duration // before since
	since    scheduler.Time
	reserved *reservation // what it leaves its place to; nil: nothing
	life     int          // counts starts and stops, so that a timer of an earlier one is void
	shuffles bool
}

func (a *attempt) live() bool { return slices.Contains(a.run.attempts, a) }

func (a *attempt) suspended() bool { return a.state == suspended }

// holds returns how many slots of a kind it holds.
func (a *attempt) holds(kind scheduler.SlotKind) int {
	if a.need.Kind != kind || a.state == suspended {
		return 0
	}
	return a.need.Slots
}

// still returns a function that says whether the attempt neither stopped nor ended since.
func (a *attempt) still() func() bool {
	life := a.life
	return func() bool { return a.live() && a.life == life }
}

// goes has it run from now on.
func (a *attempt) goes(now scheduler.Time) {
	a.state, a.since = running, now
	a.life++
}

// stops has it run no more.
func (a *attempt) stops(now scheduler.Time) {
	spent := now.Sub(a.since)
	a.ran += spent
	a.left = max(a.left-spent, time.Millisecond)
	a.state = suspended
	a.life++
}

func (a *attempt) ranAt(now scheduler.Time) time.Duration {
	if a.state == running {
		return a.ran + now.Sub(a.since)
	}
	return a.ran
}
