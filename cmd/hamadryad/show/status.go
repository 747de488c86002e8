package show

import (
	"fmt"
	"strings"
	"time"

	"github.com/hamadryad/hamadryad/engine/client"
	"github.com/hamadryad/hamadryad/engine/manager/restapi"
	"github.com/hamadryad/hamadryad/engine/progress"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// jobView is a job for programs, with its attempts where they were requested.
type jobView struct {
	restapi.Job
	Attempts []restapi.Attempt `json:"attempts,omitzero"`
}

// Status shows a job; with attempts, also each of these.
func (c *Printer) Status(s *wire.JobStatus, attempts bool) error {
	j := s.Summary
	switch {
	case c.structured():
		v := jobView{Job: restapi.JobOf(s)}
		if attempts {
			v.Attempts = eachOf(s.Attempts, restapi.AttemptOf)
		}
		return c.value(v)
	case c.Format == Name:
		_, err := fmt.Fprintln(c.Out, scheduler.JobID(j.Job))
		return err
	}
	fmt.Fprintf(c.Out, "%v %s: %s, user %s, pool %s, priority %v, submitted %s ago\n", scheduler.JobID(j.Job), progress.OneLine(j.Name),
		client.StateName(j.State), orDash(j.User), orDash(j.Pool), scheduler.Priority(j.Priority), ago(j.Submitted))
	if why := s.Failure.Text(); why != "" {
		fmt.Fprintf(c.Out, "failure: %s\n", why)
	}
	if r := s.Run; r != nil {
		fmt.Fprintf(c.Out, "schedule: %s, run %d\n", progress.OneLine(r.Name), r.Run)
	}
	c.printAfter(s)
	c.printLimits(s)
	for _, w := range s.Waiting {
		fmt.Fprintf(c.Out, "waits: %s\n", progress.OneLine(w))
	}
	c.printIdle(s)
	c.printOutputs(s)
	if err := c.printStages(s); err != nil {
		return err
	}
	if text := client.Locality(s); text != "" {
		fmt.Fprintf(c.Out, "attempts that read files: %s\n", text)
	}
	for _, n := range s.Notes {
		fmt.Fprintf(c.Out, "note: %s\n", progress.OneLine(n))
	}
	for _, k := range s.Counters {
		fmt.Fprintf(c.Out, "counter: %s = %s\n", k.Name, progress.Counter(k))
	}
	return c.printAttempts(s.Attempts)
}

// printAfter prints the jobs that have to end before the job starts, as --after has them.
func (c *Printer) printAfter(s *wire.JobStatus) {
	var list []string
	for _, d := range s.After {
		end := "ok"
		if d.Any {
			end = "any"
		}
		list = append(list, fmt.Sprintf("%v:%s", scheduler.JobID(d.Job), end))
	}
	if len(list) > 0 {
		fmt.Fprintf(c.Out, "after: %s\n", strings.Join(list, " "))
	}
}

// printLimits prints the job's time limit and deadline, if it has them.
func (c *Printer) printLimits(s *wire.JobStatus) {
	if limit := time.Duration(s.GetLimits().GetTimeLimitNs()); limit > 0 {
		began := "counts from the first launch"
		if s.Started != 0 {
			began = "until " + instant(s.Started+int64(limit))
		}
		fmt.Fprintf(c.Out, "time limit: %v, %s\n", limit, began)
	}
	if at := s.GetLimits().GetDeadline(); at != 0 {
		then := "shown only"
		if s.Limits.FailAtDeadline {
			then = "the job fails then"
		}
		fmt.Fprintf(c.Out, "deadline: %s (%s)\n", instant(at), then)
	}
}

// printIdle names attempts without progress for long.
func (c *Printer) printIdle(s *wire.JobStatus) {
	for _, a := range s.Idle {
		fmt.Fprintf(c.Out, "%s: %v of %s, node %d, on %s\n", progress.OneLine(withoutProgress(a)), scheduler.AttemptID(a.Attempt), progress.OneLine(a.Stage), a.Index, progress.OneLine(a.Launcher))
	}
	if more := int(s.IdleTotal) - len(s.Idle); more > 0 {
		fmt.Fprintf(c.Out, "no progress: %d attempts more; \"hamadryad status %v --attempts\" lists them\n", more, scheduler.JobID(s.Summary.Job))
	}
}

// withoutProgress describes the time since an attempt's last progress, and what its nodes wait for.
func withoutProgress(a *wire.AttemptStatus) string {
	text := "no progress for " + span(time.Duration(a.IdleNs))
	if a.Blocked != "" {
		text += " (" + a.Blocked + ")"
	}
	return text
}

// printOutputs names the output folders: the present and the future ones, but none that will never
// exist.
func (c *Printer) printOutputs(s *wire.JobStatus) {
	word := "output"
	switch {
	case s.Summary.State == wire.JobState_JOB_STATE_SUCCEEDED:
	case client.Ended(s.Summary.State), s.Failure != nil:
		return
	default:
		word = "output, when it succeeds"
	}
	for _, o := range s.Outputs {
		fmt.Fprintf(c.Out, "%s: %s\n", word, o)
	}
}

// Killed names the job that a kill ends.
func (c *Printer) Killed(j *wire.JobSummary) {
	fmt.Fprintf(c.Out, "killed %v", scheduler.JobID(j.GetJob()))
	if j.GetName() != "" {
		fmt.Fprintf(c.Out, " %s (user %s)", progress.OneLine(j.GetName()), orDash(progress.OneLine(j.GetUser())))
	}
	fmt.Fprintln(c.Out)
}

func (c *Printer) printStages(s *wire.JobStatus) error {
	ended := client.Ended(s.Summary.State)
	heads := []string{"STAGE", "NODES", "WAITING", "READY", "RUNNING", "SUSPENDED", "FINISHED", "FAILURES"}
	if ended {
		heads = []string{"STAGE", "NODES", "FINISHED", "NOT FINISHED", "FAILURES"}
	}
	t := c.table(heads...)
	var last *wire.StageStatus
	for _, st := range s.Stages {
		switch {
		case st.Nodes == 0 && st.Aggregate == nil: // the stage that the manager adds to every job
			last = st
		case ended:
			t.row(st.Name, count(st.Nodes), count(st.Finished), count(st.Nodes-min(st.Finished, st.Nodes)), count(st.Failures))
		default:
			t.row(st.Name, count(st.Nodes), count(st.Waiting), count(st.Ready), count(st.Running), count(st.Suspended), count(st.Finished), count(st.Failures))
		}
	}
	if err := t.end(); err != nil {
		return err
	}
	for _, st := range s.Stages {
		c.printAdapt(st, len(s.Attempts) > 0)
		c.printAggregate(st)
	}
	c.printArray(s.Array)
	if last == nil {
		return nil
	}
	what := "moving the output files to their folder"
	if s.Failure != nil || s.Summary.State == wire.JobState_JOB_STATE_KILLED {
		what = "removing what the job wrote"
	}
	state := "not yet"
	switch {
	case last.Finished > 0:
		state = "done"
	case ended:
		state = "not done"
	case last.Running > 0:
		state = "running"
	}
	fmt.Fprintf(c.Out, "last step, %s: %s, %d failures\n", what, state, last.Failures)
	return nil
}

// printAdapt says how the partitions of a stage's adapted connection were given to its nodes, and
// which of them were split; with joined also which were joined.
func (c *Printer) printAdapt(st *wire.StageStatus, joined bool) {
	a := st.Adapt
	if a == nil {
		return
	}
	text := fmt.Sprintf("stage %s: %d partitions for %d nodes", progress.OneLine(st.Name), a.Partitions, st.Nodes)
	if a.Joined > 0 {
		text += fmt.Sprintf(", %d of them joined with others", a.Joined)
		if a.Bytes > 0 {
			text += fmt.Sprintf(" (up to %s together)", size(a.Bytes))
		}
	}
	if a.Split > 0 {
		text += fmt.Sprintf(", %d split among %d nodes", a.Split, a.Pieces)
	}
	if a.Bytes > 0 {
		text += "; the median partition has " + size(a.Median)
	}
	fmt.Fprintf(c.Out, "%s; the largest node reads %s\n", text, size(a.Largest))
	for _, r := range a.Ranges {
		switch {
		case r.Readers > 1:
			fmt.Fprintf(c.Out, "  nodes %d to %d read partition %d: %s\n", r.Reader, r.Reader+r.Readers-1, r.Partition, size(r.Bytes))
		case joined:
			fmt.Fprintf(c.Out, "  node %d reads partitions %d to %d: %s\n", r.Reader, r.Partition, r.Partition+r.Partitions-1, size(r.Bytes))
		}
	}
	if joined && a.RangesLeftOut > 0 {
		fmt.Fprintf(c.Out, "  %d more nodes read several partitions\n", a.RangesLeftOut)
	}
}

// printAggregate says for which machines or racks an aggregating stage got nodes, and why.
func (c *Printer) printAggregate(st *wire.StageStatus) {
	a := st.Aggregate
	if a == nil {
		return
	}
	place := "machine"
	if a.Level == wire.Level_LEVEL_RACK {
		place = "rack"
	}
	rule := fmt.Sprintf("a %s gets one for at least two writers that stored %s together", place, size(a.Least))
	if !a.Chosen {
		fmt.Fprintf(c.Out, "stage %s: its nodes are chosen when all of its writers have finished; %s\n", progress.OneLine(st.Name), rule)
		return
	}
	fmt.Fprintf(c.Out, "stage %s: %d of %d %ss got a node; nodes read %d writers with %s, and %d writers are read directly (%s)\n",
		progress.OneLine(st.Name), a.Nodes, a.Places, place, a.Covered, size(a.Bytes), a.Direct, rule)
}

func (c *Printer) printAttempts(attempts []*wire.AttemptStatus) error {
	if len(attempts) == 0 {
		return nil
	}
	t := c.table("ATTEMPT", "STAGE", "INDEX", "LAUNCHER", "STATE", "PROGRESS", "STARTED", "TOOK", "SUSPENDED", "REASON")
	for _, a := range attempts {
		took := "-"
		if a.Started != 0 && a.Ended != 0 {
			took = span(time.Duration(a.Ended - a.Started))
		}
		done := "-"
		if a.Progress > 0 {
			done = partText(&a.Progress)
		}
		state := a.State
		if a.Speculative {
			state += " (speculative)"
		}
		why := a.Reason
		if a.IdleNs > 0 && why == "" {
			why = withoutProgress(a)
		}
		t.row(scheduler.AttemptID(a.Attempt).String(), a.Stage, count(a.Index), a.Launcher, state, done, ago(a.Started), took, rested(a), why)
	}
	return t.end()
}

// rested is the time for which an attempt was suspended, in all and since the last suspension.
func rested(a *wire.AttemptStatus) string {
	text := "-"
	if a.SuspendedNs > 0 {
		text = span(time.Duration(a.SuspendedNs))
	}
	if a.SuspendedSince == 0 {
		return text
	}
	now := "for " + ago(a.SuspendedSince)
	if a.SuspendedNs > 0 {
		return now + ", before " + text
	}
	return now
}
