package outbound

import (
	"cmp"
	"slices"

	"github.com/hamadryad/hamadryad/engine/core/changes"
	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// EnableChanges makes Changes return rows from now on. No decision depends on it.
func (rd *StatusReader) EnableChanges() { rd.state.Changes.Enable() }

// Changes returns, at the end of a step, the rows of all that changed in it; false before
// EnableChanges.
func (rd *StatusReader) Changes() (step.Changes, bool) {
	if !rd.state.Changes.Enabled() {
		return step.Changes{}, false
	}
	jobs := rd.state.Changes.Jobs()
	f := rd.changesWith(rd.state.Changes.Drain(jobs))
	f.Jobs = slices.Grow(f.Jobs, len(jobs))
	for _, j := range jobs {
		f.Jobs = append(f.Jobs, rd.jobRow(j))
	}
	return f, true
}

// AllChanges returns all rows, between two steps.
func (rd *StatusReader) AllChanges() step.Changes {
	f := rd.changesWith(rd.state.Changes.AllRows())
	for j := range rd.state.Jobs.All() {
		f.Jobs = append(f.Jobs, rd.jobRow(j))
	}
	return f
}

func (rd *StatusReader) changesWith(rows changes.ChangeSet) step.Changes {
	f := step.Changes{At: rd.step.Now, Stats: rd.step.Stats, Version: rd.step.Set.Version, ChangeSet: rows}
	if g := rd.policy.Current(); g != nil {
		f.Decides = g.Number
	}
	f.ReservedIDs[0], f.ReservedIDs[1] = rd.state.ReservedIDs.Bounds()
	return f
}

// jobRow is the row of a job. The data that it points to is immutable.
func (rd *StatusReader) jobRow(j *state.Job) changes.Job {
	s := j.Summary()
	row := changes.Job{
		ID: j.ID, Spec: j.Spec, Plan: j.Plan, StageNames: j.StageNames(), State: s.State, Pool: j.Submission.Pool(), Priority: j.Submission.Priority(),
		Submitted: j.Submission.Submitted(), Admitted: j.Submission.Admitted(), Started: j.Submission.Started(), Limits: j.Limits(), Groups: int(s.Groups), Finished: int(s.GroupsFinished), Running: int(s.GroupsRunning),
		Files: j.Stats.Files(), Failure: j.End.Failure(), Counters: j.Stats.SharedCounters(), Notes: j.Notes.Share(), NotesDropped: j.Notes.Dropped(),
		Array: j.Array(), Waits: rd.waits(j),
	}
	row.Read, row.Local = j.Stats.ReadsByLevel()
	return row
}

// waits is the reasons why a job waits.
func (rd *StatusReader) waits(j *state.Job) changes.Waits {
	w := changes.Waits{Policy: j.Waits.Policy()}
	switch j.Phase() {
	case state.JobRunning:
		w.Retry = j.StoreRoom.Why()
	case state.JobPublishing:
		if j.LastBundle().Phase() == state.BundleWaiting {
			w.Retry = j.OutputCommit.RetryReason()
		}
	case state.JobEnding:
		w.Stopping = len(j.Attempts())
	}
	if j.Waits.WhyNot() != "" && !j.Ends() {
		w.WhyNot = j.Waits.WhyNot() + state.UnplaceableRemedy
	}
	if j.BeforeAdmission() {
		w.After = dependencies(j)
		return w
	}
	w.Ready = j.Ready.Len()
	if b := j.Ready.Longest(); b != nil {
		w.Longest, w.Since, w.Width = j.Describe(b, 0), b.Since(), b.Width()
		w.Needs, w.Memory, w.Resources = needs(b)
		w.Groups = groupNeeds(b)
	}
	return w
}

// dependencies are the jobs that a job waits for.
func dependencies(j *state.Job) (list []changes.Dependency) {
	for _, id := range j.Dependencies.Unmet() {
		list = append(list, changes.Dependency{Job: id, AnyEnd: j.AnyEnd(id)})
	}
	return list
}

// needs are the slots that a bundle needs at once, in order of kind, its memory and its countable
// resources. A job's last
// bundle needs none.
func needs(b *state.Bundle) (list []scheduler.SlotCount, memory int64, resources scheduler.Resources) {
	if b.Last() {
		return nil, 0, scheduler.Resources{}
	}
	for i := range b.Width() {
		d := b.Request(i)
		at, found := slices.BinarySearchFunc(list, d.Kind, func(c scheduler.SlotCount, kind string) int { return cmp.Compare(c.Kind, kind) })
		if !found {
			list = slices.Insert(list, at, scheduler.SlotCount{Kind: d.Kind})
		}
		list[at].Count += d.Slots
		memory += d.Memory
		resources = resources.Plus(d.Resources)
	}
	return list, memory, resources
}

// groupNeeds are the needs of the groups of a bundle, equal ones counted together, in the order of
// its groups; nil for a bundle of one group, for which needs suffices.
func groupNeeds(b *state.Bundle) (list []changes.GroupNeed) {
	if b.Last() || b.Width() == 1 {
		return nil
	}
	for i := range b.Width() {
		d := b.Request(i)
		need := changes.GroupNeed{Kind: d.Kind, Slots: d.Slots, Memory: d.Memory, Resources: d.Resources}
		at := slices.IndexFunc(list, func(x changes.GroupNeed) bool { x.Count = 0; return x == need })
		if at < 0 {
			at, list = len(list), append(list, need)
		}
		list[at].Count++
	}
	return list
}
