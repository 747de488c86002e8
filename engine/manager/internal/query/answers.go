package query

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/core/changes"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// LiveJobs lists the live jobs in order of id. The messages must not be changed. The error is that of
// ctx.
func (m *Model) LiveJobs(ctx context.Context) ([]*wire.JobSummary, error) {
	list, _, err := m.find(ctx, false, &Filter{})
	return list, err
}

// JobStatus returns the status of a job, on request with its attempts: the newest ended ones
// (Bounds.AttemptsKept of a live job) and all live ones. It is false for an unknown job. The caller
// must not change what the message points to, except for live attempts. The error is that of ctx.
func (m *Model) JobStatus(ctx context.Context, id scheduler.JobID, attempts bool) (s *wire.JobStatus, known bool, err error) {
	var shown *job
	var row *changes.Job
	var stages []changes.Stage
	var elements []wire.ElementState
	var c cluster
	var ids []scheduler.AttemptID
	var over int // of ids
	err = m.read(ctx, func() {
		if e := m.endedByID[id]; e != nil {
			s = endedStatus(e.status, attempts)
			return
		}
		if shown = m.live.Get(id); shown == nil {
			return
		}
		row, stages, elements, c = shown.row, slices.Clone(shown.stages), slices.Clone(shown.elements), m.clusterFor(shown.row)
		if attempts {
			newest := shown.attempts.newest
			ids = slices.Concat(newest[max(0, len(newest)-m.bounds.AttemptsKept):], shown.attempts.live)
			over = len(ids) - len(shown.attempts.live)
		}
	})
	if err != nil || shown == nil {
		return s, s != nil, err
	}
	s = jobStatus(row, stages, c)
	if len(elements) > 0 {
		s.Array = wire.NewArrayStatus(row.Array.Spec, row.Array.Set, row.Array.Stage, elements)
	}
	slices.Sort(ids[over:])
	for _, a := range m.rowsOf(shown, ids) {
		s.Attempts = append(s.Attempts, attemptStatus(row.StageNames[a.Stage], &a))
	}
	return s, true, nil
}

// rowsOf copies rows of a job, some at a time. Rows that are gone are left out.
func (m *Model) rowsOf(j *job, ids []scheduler.AttemptID) []changes.Attempt {
	list := make([]changes.Attempt, 0, len(ids))
	for some := range slices.Chunk(ids, chunkRows) {
		m.readLocked(func() {
			for _, id := range some {
				if r := j.attempts.get(id); r != nil {
					list = append(list, j.attempts.fact(j.row.ID, r))
				}
			}
		})
	}
	return list
}

// LiveOf lists the running attempts of a live job for which which is true, in order of id, and
// reports whether others of the job run. Attempts that wait for missing inputs, or are suspended,
// do not run. It is empty if which is true for none.
func (m *Model) LiveOf(ctx context.Context, id scheduler.JobID, which func(scheduler.AttemptID) bool) (list []*wire.AttemptStatus, others bool, err error) {
	var shown *job
	var row *changes.Job
	var ids []scheduler.AttemptID
	err = m.read(ctx, func() {
		if shown = m.live.Get(id); shown != nil && slices.ContainsFunc(shown.attempts.live, which) {
			row, ids = shown.row, slices.Clone(shown.attempts.live)
		}
	})
	if err != nil || len(ids) == 0 {
		return nil, false, err
	}
	slices.Sort(ids)
	for _, a := range m.rowsOf(shown, ids) {
		switch {
		case a.State != changes.Running && a.State != changes.Assigned:
		case which(a.ID):
			list = append(list, attemptStatus(row.StageNames[a.Stage], &a))
		default:
			others = true
		}
	}
	return list, others, nil
}

