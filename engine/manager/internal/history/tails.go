package history

import (
	"path/filepath"

	"github.com/hamadryad/hamadryad/engine/manager/internal/history/logarchive"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

func (h *History) openTails() (*logarchive.Store, error) {
	o := h.o.Tails
	o.Changed = func() { h.notify(stateChanged) }
	live := map[scheduler.JobID]string{} // users of live jobs; the goroutine run, which owns the journal, does not run yet
	for id, j := range h.journal.jobs {
		live[id] = j.summary.GetUser()
	}
	o.User = func(id scheduler.JobID) string {
		if user := live[id]; user != "" {
			return user
		}
		s, err := h.Summary(id)
		if err != nil {
			h.o.Log.Warn("whose the ends of a job's logs are can't be found out: they count to nobody", "job", id.String(), "error", err)
		}
		return s.GetUser()
	}
	o.Folder, o.BytesMax, o.Log = filepath.Join(h.o.Folder, tailsFolder), h.o.BytesMax, h.o.Log
	return logarchive.Open(o)
}

// Tails returns the store of the ends of attempts' logs. They are removed with the history of their job.
func (h *History) Tails() *logarchive.Store { return h.tails }

// Submitted returns when a job that ended was submitted, and its user. Known is false if history does not have the job.
func (h *History) Submitted(id scheduler.JobID) (at scheduler.Time, user string, known bool, err error) {
	if s := h.Status(id); s != nil {
		return scheduler.Time(s.GetSummary().GetSubmitted()), s.GetSummary().GetUser(), true, nil
	}
	s, err := h.Summary(id)
	return scheduler.Time(s.GetSubmitted()), s.GetUser(), s != nil, err
}

// sweepTails removes the ends of logs of jobs that are neither live nor have a file. Those jobs were removed while no
// manager ran, or were of a log that was lost.
func (h *History) sweepTails() {
	for _, k := range h.tails.Jobs() {
		if _, lives := h.journal.jobs[k.Job]; !lives && !h.files.has(k.Job) {
			h.logLeftover(h.tails.Remove(k))
		}
	}
}
