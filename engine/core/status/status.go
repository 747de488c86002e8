// Package status answers what people and programs ask of the state, and keeps what is shown
// of jobs that ended. Nothing that is decided depends on it.
package status

import (
	"slices"

	"github.com/hamadryad/hamadryad/engine/core/capacity"
	"github.com/hamadryad/hamadryad/engine/core/exchange"
	"github.com/hamadryad/hamadryad/engine/core/life"
	"github.com/hamadryad/hamadryad/engine/core/step"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Reader answers. Not safe for concurrent use.
type Reader struct {
	step     *step.Step
	capacity *capacity.Capacity
	policy   *exchange.Exchange
	life     *life.State
}

// New returns one of the state that it is given.
func New(s *step.Step, c *capacity.Capacity, p *exchange.Exchange, l *life.State) *Reader {
	return &Reader{step: s, capacity: c, policy: p, life: l}
}

// Jobs lists the live jobs in order of id, and with all those that ended and are
// still remembered, the oldest first, before them.
func (rd *Reader) Jobs(all bool) []*wire.JobSummary {
	var list []*wire.JobSummary
	if all {
		for _, e := range rd.life.Ended {
			list = append(list, e.Status.Summary)
		}
	}
	for _, id := range rd.life.Jobs.IDs() {
		list = append(list, rd.life.Jobs.Get(id).Summary())
	}
	return list
}

// JobStatus returns what is known of a job, with its attempts when they are
// asked for: at most Settings.AttemptsKept that ended, and all that live. It is
// false for a job that is not known. What it returns must not be changed.
func (rd *Reader) JobStatus(id scheduler.JobID, attempts bool) (*wire.JobStatus, bool) {
	s, known := rd.StatusOf(id, attempts)
	if !known {
		return nil, false
	}
	for s.Look() {
	}
	return s.Message(), true
}

// Status is what is known of a job. A job may have very many attempts, so they are
// looked at some at a time, and the message is made beside the core.
type Status struct {
	message *wire.JobStatus
	rows    *life.AttemptRows // nil: none are to be added
	left    []*life.Attempt   // to be looked at
}

// looksOfStatus is how many attempts Look looks at.
const looksOfStatus = 4096

// StatusOf notes what is known of a job, and which attempts live when they are asked
// for. It is false for a job that is not known.
func (rd *Reader) StatusOf(id scheduler.JobID, attempts bool) (*Status, bool) {
	if j := rd.life.Jobs.Get(id); j != nil {
		s := &Status{message: rd.statusOf(j)}
		if attempts {
			s.rows, s.left = j.EndedRows(), slices.Clone(j.Attempts)
		}
		return s, true
	}
	for _, e := range rd.life.Ended {
		if e.Status.Summary.Job == uint64(id) {
			return &Status{message: e.StatusWith(attempts)}, true
		}
	}
	return nil, false
}

// Look looks at some of the attempts, between two steps; false when none were left.
func (s *Status) Look() bool {
	if len(s.left) == 0 {
		return false
	}
	n := min(len(s.left), looksOfStatus)
	s.rows.Look(s.left[:n])
	s.left = s.left[n:]
	return true
}

// Message makes the message, once, when Look found nothing left. It may be called on
// any goroutine.
func (s *Status) Message() *wire.JobStatus {
	if s.rows != nil {
		s.message.Attempts = s.rows.Status()
	}
	return s.message
}

// JobOfAttempt returns the job that shows an attempt; false when none does.
func (rd *Reader) JobOfAttempt(id scheduler.AttemptID) (scheduler.JobID, bool) {
	if a := rd.life.Attempts.Get(id); a != nil {
		return a.Run.Bundle.Job.ID, true
	}
	for j := range rd.life.Jobs.All() {
		if j.Tally.Shows(id) {
			return j.ID, true
		}
	}
	for _, e := range rd.life.Ended {
		if slices.ContainsFunc(e.Status.GetAttempts(), func(a *wire.AttemptStatus) bool { return a.GetAttempt() == uint64(id) }) {
			return scheduler.JobID(e.Status.Summary.Job), true
		}
	}
	return 0, false
}

// Launchers lists the launchers, those that were lost and are remembered too, in
// order of id.
func (rd *Reader) Launchers() []*wire.LauncherStatus { return rd.LaunchersLater()() }

// LaunchersLater is Launchers in two steps: the function that it returns makes the messages, on any goroutine.
func (rd *Reader) LaunchersLater() func() []*wire.LauncherStatus {
	rows := make([]launcherRow, len(rd.life.Launchers.IDs()))
	counts := make(capacity.Slots, 0, 2*len(rows)) // of all rows, one after another
	for i, id := range rd.life.Launchers.IDs() {
		l := rd.life.Launchers.Get(id)
		rows[i] = launcherRow{
			id: l.ID, name: l.Name, host: l.Host, rack: l.Rack, memory: l.Memory(), memoryFree: l.FreeMemory(), swap: l.Swap(), swapFree: l.FreeSwap(), state: l.State(),
			suspended: l.Suspended, running: len(l.Attempts) - l.Suspended, slots: len(l.Slots()), free: len(l.Free()),
		}
		counts = append(append(counts, l.Slots()...), l.Free()...)
	}
	return func() []*wire.LauncherStatus {
		list := make([]*wire.LauncherStatus, len(rows))
		for i := range rows {
			r := &rows[i]
			list[i] = r.message(counts[:r.slots], counts[r.slots:r.slots+r.free])
			counts = counts[r.slots+r.free:]
		}
		return list
	}
}

// launcherRow is what is shown of a launcher.
type launcherRow struct {
	id                 scheduler.LauncherID
	name, host, rack   string
	memory, memoryFree int64
	swap, swapFree     int64
	state              string
	suspended, running int
	slots, free        int // kinds
}

func (r *launcherRow) message(slots, free capacity.Slots) *wire.LauncherStatus {
	return &wire.LauncherStatus{
		Launcher: uint64(r.id), Name: r.name, Host: r.host, Rack: r.rack, Slots: wireSlots(slots), Free: wireSlots(free),
		Memory: r.memory, MemoryFree: r.memoryFree, Swap: r.swap, SwapFree: r.swapFree, State: r.state, Suspended: uint32(r.suspended), Running: uint32(r.running),
	}
}

func wireSlots(counts capacity.Slots) []*wire.Slots {
	var list []*wire.Slots
	for _, s := range counts {
		list = append(list, &wire.Slots{Kind: s.Kind, Count: uint32(s.Count)})
	}
	return list
}

// LauncherInfo is what the shell needs to know of a launcher.
type LauncherInfo struct {
	Launcher    scheduler.LauncherID
	Name        string
	Identity    string
	Incarnation uint64
	Up          bool
	DataAddress string
	HTTPAddress string
}

// Launcher returns a launcher by name; false when it is not known.
func (rd *Reader) Launcher(name string) (LauncherInfo, bool) {
	l := rd.life.ByName[name]
	if l == nil {
		return LauncherInfo{}, false
	}
	return LauncherInfo{l.ID, l.Name, l.Identity, l.Incarnation, l.Up, l.DataAddress, l.HTTPAddress}, true
}
