package history

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/engine/core/changes"
	"github.com/hamadryad/hamadryad/engine/manager/internal/history/index"
	"github.com/hamadryad/hamadryad/engine/manager/internal/history/jobfile"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// run takes in what comes, and writes it, until Close.
func (h *History) run() {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for last := h.o.Now(); ; {
		over := false
		var question func()
		select {
		case question = <-h.questions:
		case <-h.queue.wake:
		case <-tick.C:
			h.sample()
			h.mended()
		case <-h.closes:
			over = true
		}
		for _, n := range h.queue.takeAll() {
			h.apply(n)
			h.heard(&n)
			if h.journal.rows >= pendingRowsMax {
				h.write()
			}
		}
		if question != nil {
			question()
		}
		now := h.o.Now()
		if len(h.ending) >= sealsMax || now.Sub(last) >= sealWait {
			h.seal()
			last = now
		}
		if over {
			h.again = time.Time{}
		}
		if over || h.isAsked() || h.isBehind() { // who is behind tries, and says when he is no more
			h.write()
		}
		if over {
			h.end()
			return
		}
	}
}

// isAsked says whether somebody waits for what was applied.
func (h *History) isAsked() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, w := range h.asked {
		if w.record <= h.applied {
			return true
		}
	}
	return false
}

// end lets all go who wait.
func (h *History) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.over = true
	for _, w := range h.asked {
		close(w.told)
	}
	h.asked = nil
}

// apply takes in what one step told.
func (h *History) apply(n news) {
	h.sampler.sampleStep(&n)
	if n.settings != 0 {
		h.settings = n.settings
	}
	if n.all {
		h.reconcileJournal(&n)
		return
	}
	if n.lost {
		h.retreat(n.record)
	}
	h.applied = max(h.applied, n.through)
	if n.replayed {
		h.finishLost(&n)
		h.sweepTails()
	}
	if n.record <= h.skipTo {
		h.pass(&n)
		return
	}
	for i := range n.jobs {
		if h.admits(&n.jobs[i]) {
			h.see(h.journal.job(n.jobs[i].ID), &n, i)
		}
	}
	lost := uint64(0)
	for i := range n.attempts {
		if h.lives(n.attempts[i].Job) && !h.journal.addAttempt(n.attempts[i], h.o.AttemptsMax) {
			lost++
		}
	}
	h.miss(lost)
	for id, missed := range n.missed {
		if h.lives(id) {
			h.journal.job(id).course.Missed += missed
		}
	}
	for _, s := range n.ended {
		h.finish(s, n.record)
	}
}

// heard strikes the ends that were taken in off those that wait.
func (h *History) heard(n *news) {
	if len(n.ended) == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range n.ended {
		if id := scheduler.JobID(s.GetSummary().GetJob()); h.told[id].record == n.record {
			delete(h.told, id)
		}
	}
}

func (h *History) see(j *live, n *news, i int) {
	if j.course.Settings == 0 {
		j.course.Settings = h.settings
	}
	j.see(&n.jobs[i], n.at)
}

// reconcileJournal holds the journal against what there is. Jobs that are over, and whose end history did not
// hear of, are ended as far as it is known.
func (h *History) reconcileJournal(n *news) {
	gap := ""
	if n.record > h.skipTo {
		gap = fmt.Sprintf("records %d to %d of the event log were not taken in", h.skipTo+1, n.record)
		h.o.Log.Warn("history lacks what happened in some records of the event log", "from", h.skipTo+1, "to", n.record)
		h.applied, h.skipTo = max(h.applied, n.record), n.record
	}
	there := map[scheduler.JobID]bool{}
	for i := range n.jobs {
		id := n.jobs[i].ID
		there[id] = true
		if !h.admits(&n.jobs[i]) {
			continue
		}
		j := h.journal.job(id)
		h.see(j, n, i)
		if gap != "" {
			j.course.Lacks = append(j.course.Lacks, gap)
		}
	}
	if len(h.spoilt) > 0 { // nobody knows what was in them
		for _, id := range h.journal.ids() {
			j := h.journal.job(id)
			j.course.Lacks = append(j.course.Lacks, h.spoilt...)
		}
		h.spoilt = nil
	}
	if gap == "" { // ends are replayed
		h.forgetOver(n.record, there)
		return
	}
	for _, s := range n.ended {
		id := scheduler.JobID(s.GetSummary().GetJob())
		if j := h.journal.jobs[id]; j != nil && !there[id] {
			j.course.Lacks = append(j.course.Lacks, gap)
			there[id] = true
			h.finish(s, n.record)
		}
	}
	for _, id := range h.journal.ids() {
		if !there[id] {
			h.finishUnheard(id, n.record, n.at, gap+", and with them how the job ended")
		}
	}
}

