package history

import (
	"cmp"
	"slices"

	"github.com/hamadryad/hamadryad/engine/core/changes"
	"github.com/hamadryad/hamadryad/engine/manager/internal/history/jobfile"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// liveJob is a job that has no file yet.
type liveJob struct {
	id      scheduler.JobID
	summary *wire.JobSummary  // of the job's first row
	graph   *wire.Graph       // nil: it is in a part, or not known
	course  jobfile.Course    // since the last part
	pending []changes.Attempt // ended since the last part
	slowest []changes.Attempt // the slowest of those that are not kept, the fastest first
	slower  bool              // slowest changed since the last part
	chunks  []chunk           // in parts, the oldest first

	kept     int    // attempts in parts and pending
	waits    int    // reasons that are kept
	lastWait string // the last reason
}

// addAttempt adds an ended attempt. Beyond most attempts only failures, and the slowest of the others, are kept.
func (j *liveJob) addAttempt(a changes.Attempt, most int) {
	j.course.Count(&a)
	switch {
	case j.kept < most, a.Outcome == scheduler.Failed && j.kept < 2*most:
		j.kept++
		j.pending = append(j.pending, a)
	default:
		j.keepSlow(a)
	}
}

// keepSlow keeps an attempt if it is one of the slowest.
func (j *liveJob) keepSlow(a changes.Attempt) {
	if len(j.slowest) == slowestMax && slower(a, j.slowest[0]) < 0 {
		return
	}
	at, _ := slices.BinarySearchFunc(j.slowest, a, slower)
	j.slowest, j.slower = slices.Insert(j.slowest, at, a), true
	if len(j.slowest) > slowestMax {
		j.slowest = slices.Delete(j.slowest, 0, 1)
	}
}

// slower is the order of liveJob.slowest: by running time, then id.
func slower(x, y changes.Attempt) int {
	return cmp.Or(cmp.Compare(x.Work.Running, y.Work.Running), cmp.Compare(x.ID, y.ID))
}

// addRow adds a job's row of the change set.
func (j *liveJob) addRow(row *changes.Job, at scheduler.Time) {
	if j.summary == nil {
		j.summary = &wire.JobSummary{
			Job: uint64(row.ID), Name: row.Spec.GetName(), User: row.Spec.GetPrincipal().GetName(), Pool: row.Pool, Priority: int32(row.Priority),
			Submitted: int64(row.Submitted), Groups: uint32(row.Groups),
		}
		if row.Plan != nil {
			j.graph = outline(row.Plan.Graph)
		}
	}
	j.course.Admitted = row.Admitted
	if why := reason(row); why != j.lastWait {
		j.lastWait = why
		if j.waits == waitsMax {
			j.course.WaitsDropped++
			return
		}
		j.waits++
		j.course.Waits = append(j.course.Waits, jobfile.Wait{At: at, Reason: why})
	}
}

// reason is why a job waits; "" if it does not. The words have no numbers, so that they stay the same while a job waits.
func reason(row *changes.Job) string {
	w := &row.Waits
	switch {
	case row.State == wire.JobState_JOB_STATE_WAITING:
		return "waits for other jobs to end"
	case row.State == wire.JobState_JOB_STATE_ASKED:
		return "waits to be admitted by the policy"
	case w.Retry != "":
		return w.Retry
	case w.WhyNot != "":
		return w.WhyNot
	case w.Ready == 0:
		return ""
	case w.Policy.Reason != scheduler.WaitNone:
		return "policy: " + w.Policy.Reason.String()
	}
	return "has work that is ready, and waits for slots"
}

// outline copies a graph without its inputs and edges, which make it large.
func outline(g *wire.Graph) *wire.Graph {
	o := &wire.Graph{}
	for _, s := range g.GetStages() {
		o.Stages = append(o.Stages, &wire.Stage{
			Name: s.Name, Nodes: s.Nodes, Kind: s.Kind, Slots: s.Slots, Memory: s.Memory, Shuffles: s.Shuffles, OwnProcess: s.OwnProcess, Command: s.Command, NoSuspend: s.NoSuspend, AttemptsMax: s.AttemptsMax, Elements: s.Elements,
		})
	}
	for _, c := range g.GetConnections() {
		o.Connections = append(o.Connections, &wire.Connection{
			FromStage: c.FromStage, FromPort: c.FromPort, ToStage: c.ToStage, ToPort: c.ToPort, Pattern: c.Pattern, Kind: c.Kind, Codec: c.Codec, SlowStart: c.SlowStart, Store: c.Store, Adapt: c.Adapt, Aggregate: c.Aggregate,
		})
	}
	return o
}

// newChunks returns the chunks for the next part; nil where nothing is new. Slow has all slowest attempts, and replaces
// the chunk of that kind before.
func (j *liveJob) newChunks() (rows, slow *jobfile.Job) {
	if j.graph != nil || len(j.pending) > 0 || len(j.course.Waits) > 0 || j.course.Attempts > 0 || j.course.Missed > 0 || len(j.course.Lacks) > 0 {
		rows = &jobfile.Job{ID: j.id, Graph: j.graph, Course: j.course, Attempts: j.pending}
		if j.graph != nil {
			rows.Status = &wire.JobStatus{Summary: j.summary}
		}
	}
	if j.slower {
		slow = &jobfile.Job{ID: j.id, Attempts: j.slowest}
	}
	return rows, slow
}

// clearStored forgets the rows that newChunks returned, once a part has them. The next rows get their memory, unless
// there were none this time.
func (j *liveJob) clearStored() {
	admitted, settings := j.course.Admitted, j.course.Settings
	if len(j.pending) == 0 {
		j.pending = nil
	}
	j.graph, j.pending, j.slower = nil, j.pending[:0], false
	j.course = jobfile.Course{Admitted: admitted, Settings: settings}
}
