package state

import (
	"slices"

	"github.com/hamadryad/hamadryad/engine/core/internal/checkpoint"
	"github.com/hamadryad/hamadryad/engine/core/internal/ids"
	"github.com/hamadryad/hamadryad/engine/core/internal/policystate"
	"github.com/hamadryad/hamadryad/engine/core/internal/resources"
	"github.com/hamadryad/hamadryad/engine/core/internal/schedules"
	"github.com/hamadryad/hamadryad/engine/core/internal/state/phase"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
	"github.com/hamadryad/hamadryad/internal/idmap"
	"github.com/hamadryad/hamadryad/internal/sortedset"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Cluster holds all jobs, bundles, attempts and launchers, and the indexes over them. Not safe
// for concurrent use.
type Cluster struct {
	step      *step.Step
	resources *resources.Resources

	Jobs        idmap.Index[scheduler.JobID, Job] // live: pending admission, or admitted
	users       map[string]*User                  // with live jobs
	pendingWork []scheduler.JobID                 // live jobs with work left to a later step, ascending
	// finishing are the jobs whose last bundle is ready, ascending; not in checkpoints.
	finishing   []scheduler.JobID
	ReservedIDs ReservedIDs
	Ended       EndedJobs
	PastRuns    PastRuns
	Bundles     idmap.Map[scheduler.BundleID, Bundle]
	Attempts    idmap.Map[scheduler.AttemptID, Attempt] // live
	idleSince   scheduler.Time                          // see IdleSince

	Launchers       idmap.Index[scheduler.LauncherID, Launcher] // up and lost
	launchersByName map[string]*Launcher
	aliases         map[string]string // hosts by their other names; nil: made on next use

	// dependents are the jobs that wait for a job, by that job's id; not in checkpoints.
	dependents map[scheduler.JobID][]scheduler.JobID
	waiting    int // jobs in phase JobWaiting

	Suspended SuspendedQueue
	Changes   ChangeFeed
	Tokens    Tokens
	graphs    Graphs // looks up graphs that submissions name by hash; nil: none
}

// Store is all of the core's state, by subject, as a checkpoint holds it. All parts of the core
// work on one Store. Not safe for concurrent use.
type Store struct {
	Step      step.Step
	IDs       ids.IDs
	Resources *resources.Resources // of the launchers
	Policy    policystate.Session
	Schedules schedules.Table
	Cluster   *Cluster
}

// NewStore returns the state of a core that has taken no input.
func NewStore(set step.Settings) *Store {
	s := &Store{Step: step.Step{Set: set}, Resources: resources.New()}
	s.Cluster = New(&s.Step, s.Resources)
	return s
}

// Freeze returns a copy of everything that a checkpoint holds. The copy stays the same while the
// state changes.
func (s *Store) Freeze() *Store {
	f := NewStore(s.Step.Set)
	f.Step, f.IDs, f.Policy = s.Step.Clone(), s.IDs.Clone(), s.Policy.Clone()
	f.Schedules = s.Schedules.Clone()
	f.Cluster.Freeze(s.Cluster)
	f.Resources = s.Resources.Clone(func(id scheduler.LauncherID) *resources.Launcher { return &f.Cluster.Launchers.Get(id).Launcher })
	return f
}

// New returns a cluster without launchers and jobs, on the given step and resources.
func New(s *step.Step, c *resources.Resources) *Cluster {
	st := &Cluster{step: s, resources: c, launchersByName: map[string]*Launcher{}, users: map[string]*User{}, dependents: map[scheduler.JobID][]scheduler.JobID{}, Tokens: Tokens{step: s}}
	st.Changes.cluster = st
	return st
}

// Graphs returns the lookup for graphs that submissions name by hash; nil: none.
func (st *Cluster) Graphs() Graphs { return st.graphs }

// GraphsFrom sets the lookup for graphs that submissions name by hash. By default there is none.
func (st *Cluster) GraphsFrom(f Graphs) { st.graphs = f }

// Attempt returns the live attempt with an id on a launcher, or nil.
func (st *Cluster) Attempt(l *Launcher, id uint64) *Attempt {
	if a := st.Attempts.Get(scheduler.AttemptID(id)); a != nil && a.Launcher == l {
		return a
	}
	return nil
}

// AddAttempt adds a live attempt to the indexes and counts.
func (st *Cluster) AddAttempt(a *Attempt) {
	st.Attempts.Set(a.ID, a)
	a.BundleAttempt.Bundle.Job.attempts.add(a, inJob)
	a.Launcher.attempts.add(a, inLauncher)
	st.Changes.MarkAttempt(a)
	if a.BundleAttempt.Bundle.Last() {
		a.Launcher.finishers++
	}
	if a.BundleAttempt.speculative {
		a.BundleAttempt.Bundle.Job.speculativeCount++
	}
	if a.Phase() == phase.Suspended {
		a.CountSuspended(+1)
	}
	if a.heldAhead {
		a.Launcher.heldAhead++
	}
	a.countForUser()
}

// RemoveAttempt removes an attempt from the indexes and counts.
func (st *Cluster) RemoveAttempt(a *Attempt) {
	st.Attempts.Delete(a.ID)
	a.BundleAttempt.Bundle.Job.attempts.remove(a, inJob)
	a.Launcher.attempts.remove(a, inLauncher)
	st.Changes.MarkAttempt(a)
	st.NoteFreed(a)
	if a.BundleAttempt.Bundle.Last() {
		a.Launcher.finishers--
	}
	if a.heldAhead {
		a.Launcher.heldAhead--
	}
	a.BundleAttempt.live--
	if a.BundleAttempt.speculative {
		a.BundleAttempt.Bundle.Job.speculativeCount--
	}
	if a.Phase() == phase.Suspended {
		a.CountSuspended(-1)
	}
	if j := a.BundleAttempt.Bundle.Job; len(j.attempts) == 0 {
		j.Waits.idleSince = st.step.Now
	}
	if st.Attempts.Len() == 0 {
		st.idleSince = st.step.Now
	}
}

// IdleSince returns since when no attempt is live under the deciding policy. It means nothing while
// one is.
func (st *Cluster) IdleSince() scheduler.Time { return st.idleSince }

// RestartIdle makes IdleSince, of the cluster and of each job, start now: another policy decides.
func (st *Cluster) RestartIdle() {
	st.idleSince = st.step.Now
	for j := range st.Jobs.All() {
		j.Waits.idleSince = st.step.Now
	}
}

// CodeIdle codes since when jobs, and the cluster, have had no live attempt.
func (st *Cluster) CodeIdle(w *checkpoint.Codec) {
	checkpoint.Num(w, &st.idleSince)
	for _, id := range st.Jobs.IDs() {
		checkpoint.Num(w, &st.Jobs.Get(id).Waits.idleSince)
	}
}

// NoteJob adds a line to the notes of a job's status.
func (st *Cluster) NoteJob(j *Job, text string) {
	j.Notes.add(st.step.Shorten(text), st.step.Set.NotesKept)
	st.Changes.MarkJob(j)
}

// RequeueJob adds a job to the jobs with pending work, or removes it, as its state requires.
func (st *Cluster) RequeueJob(j *Job) {
	if j.hasPendingWork() {
		st.pendingWork = sortedset.Add(st.pendingWork, j.ID)
	} else if i, found := slices.BinarySearch(st.pendingWork, j.ID); found {
		st.pendingWork = slices.Delete(st.pendingWork, i, i+1)
	}
}

// RequeueFinishing adds a job to the jobs whose last bundle is ready, or removes it.
func (st *Cluster) RequeueFinishing(j *Job) {
	if b := j.LastBundle(); b != nil && b.Phase() == BundleReady {
		st.finishing = sortedset.Add(st.finishing, j.ID)
	} else if i, found := slices.BinarySearch(st.finishing, j.ID); found {
		st.finishing = slices.Delete(st.finishing, i, i+1)
	}
}

// AssignID gives a bundle its id; from now on it can be found by id.
func (st *Cluster) AssignID(b *Bundle) {
	b.id = b.Job.first + scheduler.BundleID(b.Index)
	st.Bundles.Set(b.id, b)
}

// OpenNext gives the next bundle of a job its id, and returns it. A next bundle must exist.
func (st *Cluster) OpenNext(j *Job) *Bundle {
	b := &j.Bundles[j.Slices.opened]
	j.Slices.opened++
	st.AssignID(b)
	return b
}

// RemoveNext removes the next bundle of an ended job, and its outputs on launchers. A next
// bundle must exist.
func (st *Cluster) RemoveNext(j *Job) {
	b := &j.Bundles[j.Slices.closed]
	j.Slices.closed++
	st.Bundles.Delete(b.id)
	for _, k := range b.lastCommits {
		if l := st.Launchers.Get(k.Launcher); l != nil {
			l.Outputs.Drop(k.Attempt)
		}
	}
}

// AddJob adds a live job under its id.
func (st *Cluster) AddJob(j *Job) {
	st.Jobs.Add(j.ID, j)
	st.addToUser(j)
}

// RemoveJob removes a job that has ended, or was refused.
func (st *Cluster) RemoveJob(j *Job) {
	if i, found := slices.BinarySearch(st.pendingWork, j.ID); found {
		st.pendingWork = slices.Delete(st.pendingWork, i, i+1)
	}
	st.Jobs.Remove(j.ID)
	st.removeFromUser(j)
	st.Changes.MarkJob(j)
}

// PendingWork returns the jobs that a later step must continue, ascending. The caller must not
// change the list.
func (st *Cluster) PendingWork() []scheduler.JobID { return st.pendingWork }

// Finishing returns the jobs whose last bundle is ready, ascending. The caller must not change the list.
func (st *Cluster) Finishing() []scheduler.JobID { return st.finishing }
