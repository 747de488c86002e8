package core

import (
	"fmt"
	"slices"

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
	for _, id := range c.jobs.ids {
		list = append(list, c.jobs.get(id).summary())
	}
	return list
}

// JobStatus returns what is known of a job, with its attempts when they are
// asked for: at most Settings.AttemptsKept that ended, and all that live. It is
// false for a job that is not known. What it returns must not be changed.
func (c *Core) JobStatus(id scheduler.JobID, attempts bool) (*wire.JobStatus, bool) {
	if j := c.jobs.get(id); j != nil {
		return c.statusOf(j, attempts), true
	}
	for _, e := range c.ended {
		if e.status.Summary.Job == uint64(id) {
			return e.statusWith(attempts), true
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

func (c *Core) statusOf(j *job, attempts bool) *wire.JobStatus {
	s := &wire.JobStatus{
		Summary: j.summary(), Failure: j.failure, Waiting: c.waitingOf(j), Outputs: j.spec.Outputs,
		Read: slices.Clone(j.read[:]), LocalAttempts: slices.Clone(j.local[:]), Counters: j.counters(), Stages: j.stageStatus(),
	}
	if j.notesDropped > 0 {
		s.Notes = append(s.Notes, fmt.Sprintf("(%d older notes were dropped)", j.notesDropped))
	}
	s.Notes = append(s.Notes, j.notes...)
	if attempts {
		s.Attempts = j.attemptStatus()
	}
	return s
}

func (j *job) attemptStatus() []*wire.AttemptStatus {
	var list []*wire.AttemptStatus
	for i := range j.history {
		p := &j.history[(j.historyNext+i)%len(j.history)]
		list = append(list, &wire.AttemptStatus{
			Attempt: uint64(p.id), Stage: j.stages[p.stage].name, Index: uint32(p.index), Launcher: p.launcher,
			State: p.outcome.String(), Started: int64(p.started), Ended: int64(p.ended), Speculative: p.speculative, Reason: p.reason,
		})
	}
	for _, a := range j.attempts.sorted() {
		s := &wire.AttemptStatus{
			Attempt: uint64(a.id), Stage: lastStage, Launcher: a.launcher.name, State: a.state(), Started: int64(a.started), Speculative: a.run.speculative,
		}
		if b := a.run.bundle; !b.last() {
			n := j.plan.Node(b.nodes(a.group)[0])
			s.Stage, s.Index = j.stages[n.Stage].name, uint32(n.Index)
		}
		if a.stop != nil {
			s.Reason = a.stop.reason
		}
		list = append(list, s)
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
func (c *Core) Launchers() []*wire.LauncherStatus {
	var list []*wire.LauncherStatus
	for _, id := range c.launchers.ids {
		l := c.launchers.get(id)
		s := &wire.LauncherStatus{
			Launcher: uint64(l.id), Name: l.name, Host: l.host, Rack: l.rack, Slots: wireSlots(l.slots), Free: wireSlots(l.free),
			Memory: l.memory, MemoryFree: l.memoryFree, State: l.state(),
		}
		s.Suspended, s.Running = uint32(l.suspended), uint32(len(l.attempts)-l.suspended)
		list = append(list, s)
	}
	return list
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
