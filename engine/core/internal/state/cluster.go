package state

import (
	"slices"

	"github.com/hamadryad/hamadryad/engine/core/internal/resources"
	"github.com/hamadryad/hamadryad/engine/core/internal/state/phase"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
	"github.com/hamadryad/hamadryad/internal/idmap"
	"github.com/hamadryad/hamadryad/internal/sortedset"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// State is the population: all jobs, bundles, attempts and launchers there are, and who is
// on which list. Not safe for concurrent use.
type Cluster struct {
	step     *step.Step
	capacity *resources.Resources

	Jobs idmap.Index[scheduler.JobID, Job] // live, admitted or asked
	Busy []scheduler.JobID                 // of them, those that a later step has to go on with, ascending
	// Finishing are those whose last bundle is ready, ascending; not in checkpoints.
	Finishing []scheduler.JobID
	Prepared  []Prepared  // in order of id
	Ended     []*EndedJob // in order of their end, the oldest first
	Bundles   idmap.Map[scheduler.BundleID, Bundle]
	Attempts  idmap.Map[scheduler.AttemptID, Attempt] // live

	Launchers idmap.Index[scheduler.LauncherID, Launcher] // up and lost
	ByName    map[string]*Launcher
	Aliases   map[string]string // hosts by their further names; nil: made when it is next used

	Suspended  idmap.Index[uint64, Run] // runs that wait to be resumed, by Run.Suspension: the first suspended first
	suspension uint64                   // the last number given

	changed []*Job // in this step
	news    News
	Graphs  Graphs                  // of submissions that name them by their hash; nil: none are kept
	Tokens  func(run uint64) []byte // of data connections; nil: they have none
}

// New returns a state of nobody.
func New(s *step.Step, c *resources.Resources) *Cluster {
	return &Cluster{step: s, capacity: c, ByName: map[string]*Launcher{}}
}

// Attempt returns the live attempt of an id on a launcher, or nil.
func (st *Cluster) Attempt(l *Launcher, id uint64) *Attempt {
	if a := st.Attempts.Get(scheduler.AttemptID(id)); a != nil && a.Launcher == l {
		return a
	}
	return nil
}

// AddAttempt makes an attempt a live one.
func (st *Cluster) AddAttempt(a *Attempt) {
	st.Attempts.Set(a.ID, a)
	a.Run.Bundle.Job.Attempts.add(a, inJob)
	a.Launcher.Attempts.add(a, inLauncher)
	st.TouchAttempt(a)
	if a.Run.Bundle.Last() {
		a.Launcher.Finishers++
	}
	if a.Run.Speculative {
		a.Run.Bundle.Job.Doubled++
	}
	if a.Phase() == phase.Suspended {
		a.Rest(+1)
	}
}

// RemoveAttempt ends that.
func (st *Cluster) RemoveAttempt(a *Attempt) {
	st.Attempts.Delete(a.ID)
	a.Run.Bundle.Job.Attempts.remove(a, inJob)
	a.Launcher.Attempts.remove(a, inLauncher)
	st.TouchAttempt(a)
	if a.Run.Bundle.Last() {
		a.Launcher.Finishers--
	}
	a.Run.live--
	if a.Run.Speculative {
		a.Run.Bundle.Job.Doubled--
	}
	if a.Phase() == phase.Suspended {
		a.Rest(-1)
	}
}

// Touch has the shell told, at the step's end, that a job changed.
func (st *Cluster) Touch(j *Job) {
	if !j.touched {
		j.touched = true
		st.changed = append(st.changed, j)
	}
}

// NoteJob keeps a line for the job's status.
func (st *Cluster) NoteJob(j *Job, text string) {
	text = st.step.Short(text)
	if j.notesTold { // who was given them keeps them
		j.Notes, j.notesTold = slices.Clone(j.Notes), false
	}
	if len(j.Notes) >= st.step.Set.NotesKept {
		n := len(j.Notes) - st.step.Set.NotesKept + 1
		j.Notes = slices.Delete(j.Notes, 0, n)
		j.NotesDropped += n
	}
	j.Notes = append(j.Notes, text)
	st.Touch(j)
}

// ListSuspended lists a run as one that waits to be resumed, from now on.
func (st *Cluster) ListSuspended(r *Run, now scheduler.Time) {
	r.suspended = now
	st.listSuspended(r)
}

func (st *Cluster) listSuspended(r *Run) {
	st.suspension++
	r.suspension = st.suspension
	st.Suspended.Add(r.suspension, r)
}

// DropSuspended takes a run off the list of those that wait to be resumed.
func (st *Cluster) DropSuspended(r *Run) {
	if r.suspended == 0 {
		return
	}
	r.suspended = 0
	st.Suspended.Remove(r.suspension)
}

// NoteWork keeps the list of the jobs that later steps have to go on with.
func (st *Cluster) NoteWork(j *Job) {
	if j.unfinishedWork() {
		st.Busy = sortedset.Add(st.Busy, j.ID)
	} else if i, found := slices.BinarySearch(st.Busy, j.ID); found {
		st.Busy = slices.Delete(st.Busy, i, i+1)
	}
}

// NoteFinishing keeps the list of the jobs whose last bundle is ready.
func (st *Cluster) NoteFinishing(j *Job) {
	if b := j.LastBundle(); b != nil && b.Phase() == BundleReady {
		st.Finishing = sortedset.Add(st.Finishing, j.ID)
	} else if i, found := slices.BinarySearch(st.Finishing, j.ID); found {
		st.Finishing = slices.Delete(st.Finishing, i, i+1)
	}
}

// Know makes a bundle known: it has its id from now on.
func (st *Cluster) Know(b *Bundle) {
	b.id = b.Job.First + scheduler.BundleID(b.Index)
	st.Bundles.Set(b.id, b)
}

// TakeChanged lists the jobs that changed since it was asked last, and those of them that
// are over, both in order of id.
func (st *Cluster) TakeChanged() (ids, ended []scheduler.JobID) {
	if len(st.changed) == 0 {
		return nil, nil
	}
	ids = make([]scheduler.JobID, len(st.changed))
	for i, j := range st.changed {
		ids[i], j.touched = j.ID, false
		if st.Jobs.Get(j.ID) == nil {
			ended = append(ended, j.ID)
		}
	}
	slices.Sort(ids)
	slices.Sort(ended)
	clear(st.changed)
	st.changed = st.changed[:0]
	return ids, ended
}
