package state

import (
	"cmp"
	"slices"

	"github.com/hamadryad/hamadryad/engine/core/changes"
	"github.com/hamadryad/hamadryad/engine/core/internal/state/phase"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// DirtySet are what changed since it was told last, for who shows it. Nothing is decided by them,
// and no checkpoint has them.
type DirtySet struct {
	on       bool
	attempts []*Attempt // that live
	ended    []changes.Attempt
	gone     []scheduler.LauncherID
	decided  []changes.Decision
	over     []*EndedJob
	usual    int // how many rows of attempts the last step had, up to usualMax: the next will have about as many
}

// decidedMax bounds the decisions of one step that are told one by one. All are counted.
const decidedMax = 1000

// usualMax bounds the rows of attempts for which room is made before it is known how many a step has.
const usualMax = 256

// EnableChanges has News be kept from now on.
func (st *Cluster) EnableChanges() {
	st.dirty.on = true
	st.resources.EnableChanges()
}

// ChangesEnabled says whether News are kept.
func (st *Cluster) ChangesEnabled() bool { return st.dirty.on }

// MarkAttemptDirty has an attempt's row be told, with those of its job and launcher.
func (st *Cluster) MarkAttemptDirty(a *Attempt) {
	st.MarkDirty(a.BundleAttempt.Bundle.Job)
	if !st.dirty.on {
		return
	}
	st.resources.MarkDirty(&a.Launcher.Launcher)
	if !a.dirty && a.Phase() != phase.Ended {
		a.dirty = true
		st.dirty.attempts = append(st.dirty.attempts, a)
	}
}

// markStageDirty has a stage's row be told.
func (j *Job) markStageDirty(number int) {
	if s := &j.Stages[number]; !s.dirty {
		s.dirty = true
		j.dirtyStages = append(j.dirtyStages, int32(number))
	}
}

// NoteEnd has the last row of an attempt be told.
func (st *Cluster) NoteEnd(a *Attempt, reason string, beneficiary scheduler.JobID, work scheduler.Work) {
	if !st.dirty.on {
		return
	}
	row := a.Row()
	row.Reason, row.For, row.Work = reason, beneficiary, work
	if st.dirty.ended == nil {
		st.dirty.ended = make([]changes.Attempt, 0, st.dirty.usual)
	}
	st.dirty.ended = append(st.dirty.ended, row)
}

// NoteGone has it be told that a launcher is forgotten.
func (st *Cluster) NoteGone(id scheduler.LauncherID) {
	if st.dirty.on {
		st.dirty.gone = append(st.dirty.gone, id)
	}
}

// RecordsDecisions says whether one more decision of this step is told.
func (st *Cluster) RecordsDecisions() bool { return st.dirty.on && len(st.dirty.decided) < decidedMax }

// NoteDecision has it be told what became of a decision.
func (st *Cluster) NoteDecision(d changes.Decision) { st.dirty.decided = append(st.dirty.decided, d) }

// NoteOver has it be told that a job is over.
func (st *Cluster) NoteOver(e *EndedJob) {
	if st.dirty.on {
		st.dirty.over = append(st.dirty.over, e)
	}
}

// DirtyJobs lists the jobs that changed in this step and live, in order of id.
func (st *Cluster) DirtyJobs() []*Job {
	list := slices.DeleteFunc(slices.Clone(st.dirtyJobs), func(j *Job) bool { return st.Jobs.Get(j.ID) != j })
	slices.SortFunc(list, func(a, b *Job) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

// DrainChanges returns the rows of what changed, but those of jobs, which are Changed.
func (st *Cluster) DrainChanges(changed []*Job) changes.ChangeSet {
	n := &st.dirty
	rows := changes.ChangeSet{Decided: n.decided, Attempts: slices.Grow(n.ended, len(n.attempts))}
	for _, j := range changed {
		if !j.rowsSent {
			j.rowsSent = true
			for i := range j.Stages {
				j.markStageDirty(i)
			}
		}
		slices.Sort(j.dirtyStages)
		for _, i := range j.dirtyStages {
			j.Stages[i].dirty = false
			rows.Stages = append(rows.Stages, j.StageRow(int(i)))
		}
		j.dirtyStages = j.dirtyStages[:0]
	}
	for _, a := range n.attempts {
		if a.dirty = false; a.Phase() != phase.Ended { // whose last row is there
			rows.Attempts = append(rows.Attempts, a.Row())
		}
	}
	slices.SortFunc(rows.Attempts, func(a, b changes.Attempt) int { return cmp.Compare(a.ID, b.ID) })
	machines := st.resources.DrainDirty()
	rows.Launchers = slices.Grow(rows.Launchers, len(machines)+len(n.gone))
	for _, id := range machines {
		if l := st.Launchers.Get(id); l != nil {
			rows.Launchers = append(rows.Launchers, l.Row())
		}
	}
	for _, id := range n.gone {
		rows.Launchers = append(rows.Launchers, changes.Launcher{ID: id, Gone: true})
	}
	slices.SortFunc(rows.Launchers, func(a, b changes.Launcher) int { return cmp.Compare(a.ID, b.ID) })
	for _, e := range n.over {
		rows.Ended = append(rows.Ended, e.Status)
	}
	clear(n.attempts)
	*n = DirtySet{on: n.on, attempts: n.attempts[:0], usual: min(len(rows.Attempts), usualMax)}
	return rows
}

// AllRows returns the rows of all there is, but those of jobs.
func (st *Cluster) AllRows() changes.ChangeSet {
	var rows changes.ChangeSet
	for j := range st.Jobs.All() {
		for i := range j.Stages {
			rows.Stages = append(rows.Stages, j.StageRow(i))
		}
		rows.Attempts = append(rows.Attempts, j.pastRows()...)
		for _, a := range j.attempts.Sorted() {
			rows.Attempts = append(rows.Attempts, a.Row())
		}
	}
	for l := range st.Launchers.All() {
		rows.Launchers = append(rows.Launchers, l.Row())
	}
	for _, e := range st.ended {
		rows.Ended = append(rows.Ended, e.Status)
	}
	return rows
}

// pastRows are the rows of attempts that ended and are remembered, in the order of their ends.
func (j *Job) pastRows() []changes.Attempt {
	var rows []changes.Attempt
	for _, p := range j.Stats.EndedAttempts() {
		rows = append(rows, changes.Attempt{
			ID: p.ID, Job: j.ID, On: p.Launcher, Stage: p.Stage, Index: p.Index, State: changes.Ended, Speculative: p.Speculative, Outcome: p.Outcome,
			Started: p.Started, Since: p.Ended, Suspended: p.Suspended, Reason: p.Reason,
		})
	}
	return rows
}

// StageNames are those of its plan, and of the stage that publishes. The list does not change.
func (j *Job) StageNames() []string {
	if j.stageNames == nil {
		j.stageNames = make([]string, len(j.Stages))
		for i := range j.Stages {
			j.stageNames[i] = j.Stages[i].Name()
		}
	}
	return j.stageNames
}

// StageRow is what is told of a stage.
func (j *Job) StageRow(number int) changes.Stage {
	s := &j.Stages[number]
	row := s.Row()
	row.Job, row.Number = j.ID, int32(number)
	row.Running -= s.suspended
	row.Suspended = s.suspended
	return row
}

// Row is what is told of an attempt.
func (a *Attempt) Row() changes.Attempt {
	b := a.BundleAttempt.Bundle
	row := changes.Attempt{
		ID: a.ID, Job: b.Job.ID, Bundle: b.id, Run: a.BundleAttempt.ID, Launcher: a.Launcher.ID, On: a.Launcher.Name, Stage: a.Stage, Index: a.Index,
		State: a.factState(), Speculative: a.BundleAttempt.speculative, Outcome: a.Outcome(),
		Ready: a.BundleAttempt.ready, Launched: a.BundleAttempt.launched, Started: a.Started(), Executing: a.Executing(), Suspended: a.SuspendedTime(),
	}
	switch a.Phase() {
	case phase.Ended, phase.Suspended:
		row.Since = a.Since()
	}
	if s := a.Stop(); s != nil {
		row.Reason, row.For = s.Reason, s.ForJob
	}
	return row
}

func (a *Attempt) factState() changes.State {
	switch {
	case a.Phase() == phase.Ended:
		return changes.Ended
	case a.Stop() != nil:
		return changes.Stopping
	case a.Phase() == phase.Suspended:
		return changes.Suspended
	case a.Phase() == phase.Running && a.Reads.Misses() > 0:
		return changes.Starved
	case a.Phase() == phase.Running:
		return changes.Running
	}
	return changes.Assigned
}

// Row is what is told of a launcher.
func (l *Launcher) Row() changes.Launcher {
	row := changes.Launcher{
		ID: l.ID, Name: l.Name, Host: l.Host, Rack: l.Rack, State: l.State(), Slots: slices.Clone(l.Slots()), Free: l.Startable(),
		Memory: l.Memory(), MemoryFree: l.FreeMemory(), Swap: l.Swap(), SwapFree: l.FreeSwap(),
		Running: len(l.attempts) - l.suspended, Suspended: l.suspended, HTTPAddress: l.httpAddress,
	}
	row.ExcludedFor, row.ExcludedUntil = l.Exclusion()
	return row
}
