package hfsp

import (
	"cmp"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/plugins/hfsp/binenc"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

const (
	// After a refusal the next preemption for a job is tried after retryMin. Each further refusal
	// doubles the delay, up to retryMax.
	retryMin = time.Second
	retryMax = time.Minute
)

// memory is what decisions depend on besides view, settings, stages and virtual clusters.
type memory struct {
	Refusals  []refusal              // in order of job
	NoSuspend []scheduler.LauncherID // launchers that can't suspend, in order
}

// refusal counts the consecutive refused preemptions for a job.
type refusal struct {
	Job   scheduler.JobID
	Times int
	At    scheduler.Time // when the next one may be tried
}

func refusalOrder(r refusal, id scheduler.JobID) int { return cmp.Compare(r.Job, id) }

func (m *memory) refused(o scheduler.Outcome) {
	i, found := slices.BinarySearchFunc(m.Refusals, o.Preempt.For, refusalOrder)
	if !found {
		m.Refusals = slices.Insert(m.Refusals, i, refusal{Job: o.Preempt.For})
	}
	r := &m.Refusals[i]
	if r.At > o.At {
		return // a second refusal in the same round
	}
	r.At = o.At.Add(min(retryMin<<min(r.Times, 10), retryMax))
	r.Times++
}

func (m *memory) accepted(id scheduler.JobID) {
	if i, found := slices.BinarySearchFunc(m.Refusals, id, refusalOrder); found {
		m.Refusals = slices.Delete(m.Refusals, i, i+1)
	}
}

func (m *memory) retryAt(id scheduler.JobID) scheduler.Time {
	if i, found := slices.BinarySearchFunc(m.Refusals, id, refusalOrder); found {
		return m.Refusals[i].At
	}
	return 0
}

// forget drops the jobs that ended.
func (m *memory) forget(v *view.View) {
	m.Refusals = slices.DeleteFunc(m.Refusals, func(r refusal) bool { return v.Job(r.Job) == nil })
}

func (m *memory) cannotSuspend(l scheduler.LauncherID) {
	if i, found := slices.BinarySearch(m.NoSuspend, l); !found {
		m.NoSuspend = slices.Insert(m.NoSuspend, i, l)
	}
}

func (m *memory) suspends(l scheduler.LauncherID) {
	if i, found := slices.BinarySearch(m.NoSuspend, l); found {
		m.NoSuspend = slices.Delete(m.NoSuspend, i, i+1)
	}
}

func (m *memory) neverSuspends(l scheduler.LauncherID) bool {
	_, found := slices.BinarySearch(m.NoSuspend, l)
	return found
}

// save writes the whole memory.
func (m *memory) save(w *binenc.Writer) {
	w.Uint(uint64(len(m.Refusals)))
	for _, r := range m.Refusals {
		w.Uint(uint64(r.Job))
		w.Int(int64(r.Times))
		w.Int(int64(r.At))
	}
	w.Uint(uint64(len(m.NoSuspend)))
	for _, id := range m.NoSuspend {
		w.Uint(uint64(id))
	}
}

// load reads what save wrote. Entries that are out of order are skipped.
func (m *memory) load(r *binenc.Reader) {
	*m = memory{}
	for n := r.Uint(); n > 0 && r.Err() == nil; n-- {
		x := refusal{Job: scheduler.JobID(r.Uint()), Times: max(int(r.Int()), 0), At: scheduler.Time(r.Int())}
		if i := len(m.Refusals); i == 0 || m.Refusals[i-1].Job < x.Job {
			m.Refusals = append(m.Refusals, x)
		}
	}
	for n := r.Uint(); n > 0 && r.Err() == nil; n-- {
		id := scheduler.LauncherID(r.Uint())
		if i := len(m.NoSuspend); i == 0 || m.NoSuspend[i-1] < id {
			m.NoSuspend = append(m.NoSuspend, id)
		}
	}
}