// JobOfAttempt returns the job of an attempt; false when it is not known.
func (m *Model) JobOfAttempt(ctx context.Context, id scheduler.AttemptID) (job scheduler.JobID, known bool, err error) {
	err = m.read(ctx, func() {
		for _, j := range m.live.IDs() {
			if m.live.Get(j).attempts.get(id) != nil {
				job, known = j, true
				return
			}
		}
		for _, e := range m.ended {
			if slices.ContainsFunc(e.status.GetAttempts(), func(a *wire.AttemptStatus) bool { return a.GetAttempt() == uint64(id) }) {
				job, known = scheduler.JobID(e.status.GetSummary().GetJob()), true
				return
			}
		}
	})
	return job, known, err
}

// MayHave lists the kept ended jobs that may have had a forgotten attempt. Ids are given in turn,
// so the job whose last attempt came soonest after it is first.
func (m *Model) MayHave(ctx context.Context, id scheduler.AttemptID) (jobs []scheduler.JobID, err error) {
	var may []*endedJob
	err = m.read(ctx, func() {
		for _, e := range m.ended {
			if e.span[0] <= id && id <= e.span[1] {
				may = append(may, e)
			}
		}
	})
	slices.SortStableFunc(may, func(x, y *endedJob) int { return cmp.Compare(x.span[1], y.span[1]) })
	for _, e := range may {
		jobs = append(jobs, scheduler.JobID(e.status.GetSummary().GetJob()))
	}
	return jobs, err
}

// Attempts lists attempts of a live job in order of id, starting after the id after. It fills the
// capacity of the caller's list, which is overwritten, with at most 4096. Of all that came, kept
// says how many there are. It is false for a job that does not live: of an ended job only came is
// known.
func (m *Model) Attempts(ctx context.Context, id scheduler.JobID, after scheduler.AttemptID, into []changes.Attempt) (list []changes.Attempt, kept, came int, lives bool, err error) {
	list = into[:0]
	err = m.read(ctx, func() {
		j := m.live.Get(id)
		if j == nil {
			if e := m.endedByID[id]; e != nil {
				came = e.came
			}
			return
		}
		t := &j.attempts
		kept, came, lives = t.len, t.came, true
		c, i, found := t.find(after)
		if found {
			i++
		}
		for ; c < len(t.chunks); c, i = c+1, 0 {
			for ; i < len(t.chunks[c].rows); i++ {
				if len(list) >= min(cap(into), chunkRows) {
					return
				}
				list = append(list, t.fact(id, &t.chunks[c].rows[i]))
			}
		}
	})
	return list, kept, came, lives, err
}

// Submitted is the time and the user of a live job's submission; false: no live job has that id.
func (m *Model) Submitted(ctx context.Context, id scheduler.JobID) (at scheduler.Time, user string, known bool, err error) {
	err = m.read(ctx, func() {
		if j := m.live.Get(id); j != nil {
			at, user, known = j.row.Submitted, j.row.Spec.GetPrincipal().GetName(), true
		}
	})
	return at, user, known, err
}

// Launchers lists the launchers, including lost ones that are remembered, in order of id.
func (m *Model) Launchers(ctx context.Context) ([]*wire.LauncherStatus, error) {
	var rows []*changes.Launcher
	err := m.read(ctx, func() {
		rows = make([]*changes.Launcher, 0, m.launchers.Len())
		for _, id := range m.launchers.IDs() {
			if l := m.launchers.Get(id); l.row != nil {
				rows = append(rows, l.row)
			}
		}
	})
	list := make([]*wire.LauncherStatus, len(rows))
	for i, l := range rows {
		list[i] = launcherStatus(l)
	}
	return list, err
}

// OnLauncher lists the live attempts on a launcher, in order of id.
func (m *Model) OnLauncher(ctx context.Context, id scheduler.LauncherID) (list []changes.Attempt, err error) {
	err = m.read(ctx, func() {
		if l := m.launchers.Get(id); l != nil {
			for _, a := range l.live {
				list = append(list, a.job.attempts.fact(a.job.row.ID, a.job.attempts.get(a.attempt)))
			}
		}
	})
	slices.SortFunc(list, func(x, y changes.Attempt) int { return cmp.Compare(x.ID, y.ID) })
	return list, err
}