// forgetOver drops jobs that were over at a record up to which all is durable, and that went since: parts that others
// need have chunks of them.
func (h *History) forgetOver(record uint64, live map[scheduler.JobID]bool) {
	h.tidy(h.journal.forget(slices.DeleteFunc(h.journal.ids(), func(id scheduler.JobID) bool { return live[id] || h.journal.reaches(id) > record })))
}

// pass passes over what is durable: jobs that ended in it have their files, or went since.
func (h *History) pass(n *news) {
	var over []scheduler.JobID
	for _, s := range n.ended {
		over = append(over, scheduler.JobID(s.GetSummary().GetJob()))
	}
	if len(over) > 0 {
		h.tidy(h.journal.forget(over))
	}
}

// finishLost ends jobs that the event log knows nothing of when all of it was replayed: it lost its end, or
// as a whole.
func (h *History) finishLost(n *news) {
	if h.queue.lacks() > 0 { // it may not have heard of all
		return
	}
	lives := h.sampler.submitted()
	for _, e := range h.ending {
		lives[e.id] = 0
	}
	for _, id := range h.journal.ids() {
		if _, known := lives[id]; !known {
			h.finishUnheard(id, n.record, scheduler.Time(h.o.Now().UnixNano()), "the event log lost the job, and with it how the job ended")
		}
	}
}

// finishUnheard ends a job of whose end nothing was heard, as far as it is known.
func (h *History) finishUnheard(id scheduler.JobID, record uint64, at scheduler.Time, why string) {
	j := h.journal.job(id)
	j.course.Lacks = append(j.course.Lacks, why)
	summary := j.summary
	if summary == nil {
		summary = &wire.JobSummary{Job: uint64(id)}
	}
	summary.State, summary.Ended = wire.JobState_JOB_STATE_FAILED, int64(at)
	h.finish(&wire.JobStatus{Summary: summary, Failure: &wire.Failure{Kind: wire.ErrorKind_ERROR_KIND_LOST, Message: why}}, record)
}

// finish notes that a job is over.
func (h *History) finish(s *wire.JobStatus, record uint64) {
	id := scheduler.JobID(s.GetSummary().GetJob())
	if !h.lives(id) {
		return
	}
	j := h.journal.job(id)
	if len(h.ending) >= heldEndsMax {
		h.miss(uint64(1 + len(j.pending)))
		h.tidy(h.journal.forget([]scheduler.JobID{id}))
		return
	}
	e := ending{id, record, s}
	h.ending = append(h.ending, e)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended[id] = e
}

// lives says whether rows of a job are to be taken in: it has no file.
func (h *History) lives(id scheduler.JobID) bool {
	_, live := h.journal.jobs[id]
	return live || !h.files.has(id)
}

// admits says whether a job's row is to be taken in. A file that is there under its id may be that
// of another job, of a log that was lost as a whole: it goes.
func (h *History) admits(row *changes.Job) bool {
	if h.lives(row.ID) {
		return true
	}
	e, err := h.files.entry(row.ID)
	if err != nil || e.Summary.GetSubmitted() == int64(row.Submitted) {
		return false
	}
	h.drop(row.ID)
	return true
}

