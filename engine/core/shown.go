package core

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hamadryad/hamadryad/engine/core/tally"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/internal/prefetch"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// attemptRows are what the status of a job's attempts is made of.
type attemptRows struct {
	stages []string
	ended  []tally.Past  // the oldest first
	live   []liveAttempt // in any order
}

type liveAttempt struct {
	tally.Past // without what is known at the end
	state      string
}

// endedRows are the rows of those that ended.
func (j *job) endedRows() *attemptRows {
	r := &attemptRows{stages: make([]string, len(j.stages)), ended: j.tally.Kept()}
	for i := range j.stages {
		r.stages[i] = j.stages[i].Name()
	}
	return r
}

// look adds the rows of attempts that lived when they were noted.
func (r *attemptRows) look(attempts []*attempt) {
	for i, a := range attempts {
		if next := prefetch.Next(attempts, i); next != nil {
			prefetchRows(next)
		}
		x := liveAttempt{state: a.state()}
		x.Past = tally.Past{ID: a.id, Stage: a.stage, Index: a.index, Launcher: a.launcher.Name, Started: a.started, Speculative: a.run.speculative}
		if a.phase == attemptEnded {
			x.Ended = a.since
		}
		if a.stop != nil {
			x.Reason = a.stop.reason
		}
		r.live = append(r.live, x)
	}
}

// status makes the messages: what ended, then what lives, in order of id.
func (r *attemptRows) status() []*wire.AttemptStatus {
	var list []*wire.AttemptStatus
	add := func(p *tally.Past, state string) {
		list = append(list, &wire.AttemptStatus{
			Attempt: uint64(p.ID), Stage: r.stages[p.Stage], Index: uint32(p.Index), Launcher: p.Launcher, State: state,
			Started: int64(p.Started), Ended: int64(p.Ended), Speculative: p.Speculative, Reason: p.Reason,
		})
	}
	for i := range r.ended {
		add(&r.ended[i], r.ended[i].Outcome.String())
	}
	slices.SortFunc(r.live, func(x, y liveAttempt) int { return cmp.Compare(x.ID, y.ID) })
	for i := range r.live {
		add(&r.live[i].Past, r.live[i].state)
	}
	return list
}

func (a *attempt) state() string {
	switch {
	case a.phase == attemptEnded:
		return a.outcome.String()
	case a.stop != nil:
		return "stopping"
	case a.phase == attemptSuspended:
		return "suspended"
	case a.phase == attemptRunning && a.reads.Misses() > 0:
		return "running, waits for inputs"
	case a.phase == attemptRunning:
		return "running"
	}
	return "assigned"
}

func (j *job) summary() *wire.JobSummary {
	s := &wire.JobSummary{
		Job: uint64(j.id), Name: j.spec.Name, User: j.spec.GetPrincipal().GetName(), Pool: j.pool, Priority: int32(j.priority),
		Submitted: int64(j.submitted), Groups: uint32(len(j.plan.Groups)), GroupsFinished: uint32(j.tally.Groups()),
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
		Counters: j.tally.Counters(), Stages: j.stageStatus(),
	}
	s.Read, s.LocalAttempts = j.tally.Reads()
	if j.notesDropped > 0 {
		s.Notes = append(s.Notes, fmt.Sprintf("(%d older notes were dropped)", j.notesDropped))
	}
	s.Notes = append(s.Notes, j.notes...)
	return s
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
		case c.capacity.Up() == 0:
			list = append(list, "no launcher is there")
		case c.policy.Current() == nil:
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

// waitsFor says why a job's longest ready bundle does not run; "" when nothing is
// ready.
func (c *Core) waitsFor(j *job) string {
	if j.ready.first == 0 {
		return ""
	}
	b := &j.bundles[j.ready.first-1]
	need := map[string]int{}
	var kinds []string
	for i := range b.Width() {
		d := b.Demand(i)
		if need[d.Kind] == 0 {
			kinds = append(kinds, d.Kind)
		}
		need[d.Kind] += d.Slots
	}
	slices.Sort(kinds)
	var parts []string
	for _, kind := range kinds {
		free, total := c.capacity.Count(kind)
		at := " "
		if b.Width() > 1 {
			at = " at once "
		}
		parts = append(parts, fmt.Sprintf("%d %s slots%s(%d free of %d in the cluster)", need[kind], kind, at, free, total))
	}
	noun := "a group"
	if b.Width() > 1 {
		noun = fmt.Sprintf("a bundle of %d groups", b.Width())
	}
	return fmt.Sprintf("%d ready: %s of %s needs %s", j.ready.count, noun, j.describe(b, 0), strings.Join(parts, " and "))
}

// remember keeps what status shows of a job that ended.
func (c *Core) remember(j *job) {
	s := c.statusOf(j)
	s.Attempts = j.endedRows().status() // nothing lives any more
	s.Waiting = nil
	for _, stage := range s.Stages { // what did not finish waits for nothing any more
		stage.Waiting, stage.Ready, stage.Running, stage.Suspended = 0, 0, 0, 0
	}
	s.Summary.State = stateOf(j.outcome)
	s.Summary.Ended = int64(c.step.Now)
	s.Kept = j.kept
	if n := len(s.Attempts); n > endedAttemptsKept {
		s.Attempts = s.Attempts[n-endedAttemptsKept:]
	}
	if len(c.ended) >= c.step.Set.JobsKept {
		c.ended = c.ended[len(c.ended)-c.step.Set.JobsKept+1:]
	}
	c.ended = append(c.ended, &endedJob{status: s})
}

// endedAttemptsKept is how many attempts are kept of a job that ended.
const endedAttemptsKept = 100

func stateOf(o scheduler.JobOutcome) wire.JobState {
	switch o {
	case scheduler.JobSucceeded:
		return wire.JobState_JOB_STATE_SUCCEEDED
	case scheduler.JobKilled:
		return wire.JobState_JOB_STATE_KILLED
	}
	return wire.JobState_JOB_STATE_FAILED
}
