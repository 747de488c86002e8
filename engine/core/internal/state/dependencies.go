package state

import (
	"fmt"
	"slices"

	"github.com/hamadryad/hamadryad/engine/core/internal/checkpoint"
	"github.com/hamadryad/hamadryad/internal/sortedset"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Dependencies are the jobs that a job waits for before it starts. The zero value waits for none.
type Dependencies struct {
	unmet  []scheduler.JobID // ascending
	broken string            // why the job can never start; "": it may
}

// Unmet returns the jobs that have to end first, ascending. The caller must not change the list.
func (d *Dependencies) Unmet() []scheduler.JobID { return d.unmet }

// Broken returns why the job can never start; "": it may.
func (d *Dependencies) Broken() string { return d.broken }

// Settled says whether the wait is over: all dependencies are met, or one can't be met any more.
func (d *Dependencies) Settled() bool { return len(d.unmet) == 0 || d.broken != "" }

// meet records that a dependency is met.
func (d *Dependencies) meet(id scheduler.JobID) {
	if i, found := slices.BinarySearch(d.unmet, id); found {
		d.unmet = slices.Delete(d.unmet, i, i+1)
	}
}

func (d *Dependencies) code(w *checkpoint.Codec) {
	checkpoint.Nums(w, &d.unmet)
	checkpoint.Str(w, &d.broken)
}

// AnyEnd says whether any end of a dependency suffices. Otherwise it has to succeed.
func (j *Job) AnyEnd(dependency scheduler.JobID) bool {
	for _, d := range j.Spec.GetAfter() {
		if scheduler.JobID(d.GetJob()) == dependency {
			return d.GetAny()
		}
	}
	return false
}

// KnownToPolicy says whether the policy has been notified of the job. A job that ended before its
// admission never is.
func (j *Job) KnownToPolicy() bool { return j.Submission.admitted != 0 }

// BeforeAdmission says whether the job waits for other jobs, or for its admission.
func (j *Job) BeforeAdmission() bool {
	return j.Phase() == JobWaiting || j.Phase() == JobPendingAdmission
}

// Wait makes a job wait for others to end, of which there must be some. The list is ascending.
func (st *Cluster) Wait(j *Job, others []scheduler.JobID) {
	j.Enter(JobWaiting)
	j.Dependencies.unmet = others
	st.indexDependencies(j)
}

func (st *Cluster) indexDependencies(j *Job) {
	st.waiting++
	for _, id := range j.Dependencies.unmet {
		st.dependents[id] = sortedset.Add(st.dependents[id], j.ID)
	}
}

// StopWaiting ends the wait of a job for others, and removes it from the index. Its phase is the
// caller's to change.
func (st *Cluster) StopWaiting(j *Job) {
	if j.Phase() != JobWaiting {
		return
	}
	st.waiting--
	for _, id := range j.Dependencies.unmet {
		list := st.dependents[id]
		if i, found := slices.BinarySearch(list, j.ID); found {
			list = slices.Delete(list, i, i+1)
		}
		if st.dependents[id] = list; len(list) == 0 {
			delete(st.dependents, id)
		}
	}
	j.Dependencies = Dependencies{}
}

// WaitingJobs counts the jobs that wait for other jobs.
func (st *Cluster) WaitingJobs() int { return st.waiting }

// Dependents returns the jobs that wait for a job, ascending. The caller must not change the list.
func (st *Cluster) Dependents(id scheduler.JobID) []scheduler.JobID { return st.dependents[id] }

// EndDependency records at a waiting job that a dependency is met or, with a reason, that it
// can't be met any more. A later step goes on with a job whose wait is over.
func (st *Cluster) EndDependency(j *Job, dependency scheduler.JobID, broken string) {
	switch {
	case broken == "":
		j.Dependencies.meet(dependency)
	case j.Dependencies.broken == "":
		j.Dependencies.broken = broken
	}
	st.RequeueJob(j)
	st.Changes.MarkJob(j)
}

// ForgetDependents drops the index entry of a job that has ended.
func (st *Cluster) ForgetDependents(id scheduler.JobID) { delete(st.dependents, id) }

// CodeDependencies codes what jobs wait for, which older checkpoints lack.
func (st *Cluster) CodeDependencies(w *checkpoint.Codec) {
	for _, id := range st.Jobs.IDs() {
		j := st.Jobs.Get(id)
		j.Dependencies.code(w)
		checkpoint.Flag(w, &j.Submission.accepted)
		checkpoint.Num(w, &j.Submission.asked)
		if w.Reading && w.Err == nil && j.Phase() == JobWaiting {
			st.indexDependencies(j)
			st.RequeueJob(j)
		}
	}
}

// checkDependencies compares what a job waits for with the index.
func (st *Cluster) checkDependencies(j *Job) error {
	if j.Phase() != JobWaiting {
		if d := &j.Dependencies; len(d.unmet) > 0 || d.broken != "" {
			return fmt.Errorf("it waits for %v in phase %d", d.unmet, j.Phase())
		}
		return nil
	}
	for _, id := range j.Dependencies.unmet {
		if !sortedset.Has(st.dependents[id], j.ID) && j.Dependencies.broken == "" {
			return fmt.Errorf("it waits for %v, whose end would not reach it", id)
		}
		if st.Jobs.Get(id) == nil && j.Dependencies.broken == "" {
			return fmt.Errorf("it waits for %v, which has ended", id)
		}
	}
	if has := sortedset.Has(st.pendingWork, j.ID); has != j.Dependencies.Settled() {
		return fmt.Errorf("its wait is over: %t, and it is listed as one to go on with: %t", !has, has)
	}
	return nil
}

// checkDependents compares the index with the jobs that wait.
func (st *Cluster) checkDependents() error {
	waiting := 0
	for j := range st.Jobs.All() {
		if j.Phase() == JobWaiting {
			waiting++
		}
	}
	if waiting != st.waiting {
		return fmt.Errorf("%d jobs wait for others, counted as %d", waiting, st.waiting)
	}
	for of, list := range st.dependents {
		for _, id := range list {
			if j := st.Jobs.Get(id); j == nil || !sortedset.Has(j.Dependencies.unmet, of) {
				return fmt.Errorf("%v is listed as waiting for %v, and does not", id, of)
			}
		}
	}
	return nil
}