// drop removes the file of a job.
func (h *History) drop(id scheduler.JobID) {
	defer h.touch(listChanged)
	h.copiesGone(id)
	err := h.onIndex(func(x *index.Index) error { return x.Remove([]scheduler.JobID{id}) })
	if err = errors.Join(err, os.Remove(h.files.path(id)), h.tails.RemoveJob(id)); err != nil {
		h.o.Log.Error("history can't remove the file of a job that is not over", "job", id, "error", err)
	}
}

// retreat goes back to an earlier record, of which all was replayed. Jobs that live again are taken
// back from their files.
func (h *History) retreat(record uint64) {
	h.skipTo, h.applied = record, record
	var back []scheduler.JobID
	for id, submitted := range h.sampler.submitted() {
		if h.lives(id) {
			continue
		}
		if err := h.reopen(id, submitted); err != nil {
			h.damaged(err)
			j := h.journal.job(id)
			j.course.Lacks = append(j.course.Lacks, err.Error())
			h.tidy(os.Rename(h.files.aside(id), h.files.spoilt(id)))
			continue
		}
		back = append(back, id)
	}
	if h.write(); h.isBehind() {
		return // the next life tries it again
	}
	for _, id := range back {
		h.copyGone(id) // else the next life brings it back
		h.tidy(os.Remove(h.files.aside(id)))
	}
}

// reopen takes a job into the journal from its file, where that is of the same job. The file stays
// aside until the journal is written. With an error what can be read of it is taken.
func (h *History) reopen(id scheduler.JobID, submitted scheduler.Time) error {
	defer h.touch(listChanged)
	aside := h.files.aside(id)
	h.tidy(h.onIndex(func(x *index.Index) error { return x.Remove([]scheduler.JobID{id}) })) // who lives is not looked for there
	if err := os.Rename(h.files.path(id), aside); err != nil {
		return err
	}
	r, err := jobfile.Open(aside)
	if err != nil {
		return err
	}
	defer r.Close()
	whole, err := r.Whole()
	if whole.Status.GetSummary().GetSubmitted() != int64(submitted) {
		return err
	}
	j := h.journal.job(id)
	j.summary, j.graph, j.course, j.pending = whole.Status.GetSummary(), whole.Graph, whole.Course, whole.Attempts
	j.kept, j.waits = len(j.pending), len(j.course.Waits)
	h.journal.rows += len(j.pending)
	return err
}

// putBack sees to files that a life put aside in which the log had lost its end. Where the journal was
// written then, it has what they have.
func (h *History) putBack() error {
	names, err := filepath.Glob(filepath.Join(h.files.folder, "*"+asideSuffix))
	if err != nil {
		return err
	}
	for _, name := range names {
		r, err := jobfile.Open(name)
		if err != nil {
			h.damaged(err)
			continue
		}
		r.Close()
		if r.Record() > h.journal.record {
			err = os.Remove(name)
		} else {
			err = os.Rename(name, h.files.path(r.Job()))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Replayed says which was the last record of the log, when all of it was replayed. What history has of
// records beyond it the log lost: their numbers are given anew.
func (h *History) Replayed(last uint64) {
	defer h.queue.add(news{record: last, through: last, replayed: true})
	if last >= h.opened {
		return
	}
	h.o.Log.Warn("history has more than the event log, which lost its end: it keeps what it has, and goes on", "history", h.opened, "eventLog", last)
	h.mu.Lock()
	h.state.Record = last
	h.mu.Unlock()
	h.queue.add(news{record: last, lost: true})
}

// miss counts rows that could not be kept.
func (h *History) miss(rows uint64) {
	if rows == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.state.Missed += rows
	h.touched(stateChanged)
}

// tidy tells of files that stay although they are needed no more.
func (h *History) tidy(err error) {
	if err != nil {
		h.o.Log.Warn("history: a file that is needed no more could not be removed", "error", err)
	}
}

// onIndex does something with the index. One that is damaged is made again.
func (h *History) onIndex(do func(x *index.Index) error) error {
	x := h.index.Load()
	err := do(x)
	if !errors.Is(err, index.ErrDamaged) {
		return err
	}
	return errors.Join(err, h.remakeIndex(x))
}