// Ends lists the newest ends of attempts on a launcher, the newest first.
func (m *Model) Ends(ctx context.Context, id scheduler.LauncherID) (list []End, err error) {
	err = m.read(ctx, func() {
		if l := m.launchers.Get(id); l != nil {
			list = slices.Clone(l.ends[max(0, len(l.ends)-endsKept):])
		}
	})
	slices.Reverse(list)
	return list, err
}

// Stats returns the counts, without the current numbers (Running, Suspended, Ready, JobsLive), and
// the generation of the policy that decides; 0: none does.
func (m *Model) Stats(ctx context.Context) (stats core.Stats, decides uint64, err error) {
	err = m.read(ctx, func() { stats, decides = m.stats, m.decides })
	return stats, decides, err
}

// Revisions are numbers that grow with changes, and the generation of the policy that decides; 0:
// none does. They belong to one model: another, after a restart, begins again at 1.
type Revisions struct{ Jobs, Launchers, Decisions, Decides uint64 }

// Revisions returns the revisions of the last change of a job and of a launcher, the number of
// decisions, and the generation that decides.
func (m *Model) Revisions(ctx context.Context) (r Revisions, err error) {
	err = m.read(ctx, func() { r = Revisions{m.jobsAt, m.machines, m.decisions.count, m.decides} })
	return r, err
}

// JobRevision returns the revision of the last change of a job or of its parts; 0 for an unknown
// job. waits is true when something of the job could run, and does not: then the reasons change
// more often than the job.
func (m *Model) JobRevision(ctx context.Context, id scheduler.JobID) (revision uint64, waits bool, err error) {
	err = m.read(ctx, func() {
		if j := m.live.Get(id); j != nil {
			revision, waits = j.changed, isWaiting(j.row)
		} else if e := m.endedByID[id]; e != nil {
			revision = e.changed
		}
	})
	return revision, waits, err
}

// Missing returns those of some jobs that are not live, in their order. The error is that of ctx.
func (m *Model) Missing(ctx context.Context, ids []scheduler.JobID) (missing []scheduler.JobID, err error) {
	err = m.read(ctx, func() {
		for _, id := range ids {
			if m.live.Get(id) == nil {
				missing = append(missing, id)
			}
		}
	})
	return missing, err
}

// MayCome reports whether an unknown job may be submitted at this moment: it is announced, or its
// id lies between announced ones.
func (m *Model) MayCome(ctx context.Context, id scheduler.JobID) (may bool, err error) {
	err = m.read(ctx, func() { may = m.announced[0] != 0 && m.announced[0] <= id && id <= m.announced[1] })
	return may, err
}

func summary(j *changes.Job) *wire.JobSummary {
	return &wire.JobSummary{
		Job: uint64(j.ID), Name: j.Spec.GetName(), User: j.Spec.GetPrincipal().GetName(), Pool: j.Pool, Priority: int32(j.Priority), State: j.State,
		Submitted: int64(j.Submitted), Groups: uint32(j.Groups), GroupsFinished: uint32(j.Finished), GroupsRunning: uint32(j.Running),
		Elements: uint32(j.Array.Set.Len()),
	}
}

