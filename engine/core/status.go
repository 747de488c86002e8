package core

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/prefetch"
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
	for _, id := range c.jobs.ids {
		list = append(list, c.jobs.get(id).summary())
	}
	return list
}

// JobStatus returns what is known of a job, with its attempts when they are
// asked for: at most Settings.AttemptsKept that ended, and all that live. It is
// false for a job that is not known. What it returns must not be changed.
func (c *Core) JobStatus(id scheduler.JobID, attempts bool) (*wire.JobStatus, bool) {
	later, known := c.StatusLater(id, attempts)
	if !known {
		return nil, false
	}
	return later(), true
}

// StatusLater is JobStatus in two steps, because a job may have very many attempts: it
// notes what there is, and the function that it returns makes the status of that, on any
// goroutine, while the core goes on.
func (c *Core) StatusLater(id scheduler.JobID, attempts bool) (later func() *wire.JobStatus, known bool) {
	if j := c.jobs.get(id); j != nil {
		s := c.statusOf(j)
		if !attempts {
			return func() *wire.JobStatus { return s }, true
		}
		rows := j.attemptRows()
		return func() *wire.JobStatus {
			s.Attempts = rows.status()
			return s
		}, true
	}
	for _, e := range c.ended {
		if e.status.Summary.Job == uint64(id) {
			s := e.statusWith(attempts)
			return func() *wire.JobStatus { return s }, true
		}
	}
	return nil, false
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

func (j *job) summary() *wire.JobSummary {
	s := &wire.JobSummary{
		Job: uint64(j.id), Name: j.spec.Name, User: j.spec.GetPrincipal().GetName(), Pool: j.pool, Priority: int32(j.priority),
		Submitted: int64(j.submitted), Groups: uint32(len(j.plan.Groups)), GroupsFinished: uint32(j.finished),
	}
	if j.lastBundle() != nil {
		s.Groups++
	}
	switch j.phase {
	case jobAsked:
		s.State = wire.JobState_JOB_STATE_ASKED
	case jobRunning:
		s.State = wire.JobState_JOB_STATE_RUNNING
	default:
		s.State = wire.JobState_JOB_STATE_FINISHING
	}
	s.GroupsRunning = uint32(len(j.attempts) - j.resting)
	return s
}

func (c *Core) statusOf(j *job) *wire.JobStatus {
	s := &wire.JobStatus{
		Summary: j.summary(), Failure: j.failure, Waiting: c.waitingOf(j), Outputs: j.spec.Outputs,
		Read: slices.Clone(j.read[:]), LocalAttempts: slices.Clone(j.local[:]), Counters: j.counters(), Stages: j.stageStatus(),
	}
	if j.notesDropped > 0 {
		s.Notes = append(s.Notes, fmt.Sprintf("(%d older notes were dropped)", j.notesDropped))
	}
	s.Notes = append(s.Notes, j.notes...)
	return s
}

// attemptRows are what the status of a job's attempts is made of.
type attemptRows struct {
	stages []string
	ended  []pastAttempt // the oldest first
	live   []liveAttempt // in any order
}

type liveAttempt struct {
	pastAttempt // without what is known at the end
	state       string
}

func (j *job) attemptRows() attemptRows {
	r := attemptRows{stages: make([]string, len(j.stages)), ended: make([]pastAttempt, len(j.history)), live: make([]liveAttempt, len(j.attempts))}
	for i := range j.stages {
		r.stages[i] = j.stages[i].name
	}
	for i := range j.history {
		r.ended[i] = j.history[(j.historyNext+i)%len(j.history)]
	}
	for i, a := range j.attempts {
		if next := prefetch.Next(j.attempts, i); next != nil {
			prefetchStragglers(next)
		}
		x := &r.live[i]
		x.pastAttempt = pastAttempt{id: a.id, stage: a.stage, index: a.index, launcher: a.launcher.name, started: a.started, speculative: a.run.speculative}
		x.state = a.state()
		if a.stop != nil {
			x.reason = a.stop.reason
		}
	}
	return r
}

// status makes the messages: what ended, then what lives, in order of id.
func (r attemptRows) status() []*wire.AttemptStatus {
	var list []*wire.AttemptStatus
	add := func(p *pastAttempt, state string) {
		list = append(list, &wire.AttemptStatus{
			Attempt: uint64(p.id), Stage: r.stages[p.stage], Index: uint32(p.index), Launcher: p.launcher, State: state,
			Started: int64(p.started), Ended: int64(p.ended), Speculative: p.speculative, Reason: p.reason,
		})
	}
	for i := range r.ended {
		add(&r.ended[i], r.ended[i].outcome.String())
	}
	slices.SortFunc(r.live, func(x, y liveAttempt) int { return cmp.Compare(x.id, y.id) })
	for i := range r.live {
		add(&r.live[i].pastAttempt, r.live[i].state)
	}
	return list
}

func (a *attempt) state() string {
	switch {
	case a.stop != nil:
		return "stopping"
	case a.phase == attemptSuspended:
		return "suspended"
	case a.phase == attemptRunning && a.misses > 0:
		return "running, waits for inputs"
	case a.phase == attemptRunning:
		return "running"
	}
	return "assigned"
}

// waitingOf says why a job waits: the manager's reasons, then the policy's.
func (c *Core) waitingOf(j *job) []string {
	var list []string
	switch j.phase {
	case jobAsked:
		list = append(list, "waits to be admitted by the policy")
	case jobPublishing:
		if j.lastBundle().phase == bundleWaiting && j.whyLater != "" {
			list = append(list, j.whyLater)
		}
	case jobEnding:
		list = append(list, fmt.Sprintf("%d attempts are being stopped", len(j.attempts)))
	}
	if j.whyNot != "" && !j.ends() {
		list = append(list, j.whyNot)
	}
	if j.phase != jobAsked && j.ready.count > 0 {
		switch {
		case c.up == 0:
			list = append(list, "no launcher is there")
		case c.policy.current == nil:
			list = append(list, "no policy is running")
		}
		list = append(list, c.waitsFor(j))
	}
	if w := j.policyWait; w.Reason != scheduler.WaitNone {
		text := w.Reason.String()
		if w.Detail != "" {
			text += ": " + w.Detail
		}
		list = append(list, "policy: "+text)
	}
	return list
}

// Launchers lists the launchers, those that were lost and are remembered too, in
// order of id.
func (c *Core) Launchers() []*wire.LauncherStatus { return c.LaunchersLater()() }

// LaunchersLater is Launchers in two steps, as StatusLater is for a job.
func (c *Core) LaunchersLater() func() []*wire.LauncherStatus {
	rows := make([]launcherRow, len(c.launchers.ids))
	counts := make(slotCounts, 0, 2*len(rows)) // of all rows, one after another
	for i, id := range c.launchers.ids {
		l := c.launchers.get(id)
		rows[i] = launcherRow{
			id: l.id, name: l.name, host: l.host, rack: l.rack, memory: l.memory, memoryFree: l.memoryFree, state: l.state(),
			suspended: l.suspended, running: len(l.attempts) - l.suspended, slots: len(l.slots), free: len(l.free),
		}
		counts = append(append(counts, l.slots...), l.free...)
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

func (r *launcherRow) message(slots, free slotCounts) *wire.LauncherStatus {
	return &wire.LauncherStatus{
		Launcher: uint64(r.id), Name: r.name, Host: r.host, Rack: r.rack, Slots: wireSlots(slots), Free: wireSlots(free),
		Memory: r.memory, MemoryFree: r.memoryFree, State: r.state, Suspended: uint32(r.suspended), Running: uint32(r.running),
	}
}

func (l *launcher) state() string {
	switch {
	case !l.up:
		return "lost"
	case l.draining && len(l.attempts) == 0:
		return "drained"
	case l.draining:
		return "draining"
	case l.blamed:
		return "blamed"
	}
	return "up"
}

func wireSlots(counts slotCounts) []*wire.Slots {
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
	return LauncherInfo{l.id, l.name, l.identity, l.incarnation, l.up, l.dataAddress, l.httpAddress}, true
}
