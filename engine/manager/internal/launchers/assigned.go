package launchers

import (
	"fmt"
	"sync"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// endedMax bounds the remembered ended attempts of one launcher: ends of logs come later.
const endedMax = 1 << 14

// assignments are the work that the manager assigned to one incarnation of a launcher. A launcher's
// message about an attempt, a job or a program counts only if it is assigned; the core itself
// checks what changes its state. Safe for concurrent use.
type assignments struct {
	mu       sync.Mutex
	attempts map[uint64]*assignment // started there, and not forgotten
	jobs     map[scheduler.JobID]jobBlobs
	ended    map[uint64]scheduler.JobID // the last endedMax that were forgotten by command
	oldest   []uint64                   // ended, in order
}

type assignment struct {
	job   scheduler.JobID
	ended bool // its end was reported
}

// jobBlobs are the hashes of the program and plan that a job's workers need.
type jobBlobs struct{ program, plan string }

func newAssignments() *assignments {
	return &assignments{attempts: map[uint64]*assignment{}, jobs: map[scheduler.JobID]jobBlobs{}, ended: map[uint64]scheduler.JobID{}}
}

// sent notes a command to the launcher.
func (a *assignments) sent(c *wire.Command) {
	switch do := c.Do.(type) {
	case *wire.Command_Start:
		s := do.Start
		a.add(s.Attempt, scheduler.JobID(s.Job), jobBlobs{s.Program, s.Plan})
	case *wire.Command_Forget:
		a.forget(do.Forget)
	case *wire.Command_DropJob:
		a.mu.Lock()
		delete(a.jobs, scheduler.JobID(do.DropJob))
		a.mu.Unlock()
	}
}

// addLive notes the attempts that the core counts as live on a launcher that joins again.
func (a *assignments) addLive(list []core.Assigned) {
	for _, x := range list {
		a.add(uint64(x.Attempt), x.Job, jobBlobs{x.Program, x.Plan})
	}
}

func (a *assignments) add(attempt uint64, job scheduler.JobID, blobs jobBlobs) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.attempts[attempt] == nil {
		a.attempts[attempt] = &assignment{job: job}
	}
	a.jobs[job] = blobs
}

func (a *assignments) forget(attempt uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	x := a.attempts[attempt]
	if x == nil {
		return
	}
	delete(a.attempts, attempt)
	if len(a.oldest) >= endedMax {
		delete(a.ended, a.oldest[0])
		a.oldest = a.oldest[1:]
	}
	a.ended[attempt] = x.job
	a.oldest = append(a.oldest, attempt)
}

// runs reports whether an attempt was started there, and not forgotten.
func (a *assignments) runs(attempt uint64) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.attempts[attempt] != nil
}

// ends reports whether a report of an attempt's end is the first, and the attempt was started
// there.
func (a *assignments) ends(attempt uint64) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	x := a.attempts[attempt]
	if x == nil || x.ended {
		return false
	}
	x.ended = true
	return true
}

// ran reports whether an attempt of a job was started there, as far as that is remembered.
func (a *assignments) ran(job scheduler.JobID, attempt uint64) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if x := a.attempts[attempt]; x != nil {
		return x.job == job
	}
	return job != 0 && a.ended[attempt] == job
}

// has reports whether a job has had an attempt there, and was not dropped.
func (a *assignments) has(job scheduler.JobID) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, has := a.jobs[job]
	return has
}

// carries lists the jobs with an attempt there.
func (a *assignments) carries() []scheduler.JobID {
	a.mu.Lock()
	defer a.mu.Unlock()
	list := make([]scheduler.JobID, 0, len(a.jobs))
	for job := range a.jobs {
		list = append(list, job)
	}
	return list
}

// needs reports whether some job there has a program or plan.
func (a *assignments) needs(hash string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, b := range a.jobs {
		if hash != "" && (b.program == hash || b.plan == hash) {
			return true
		}
	}
	return false
}

// mayFetch refuses a program or plan of no job that the launcher runs. A launcher that was up
// before this manager started, and has not joined again, may be fetching blobs for its earlier
// commands.
func (l *Table) mayFetch(name, hash string) error {
	l.mu.Lock()
	r := l.byName[name]
	l.mu.Unlock()
	if r != nil && (r.expected() || r.assigned.needs(hash)) {
		return nil
	}
	return fmt.Errorf("no job that runs on launcher %q has the program or plan with SHA-256 %.64q", name, hash)
}

// expected reports whether the core counts the launcher as up, but it has not joined since this
// manager started.
func (r *launcherRecord) expected() bool { return r.assigned == nil }

// Ran reports whether an attempt of a job was started on a launcher since this manager started, as
// far as that is remembered.
func (l *Table) Ran(name string, job scheduler.JobID, attempt scheduler.AttemptID) bool {
	l.mu.Lock()
	r := l.byName[name]
	l.mu.Unlock()
	return r != nil && r.assigned != nil && r.assigned.ran(job, uint64(attempt))
}
