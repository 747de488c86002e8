package core

import (
	"slices"

	"github.com/hamadryad/hamadryad/engine/core/capacity"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Jobs lists the live jobs in order of id, and with all those that ended and are
// still remembered, the oldest first, before them.
func (c *Core) Jobs(all bool) []*wire.JobSummary {
	var list []*wire.JobSummary
	if all {
		for _, e := range c.ended {
			list = append(list, e.status.Summary)
		}
	}
	for _, id := range c.jobs.IDs() {
		list = append(list, c.jobs.Get(id).summary())
	}
	return list
}

// JobStatus returns what is known of a job, with its attempts when they are
// asked for: at most Settings.AttemptsKept that ended, and all that live. It is
// false for a job that is not known. What it returns must not be changed.
func (c *Core) JobStatus(id scheduler.JobID, attempts bool) (*wire.JobStatus, bool) {
	s, known := c.StatusOf(id, attempts)
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
	rows    *attemptRows // nil: none are to be added
	left    []*attempt   // to be looked at
}

// looksOfStatus is how many attempts Look looks at.
const looksOfStatus = 4096

// StatusOf notes what is known of a job, and which attempts live when they are asked
// for. It is false for a job that is not known.
func (c *Core) StatusOf(id scheduler.JobID, attempts bool) (*Status, bool) {
	if j := c.jobs.Get(id); j != nil {
		s := &Status{message: c.statusOf(j)}
		if attempts {
			s.rows, s.left = j.endedRows(), slices.Clone(j.attempts)
		}
		return s, true
	}
	for _, e := range c.ended {
		if e.status.Summary.Job == uint64(id) {
			return &Status{message: e.statusWith(attempts)}, true
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
	s.rows.look(s.left[:n])
	s.left = s.left[n:]
	return true
}

// Message makes the message, once, when Look found nothing left. It may be called on
// any goroutine.
func (s *Status) Message() *wire.JobStatus {
	if s.rows != nil {
		s.message.Attempts = s.rows.status()
	}
	return s.message
}

// JobOfAttempt returns the job that shows an attempt; false when none does.
func (c *Core) JobOfAttempt(id scheduler.AttemptID) (scheduler.JobID, bool) {
	if a := c.attempts.Get(id); a != nil {
		return a.run.bundle.job.id, true
	}
	for j := range c.jobs.All() {
		if j.tally.Shows(id) {
			return j.id, true
		}
	}
	for _, e := range c.ended {
		if slices.ContainsFunc(e.status.GetAttempts(), func(a *wire.AttemptStatus) bool { return a.GetAttempt() == uint64(id) }) {
			return scheduler.JobID(e.status.Summary.Job), true
		}
	}
	return 0, false
}

// statusWith is the status of a job that ended, without its attempts unless they are
// asked for.
func (e *endedJob) statusWith(attempts bool) *wire.JobStatus {
	if attempts {
		return e.status
	}
	s := e.status
	return &wire.JobStatus{
		Summary: s.Summary, Stages: s.Stages, Failure: s.Failure, Counters: s.Counters, Waiting: s.Waiting,
		Read: s.Read, LocalAttempts: s.LocalAttempts, Notes: s.Notes, Outputs: s.Outputs, Kept: s.Kept,
	}
}

// Launchers lists the launchers, those that were lost and are remembered too, in
// order of id.
func (c *Core) Launchers() []*wire.LauncherStatus { return c.LaunchersLater()() }

// LaunchersLater is Launchers in two steps: the function that it returns makes the messages, on any goroutine.
func (c *Core) LaunchersLater() func() []*wire.LauncherStatus {
	rows := make([]launcherRow, len(c.launchers.IDs()))
	counts := make(capacity.Slots, 0, 2*len(rows)) // of all rows, one after another
	for i, id := range c.launchers.IDs() {
		l := c.launchers.Get(id)
		rows[i] = launcherRow{
			id: l.ID, name: l.Name, host: l.Host, rack: l.Rack, memory: l.Memory(), memoryFree: l.FreeMemory(), state: l.state(),
			suspended: l.suspended, running: len(l.attempts) - l.suspended, slots: len(l.Slots()), free: len(l.Free()),
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
	state              string
	suspended, running int
	slots, free        int // kinds
}

func (r *launcherRow) message(slots, free capacity.Slots) *wire.LauncherStatus {
	return &wire.LauncherStatus{
		Launcher: uint64(r.id), Name: r.name, Host: r.host, Rack: r.rack, Slots: wireSlots(slots), Free: wireSlots(free),
		Memory: r.memory, MemoryFree: r.memoryFree, State: r.state, Suspended: uint32(r.suspended), Running: uint32(r.running),
	}
}

func (l *launcher) state() string {
	switch {
	case !l.Up:
		return "lost"
	case l.Draining && len(l.attempts) == 0:
		return "drained"
	case l.Draining:
		return "draining"
	case l.Blamed:
		return "blamed"
	}
	return "up"
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
func (c *Core) Launcher(name string) (LauncherInfo, bool) {
	l := c.byName[name]
	if l == nil {
		return LauncherInfo{}, false
	}
	return LauncherInfo{l.ID, l.Name, l.identity, l.incarnation, l.Up, l.dataAddress, l.httpAddress}, true
}
