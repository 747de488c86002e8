package locality

import (
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Limits are how long a job waits for each level of locality.
type Limits struct {
	Node time.Duration // for a node-local slot, before it takes a rack-local one
	Rack time.Duration // then for a rack-local slot, before it takes any
}

// heartbeats is how many heartbeat periods Hadoop's scheduler waits at each level by default
// (section 4.8).
const heartbeats = 1.5

// Automatic returns the limits for launchers with a heartbeat period.
func Automatic(heartbeat time.Duration) Limits {
	d := time.Duration(float64(heartbeats * float64(max(heartbeat, 0))))
	return Limits{Node: d, Rack: d}
}

// Wait is the state of one job. The zero value has not waited.
type Wait struct {
	Level   scheduler.Locality // of the last launch of located work
	Skipped bool               // the job is being passed over
	Since   scheduler.Time     // when that began; counts only while Skipped
	Waited  time.Duration      // total wait before Since
}

// Skip records that the job was asked and launched nothing: time counts from now on.
func (w *Wait) Skip(now scheduler.Time) {
	if !w.Skipped {
		w.Skipped, w.Since = true, now
	}
}

// Pause records that the job is no longer passed over although it launched nothing: the policy does
// not ask it.
func (w *Wait) Pause(now scheduler.Time) {
	if w.Skipped {
		w.Waited = w.Total(now)
		w.Skipped, w.Since = false, 0
	}
}

// Launched records a launch of located work at a level, which ends the wait.
func (w *Wait) Launched(level scheduler.Locality) { *w = Wait{Level: level} }

// Total returns how long the job has been passed over since its last launch.
func (w *Wait) Total(now scheduler.Time) time.Duration {
	if w.Skipped {
		return w.Waited + max(now.Sub(w.Since), 0)
	}
	return w.Waited
}

// Allowed returns how far from its input the job may launch.
func (w *Wait) Allowed(now scheduler.Time, l Limits) scheduler.Locality {
	waited := w.Total(now)
	switch {
	case w.Level == scheduler.Remote:
		return scheduler.Remote
	case w.Level == scheduler.RackLocal && waited >= l.Rack:
		return scheduler.Remote
	case w.Level == scheduler.RackLocal:
		return scheduler.RackLocal
	case waited >= l.Node+l.Rack:
		return scheduler.Remote
	case waited >= l.Node:
		return scheduler.RackLocal
	}
	return scheduler.NodeLocal
}

// Next returns when more will be allowed if the job goes on being passed over. It returns false
// when that is never: the job is not passed over, or any place is allowed.
func (w *Wait) Next(now scheduler.Time, l Limits) (scheduler.Time, bool) {
	if !w.Skipped {
		return 0, false
	}
	left := l.Node + l.Rack
	switch w.Allowed(now, l) {
	case scheduler.Remote:
		return 0, false
	case scheduler.NodeLocal:
		left = l.Node
	default:
		if w.Level == scheduler.RackLocal {
			left = l.Rack
		}
	}
	return now.Add(left - w.Total(now)), true
}
