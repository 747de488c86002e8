package query

import (
	"slices"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/core/changes"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// job is a live job.
type job struct {
	row      *changes.Job
	stages   []changes.Stage     // by number
	elements []wire.ElementState // of a job array, by position
	attempts attempts
	changed  uint64 // the revision
}

// apply applies a step's changes.
func (m *Model) apply(f core.Changes) {
	m.mu.Lock()
	defer m.mu.Unlock()
	another := f.Decides != m.decides
	m.decides, m.stats, m.announced = f.Decides, f.Stats, f.ReservedIDs
	r := &f.ChangeSet
	changed := len(r.Jobs)+len(r.Stages)+len(r.Elements)+len(r.Attempts)+len(r.Launchers)+len(r.Users)+len(r.Ended) > 0
	if !changed && !another && len(r.Decided) == 0 {
		return
	}
	if changed {
		m.revision++
	}
	defer m.wake()
	for i := range r.Jobs {
		m.applyJob(r.Jobs[i])
	}
	for i := range r.Stages {
		m.applyStage(&r.Stages[i])
	}
	for i := range r.Elements {
		m.applyElements(&r.Elements[i])
	}
	for i := range r.Attempts {
		m.applyAttempt(&r.Attempts[i])
	}
	for i := range r.Launchers {
		m.applyLauncher(r.Launchers[i])
	}
	for _, u := range r.Users {
		m.applyUser(u)
	}
	m.applyDecisions(&f) // their jobs may end in this step
	for _, s := range r.Ended {
		m.applyEnded(s)
	}
}

// changed notes a change of a job or of its parts.
func (m *Model) changed(j *job) { j.changed, m.jobsAt = m.revision, m.revision }

// applyJob takes in the row of a live job. It copies the row: otherwise a whole batch would stay in
// memory as long as one of its rows.
func (m *Model) applyJob(row changes.Job) {
	j := m.live.Get(row.ID)
	if j == nil {
		j = &job{
			stages:   make([]changes.Stage, len(row.StageNames)),
			elements: slices.Repeat([]wire.ElementState{wire.ElementState_ELEMENT_STATE_WAITING}, row.Array.Set.Len()),
		}
		m.live.Add(row.ID, j)
	}
	j.row = &row
	m.changed(j)
}

// applyUser takes in the row of a user with a limit.
func (m *Model) applyUser(u changes.User) {
	if u.Gone {
		delete(m.users, u.Name)
		return
	}
	m.users[u.Name] = u
}

func (m *Model) applyStage(row *changes.Stage) {
	j := m.live.Get(row.Job)
	if j == nil || int(row.Number) >= len(j.stages) {
		return
	}
	j.stages[row.Number] = *row
	m.changed(j)
}

// applyAttempt takes in the row of an attempt. An attempt of an ended job is in the job's last
// status.
func (m *Model) applyAttempt(a *changes.Attempt) {
	j := m.live.Get(a.Job)
	if j == nil {
		return
	}
	t := &j.attempts
	r := t.get(a.ID)
	known := r != nil
	if !known {
		r = t.add(a.ID)
	}
	lived := known && r.lives()
	t.set(r, a)
	m.changed(j)
	switch {
	case r.lives() == lived:
		if !known {
			t.over(r, m.bounds.AttemptsKept)
		}
	case lived:
		t.end(r)
		m.launchers.Get(a.Launcher).note(End{a.Job, a.ID, a.Stage, a.Index, a.Since, a.Outcome})
		m.leave(r, a.Launcher)
		t.over(r, m.bounds.AttemptsKept)
	default:
		t.addLive(r)
		m.listAtLauncher(r, j, a.Launcher)
	}
	t.shrink(m.bounds.AttemptsMax)
}

// listAtLauncher lists an attempt with its launcher.
func (m *Model) listAtLauncher(r *row, j *job, on scheduler.LauncherID) {
	l := m.launchers.Get(on)
	if l == nil {
		l = &launcher{}
		m.launchers.Add(on, l)
	}
	r.launchers = uint32(len(l.live))
	l.live = append(l.live, onLauncher{r.id, j})
}

// leave removes an attempt from its launcher's list.
func (m *Model) leave(r *row, on scheduler.LauncherID) {
	l := m.launchers.Get(on)
	last := len(l.live) - 1
	moved := l.live[last]
	l.live[r.launchers] = moved
	moved.job.attempts.get(moved.attempt).launchers = r.launchers
	l.live[last] = onLauncher{}
	l.live = l.live[:last]
	m.forget(on, l)
}

// note keeps an end.
func (l *launcher) note(e End) {
	if len(l.ends) >= 2*endsKept {
		l.ends = append(l.ends[:0], l.ends[len(l.ends)-endsKept:]...)
	}
	l.ends = append(l.ends, e)
}

// forget drops an unknown launcher without live attempts.
func (m *Model) forget(id scheduler.LauncherID, l *launcher) {
	if l.row == nil && len(l.live) == 0 {
		m.launchers.Remove(id)
	}
}

func (m *Model) applyLauncher(row changes.Launcher) {
	l := m.launchers.Get(row.ID)
	if l == nil {
		l = &launcher{}
		m.launchers.Add(row.ID, l)
	}
	if l.row != nil {
		m.count(l.row, -1)
	}
	if l.row = &row; row.Gone {
		l.row = nil
		m.forget(row.ID, l)
	} else {
		m.count(&row, +1)
	}
	m.machines = m.revision
}

// applyEnded takes in the last status of a job.
func (m *Model) applyEnded(s *wire.JobStatus) {
	id := scheduler.JobID(s.GetSummary().GetJob())
	e := &endedJob{status: s, changed: m.revision}
	if j := m.live.Get(id); j != nil {
		e.came, e.span = j.attempts.came, j.attempts.span
		for _, a := range slices.Clone(j.attempts.live) { // empty, except for missing rows
			r := j.attempts.get(a)
			m.leave(r, j.attempts.on[r.on].id)
		}
		m.live.Remove(id)
	}
	for _, a := range s.GetAttempts() { // of a job that lived before the model
		e.span[1] = max(e.span[1], scheduler.AttemptID(a.Attempt))
	}
	m.jobsAt = m.revision
	if old := m.endedByID[id]; old != nil { // reported twice
		m.ended[slices.Index(m.ended, old)] = e
	} else {
		m.ended = append(m.ended, e)
	}
	m.endedByID[id] = e
	for len(m.ended) > max(m.bounds.JobsKept, 1) {
		m.forgetOldest()
	}
}

func (m *Model) forgetOldest() {
	delete(m.endedByID, scheduler.JobID(m.ended[0].status.GetSummary().GetJob()))
	m.ended[0] = nil
	m.ended = m.ended[1:]
}
