package state

import (
	"cmp"
	"maps"
	"slices"

	"github.com/hamadryad/hamadryad/engine/core/changes"
	"github.com/hamadryad/hamadryad/engine/core/internal/state/phase"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// ChangeFeed collects a step's changes for readers: of jobs always, rows of all other objects once
// Enable was called. No decision depends on it, and no checkpoint has it.
type ChangeFeed struct {
	cluster *Cluster
	on      bool
	jobs    []*Job // in the order of their first change

	attempts  []*Attempt // live ones
	ended     []changes.Attempt
	users     []*User
	forgotten []scheduler.LauncherID
	decided   []changes.Decision
	endedJobs []*EndedJob
	usual     int // attempt rows in the last step, at most usualMax: capacity for the next step
}

// decidedMax bounds the decisions of one step that are reported individually. All are counted.
const decidedMax = 1000

// usualMax bounds the space reserved for rows of attempts.
const usualMax = 256

// Enable makes the feed collect rows from now on.
func (f *ChangeFeed) Enable() {
	f.on = true
	f.cluster.resources.Offers.EnableChanges()
}

// Enabled reports whether rows are collected.
func (f *ChangeFeed) Enabled() bool { return f.on }

// MarkJob reports the change of a job at the end of the step.
func (f *ChangeFeed) MarkJob(j *Job) {
	if !j.dirty {
		j.dirty = true
		f.jobs = append(f.jobs, j)
	}
}

// MarkAttempt reports an attempt, with its job and launcher.
func (f *ChangeFeed) MarkAttempt(a *Attempt) {
	f.MarkJob(a.BundleAttempt.Bundle.Job)
	if !f.on {
		return
	}
	if u := a.BundleAttempt.Bundle.Job.user; u != nil {
		f.MarkUser(u)
	}
	f.cluster.resources.Offers.MarkDirty(&a.Launcher.Launcher)
	if !a.dirty && a.Phase() != phase.Ended {
		a.dirty = true
		f.attempts = append(f.attempts, a)
	}
}

// markStageDirty reports a stage.
func (j *Job) markStageDirty(number int) {
	if s := &j.Stages[number]; !s.dirty {
		s.dirty = true
		j.dirtyStages = append(j.dirtyStages, int32(number))
	}
}

// AddEnd reports the end of an attempt.
func (f *ChangeFeed) AddEnd(a *Attempt, reason string, beneficiary scheduler.JobID, work scheduler.Work) {
	if !f.on {
		return
	}
	row := a.Row()
	row.Reason, row.For, row.Work = reason, beneficiary, work
	if f.ended == nil {
		f.ended = make([]changes.Attempt, 0, f.usual)
	}
	f.ended = append(f.ended, row)
}

// AddForgotten reports that a launcher is forgotten.
func (f *ChangeFeed) AddForgotten(id scheduler.LauncherID) {
	if f.on {
		f.forgotten = append(f.forgotten, id)
	}
}

// RecordsDecisions reports whether one more decision of this step is recorded.
func (f *ChangeFeed) RecordsDecisions() bool { return f.on && len(f.decided) < decidedMax }

// AddDecision reports the outcome of a decision.
func (f *ChangeFeed) AddDecision(d changes.Decision) { f.decided = append(f.decided, d) }

// AddEndedJob reports that a job has ended.
func (f *ChangeFeed) AddEndedJob(e *EndedJob) {
	if f.on {
		f.endedJobs = append(f.endedJobs, e)
	}
}

// Jobs lists the live jobs that changed in this step, in order of id.
func (f *ChangeFeed) Jobs() []*Job {
	list := slices.DeleteFunc(slices.Clone(f.jobs), func(j *Job) bool { return f.cluster.Jobs.Get(j.ID) != j })
	slices.SortFunc(list, func(a, b *Job) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

// DrainJobs lists the jobs that changed since the last call, and the ended ones among them, both in
// order of id.
func (f *ChangeFeed) DrainJobs() (ids, ended []scheduler.JobID) {
	if len(f.jobs) == 0 {
		return nil, nil
	}
	ids = make([]scheduler.JobID, len(f.jobs))
	for i, j := range f.jobs {
		ids[i], j.dirty = j.ID, false
		if f.cluster.Jobs.Get(j.ID) == nil {
			ended = append(ended, j.ID)
		}
	}
	slices.Sort(ids)
	slices.Sort(ended)
	clear(f.jobs)
	f.jobs = f.jobs[:0]
	return ids, ended
}

// Drain returns the rows of the changes. changed are the jobs whose rows the caller makes.
func (f *ChangeFeed) Drain(changed []*Job) changes.ChangeSet {
	rows := changes.ChangeSet{Decided: f.decided, Attempts: slices.Grow(f.ended, len(f.attempts)), Users: f.userRows()}
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
			rows.Stages = append(rows.Stages, j.stageRow(int(i)))
		}
		j.dirtyStages = j.dirtyStages[:0]
		rows.Elements = j.drainElements(rows.Elements)
	}
	for _, a := range f.attempts {
		if a.dirty = false; a.Phase() != phase.Ended { // its last row was added already
			rows.Attempts = append(rows.Attempts, a.Row())
		}
	}
	slices.SortFunc(rows.Attempts, func(a, b changes.Attempt) int { return cmp.Compare(a.ID, b.ID) })
	machines := f.cluster.resources.Offers.DrainDirty()
	rows.Launchers = slices.Grow(rows.Launchers, len(machines)+len(f.forgotten))
	for _, id := range machines {
		if l := f.cluster.Launchers.Get(id); l != nil {
			rows.Launchers = append(rows.Launchers, l.Row())
		}
	}
	for _, id := range f.forgotten {
		rows.Launchers = append(rows.Launchers, changes.Launcher{ID: id, Gone: true})
	}
	slices.SortFunc(rows.Launchers, func(a, b changes.Launcher) int { return cmp.Compare(a.ID, b.ID) })
	for _, e := range f.endedJobs {
		rows.Ended = append(rows.Ended, e.Status)
	}
	clear(f.attempts)
	*f = ChangeFeed{cluster: f.cluster, on: f.on, jobs: f.jobs, attempts: f.attempts[:0], usual: min(len(rows.Attempts), usualMax)}
	return rows
}

// AllRows returns the rows of the whole state, except jobs.
func (f *ChangeFeed) AllRows() changes.ChangeSet {
	var rows changes.ChangeSet
	for j := range f.cluster.Jobs.All() {
		for i := range j.Stages {
			rows.Stages = append(rows.Stages, j.stageRow(i))
		}
		rows.Elements = j.elementRows(rows.Elements)
		rows.Attempts = append(rows.Attempts, pastRows(j)...)
		for _, a := range j.attempts.Sorted() {
			rows.Attempts = append(rows.Attempts, a.Row())
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f.cluster.users)) {
		if u := f.cluster.users[name]; u.bounded() {
			rows.Users = append(rows.Users, u.Row())
		}
	}
	for l := range f.cluster.Launchers.All() {
		rows.Launchers = append(rows.Launchers, l.Row())
	}
	for _, e := range f.cluster.Ended.list {
		rows.Ended = append(rows.Ended, e.Status)
	}
	return rows
}

// pastRows are the rows of ended attempts that are remembered, in the order of their ends.
func pastRows(j *Job) []changes.Attempt {
	var rows []changes.Attempt
	for _, p := range j.Stats.EndedAttempts() {
		rows = append(rows, changes.Attempt{
			ID: p.ID, Job: j.ID, On: p.Launcher, Stage: p.Stage, Index: p.Index, State: changes.Ended, Speculative: p.Speculative, Outcome: p.Outcome,
			Started: p.Started, Since: p.Ended, Suspended: p.Suspended, Reason: p.Reason,
		})
	}
	return rows
}

// StageNames lists the names of the plan's stages, and of the stage that publishes. The list
// does not change.
func (j *Job) StageNames() []string {
	if j.stageNames == nil {
		j.stageNames = make([]string, len(j.Stages))
		for i := range j.Stages {
			j.stageNames[i] = j.Stages[i].Name()
		}
	}
	return j.stageNames
}

func (j *Job) stageRow(number int) changes.Stage {
	row := j.Stages[number].Row()
	row.Job, row.Number, row.Spread, row.Aggregation = j.ID, int32(number), j.Spread(number), j.Aggregation(number)
	return row
}

// Row returns the row of an attempt.
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
	case a.HeldAhead():
		return changes.Ahead
	case a.Phase() == phase.Suspended:
		return changes.Suspended
	case a.Phase() == phase.Running && a.Reads.Misses() > 0:
		return changes.Starved
	case a.Phase() == phase.Running:
		return changes.Running
	}
	return changes.Assigned
}

// Row returns the row of a launcher.
func (l *Launcher) Row() changes.Launcher {
	row := changes.Launcher{
		ID: l.ID, Name: l.Name, Host: l.Host, Rack: l.Rack, State: l.State(), Slots: slices.Clone(l.Slots()), Free: l.Startable(),
		Memory: l.Memory(), MemoryFree: l.FreeMemory(), Swap: l.Swap(), SwapFree: l.FreeSwap(), Resources: l.Countable(), ResourcesFree: l.FreeCountable(),
		Running: l.Running(), Suspended: l.suspended, HTTPAddress: l.httpAddress,
	}
	row.ExcludedFor, row.ExcludedUntil = l.Exclusion()
	return row
}