func jobStatus(j *changes.Job, stages []changes.Stage, c cluster) *wire.JobStatus {
	s := &wire.JobStatus{
		Summary: summary(j), Failure: j.Failure, Waiting: waiting(j, c), Outputs: j.Spec.GetOutputs(), Counters: j.Counters,
		Read: j.Read[:], LocalAttempts: j.Local[:], Limits: j.Limits, Started: int64(j.Started), After: j.Spec.GetAfter(), Run: j.Spec.GetRun(),
	}
	for i := range stages {
		r := &stages[i]
		s.Stages = append(s.Stages, &wire.StageStatus{
			Name: j.StageNames[i], Nodes: r.Nodes, Failures: r.Failures, Waiting: r.Waiting, Ready: r.Ready, Running: r.Running, Suspended: r.Suspended, Finished: r.Finished, GivenUp: r.GivenUp,
			Adapt: r.Spread.Status(), Aggregate: r.Aggregation.Status(),
		})
	}
	if j.NotesDropped > 0 {
		s.Notes = append(s.Notes, fmt.Sprintf("(%d older notes were dropped)", j.NotesDropped))
	}
	s.Notes = append(s.Notes, j.Notes...)
	return s
}

// endedStatus is a separate message about an ended job.
func endedStatus(s *wire.JobStatus, attempts bool) *wire.JobStatus {
	own := &wire.JobStatus{
		Summary: s.Summary, Stages: s.Stages, Failure: s.Failure, Counters: s.Counters, Waiting: s.Waiting,
		Read: s.Read, LocalAttempts: s.LocalAttempts, Notes: s.Notes, Outputs: s.Outputs, Kept: s.Kept, Limits: s.Limits, Started: s.Started, After: s.After, Array: s.Array, Run: s.Run,
	}
	if attempts {
		own.Attempts = s.Attempts
	}
	return own
}

// words of the states of attempts; ended attempts have the word of their outcome.
var words = [...]string{
	changes.Assigned: "assigned", changes.Running: "running", changes.Starved: "starved", changes.Suspended: "suspended", changes.Stopping: "stopping", changes.Ahead: "ahead",
}

// StateName is the word for an attempt's state, or for an ended attempt's outcome.
func StateName(a *changes.Attempt) string {
	if a.State == changes.Ended {
		return a.Outcome.String()
	}
	return words[a.State]
}

// AttemptStatus describes an attempt of a job with these stages.
func AttemptStatus(stages []*wire.StageStatus, a *changes.Attempt) *wire.AttemptStatus {
	name := ""
	if i := int(a.Stage); i >= 0 && i < len(stages) {
		name = stages[i].GetName()
	}
	return attemptStatus(name, a)
}

func attemptStatus(stage string, a *changes.Attempt) *wire.AttemptStatus {
	s := &wire.AttemptStatus{
		Attempt: uint64(a.ID), Stage: stage, Index: uint32(a.Index), Launcher: a.On, State: StateName(a), Started: int64(a.Started),
		Speculative: a.Speculative, Reason: a.Reason, SuspendedNs: int64(a.Suspended),
	}
	if a.State == changes.Ended {
		s.Ended = int64(a.Since)
	} else {
		s.SuspendedSince = int64(a.Since)
	}
	return s
}

func launcherStatus(l *changes.Launcher) *wire.LauncherStatus {
	return &wire.LauncherStatus{
		Launcher: uint64(l.ID), Name: l.Name, Host: l.Host, Rack: l.Rack, State: l.State, Slots: wireSlots(l.Slots), Free: wireSlots(l.Free),
		Memory: l.Memory, MemoryFree: l.MemoryFree, Swap: l.Swap, SwapFree: l.SwapFree,
		Resources: wire.ResourceCounts(l.Resources), ResourcesFree: wire.ResourceCounts(l.ResourcesFree), Suspended: uint32(l.Suspended), Running: uint32(l.Running),
		ExcludedUntil: int64(l.ExcludedUntil), ExcludedFor: jobNumbers(l.ExcludedFor),
	}
}

func jobNumbers(ids []scheduler.JobID) (list []uint64) {
	for _, id := range ids {
		list = append(list, uint64(id))
	}
	return list
}

func wireSlots(counts []scheduler.SlotCount) (list []*wire.Slots) {
	for _, s := range counts {
		list = append(list, &wire.Slots{Kind: s.Kind, Count: uint32(s.Count)})
	}
	return list
}
