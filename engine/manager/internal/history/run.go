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

// run applies updates and writes them, until Close.
func (h *History) run() {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for last := h.o.Now(); ; {
		over := false
		var question func()
		select {
		case question = <-h.calls:
		case <-h.queue.wake:
		case <-tick.C:
			h.sample()
			h.forgetReplaced()
		case <-h.closes:
			over = true
		}
		for _, n := range h.queue.takeAll() {
			h.apply(n)
			h.unqueueEnds(&n)
			if h.journal.rows >= pendingRowsMax {
				h.flush()
			}
		}
		if question != nil {
			question()
		}
		now := h.o.Now()
		if len(h.toSeal) >= sealsMax || now.Sub(last) >= sealWait {
			h.seal()
			last = now
		}
		if over {
			h.retryAt = time.Time{}
		}
		if over || h.hasWaiter() || h.isBehind() { // when behind, flush also finds out whether writing works again
			h.flush()
		}
		if over {
			h.releaseWaiters()
			return
		}
	}
}

// hasWaiter reports whether a Sync waits for a record that was applied.
func (h *History) hasWaiter() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, w := range h.waiters {
		if w.record <= h.applied {
			return true
		}
	}
	return false
}

// releaseWaiters ends all calls of Sync.
func (h *History) releaseWaiters() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for _, w := range h.waiters {
		close(w.done)
	}
	h.waiters = nil
}

// apply applies an update.
func (h *History) apply(n update) {
	h.sampler.sampleStep(&n)
	if n.settings != 0 {
		h.settings = n.settings
	}
	if n.restored {
		h.reconcileJournal(&n)
		return
	}
	if n.logLost {
		h.goBackTo(n.record)
	}
	h.applied = max(h.applied, n.through)
	if n.replayed {
		h.endLostJobs(&n)
		h.sweepTails()
	}
	if n.record <= h.skipTo {
		h.skipDurable(&n)
		return
	}
	for i := range n.jobs {
		if h.accepts(&n.jobs[i]) {
			h.addJobRow(h.journal.job(n.jobs[i].ID), &n, i)
		}
	}
	lost := uint64(0)
	for i := range n.attempts {
		if h.isLive(n.attempts[i].Job) && !h.journal.addAttempt(n.attempts[i], h.o.AttemptsMax) {
			lost++
		}
	}
	h.countMissed(lost)
	for id, missed := range n.missed {
		if h.isLive(id) {
			h.journal.job(id).course.Missed += missed
		}
	}
	for _, s := range n.ended {
		h.endJob(s, n.record)
	}
}

// unqueueEnds forgets the ended jobs of an applied update that are not to be sealed.
func (h *History) unqueueEnds(n *update) {
	if len(n.ended) == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range n.ended {
		id := scheduler.JobID(s.GetSummary().GetJob())
		if e := h.unsealed[id]; e.queued && e.record == n.record {
			delete(h.unsealed, id)
		}
	}
}

func (h *History) addJobRow(j *liveJob, n *update, i int) {
	if j.course.Settings == 0 {
		j.course.Settings = h.settings
	}
	j.addRow(&n.jobs[i], n.at)
}

// reconcileJournal compares the journal with the jobs of a restored core. A job of the journal that is over, and whose
// end is not replayed, is ended with what is known of it.
func (h *History) reconcileJournal(n *update) {
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
		if !h.accepts(&n.jobs[i]) {
			continue
		}
		j := h.journal.job(id)
		h.addJobRow(j, n, i)
		if gap != "" {
			j.course.Lacks = append(j.course.Lacks, gap)
		}
	}
	if len(h.damagedParts) > 0 { // it is unknown whose rows they had
		for _, id := range h.journal.ids() {
			j := h.journal.job(id)
			j.course.Lacks = append(j.course.Lacks, h.damagedParts...)
		}
		h.damagedParts = nil
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
			h.endJob(s, n.record)
		}
	}
	for _, id := range h.journal.ids() {
		if !there[id] {
			h.endUnreported(id, n.record, n.at, gap+", and with them how the job ended")
		}
	}
}

// forgetOver drops jobs from the journal that ended before a record, and were removed since. Parts that other jobs need
// may still have chunks of them.
func (h *History) forgetOver(record uint64, live map[scheduler.JobID]bool) {
	h.logLeftover(h.journal.forget(slices.DeleteFunc(h.journal.ids(), func(id scheduler.JobID) bool { return live[id] || h.journal.lastRecord(id) > record })))
}

// skipDurable skips an update that is durable. Jobs that ended in it have files, or were removed since.
func (h *History) skipDurable(n *update) {
	var over []scheduler.JobID
	for _, s := range n.ended {
		over = append(over, scheduler.JobID(s.GetSummary().GetJob()))
	}
	if len(over) > 0 {
		h.logLeftover(h.journal.forget(over))
	}
}

// endLostJobs ends the jobs that the event log does not have after a replay. The log lost its end, or all of its
// records.
func (h *History) endLostJobs(n *update) {
	if h.queue.missedRows() > 0 { // some live jobs may be unknown
		return
	}
	lives := h.sampler.submitted()
	for _, e := range h.toSeal {
		lives[e.id] = 0
	}
	for _, id := range h.journal.ids() {
		if _, known := lives[id]; !known {
			h.endUnreported(id, n.record, scheduler.Time(h.o.Now().UnixNano()), "the event log lost the job, and with it how the job ended")
		}
	}
}

// endUnreported ends a job without a record of its end, with what is known of it.
func (h *History) endUnreported(id scheduler.JobID, record uint64, at scheduler.Time, why string) {
	j := h.journal.job(id)
	j.course.Lacks = append(j.course.Lacks, why)
	summary := j.summary
	if summary == nil {
		summary = &wire.JobSummary{Job: uint64(id)}
	}
	summary.State, summary.Ended = wire.JobState_JOB_STATE_FAILED, int64(at)
	h.endJob(&wire.JobStatus{Summary: summary, Failure: &wire.Failure{Kind: wire.ErrorKind_ERROR_KIND_LOST, Message: why}}, record)
}

// endJob adds a job to those to be sealed.
func (h *History) endJob(s *wire.JobStatus, record uint64) {
	id := scheduler.JobID(s.GetSummary().GetJob())
	if !h.isLive(id) {
		return
	}
	j := h.journal.job(id)
	if len(h.toSeal) >= heldEndsMax {
		h.countMissed(uint64(1 + len(j.pending)))
		h.logLeftover(h.journal.forget([]scheduler.JobID{id}))
		return
	}
	e := endedJob{id, record, s, false}
	h.toSeal = append(h.toSeal, e)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.unsealed[id] = e
}

// isLive reports whether a job is in the journal or has no file, so that its rows are to be added.
func (h *History) isLive(id scheduler.JobID) bool {
	_, live := h.journal.jobs[id]
	return live || !h.files.has(id)
}

// accepts reports whether a job's row is to be added. A file of the same id may be another job's, of a log that was
// lost: it is removed.
func (h *History) accepts(row *changes.Job) bool {
	if h.isLive(row.ID) {
		return true
	}
	e, err := h.files.entry(row.ID)
	if err != nil || e.Summary.GetSubmitted() == int64(row.Submitted) {
		return false
	}
	h.removeJob(row.ID)
	return true
}

// removeJob removes a job's file, its index entry, its ends of logs, and their copies.
func (h *History) removeJob(id scheduler.JobID) {
	defer h.notify(listChanged)
	h.removeCopies(id)
	err := h.unlist(id)
	if err = errors.Join(err, os.Remove(h.files.path(id)), h.tails.RemoveJob(id)); err != nil {
		h.o.Log.Error("history can't remove the file of a job that is not over", "job", id, "error", err)
	}
}

// goBackTo goes back to an earlier record, up to which all was replayed. Jobs that are live again return from their
// files to the journal.
func (h *History) goBackTo(record uint64) {
	h.skipTo, h.applied = record, record
	var back []scheduler.JobID
	for id, submitted := range h.sampler.submitted() {
		if h.isLive(id) {
			continue
		}
		if err := h.reviveJob(id, submitted); err != nil {
			h.damaged(err)
			j := h.journal.job(id)
			j.course.Lacks = append(j.course.Lacks, err.Error())
			h.logLeftover(os.Rename(h.files.asidePath(id), h.files.damagedPath(id)))
			continue
		}
		back = append(back, id)
	}
	if h.flush(); h.isBehind() {
		return // the next start tries it again
	}
	for _, id := range back {
		h.removeCopy(id) // else the next start restores it
		h.logLeftover(os.Remove(h.files.asidePath(id)))
	}
}

// reviveJob moves a job from its file back into the journal, if the file is of the same job. The file is kept aside until
// the journal is written. With an error the readable rest of the file is used.
func (h *History) reviveJob(id scheduler.JobID, submitted scheduler.Time) error {
	defer h.notify(listChanged)
	aside := h.files.asidePath(id)
	h.logLeftover(h.unlist(id)) // the index has no live jobs
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

// restoreAside handles files that an earlier process put aside because the log had lost its end. If the journal was written
// afterwards, it has their rows and they are removed. Else they are put back.
func (h *History) restoreAside() error {
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

// Replayed marks the end of a replay, and names the log's last record. If history has later records, the log lost them
// and will give their numbers again.
func (h *History) Replayed(last uint64) {
	defer h.queue.add(update{record: last, through: last, replayed: true})
	if last >= h.opened {
		return
	}
	h.o.Log.Warn("history has more than the event log, which lost its end: it keeps what it has, and goes on", "history", h.opened, "eventLog", last)
	h.mu.Lock()
	h.state.Record = last
	h.mu.Unlock()
	h.queue.add(update{record: last, logLost: true})
}

// countMissed counts rows that were dropped.
func (h *History) countMissed(rows uint64) {
	if rows == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.state.Missed += rows
	h.notifyLocked(stateChanged)
}

// logLeftover logs the error of removing a file that is no longer needed.
func (h *History) logLeftover(err error) {
	if err != nil {
		h.o.Log.Warn("history: a file that is needed no more could not be removed", "error", err)
	}
}

// unlist removes jobs from the index.
func (h *History) unlist(ids ...scheduler.JobID) error {
	return h.onIndex(func(x *index.Index) error { return x.Remove(ids) })
}

// onIndex calls a function with the index. If the index turns out to be damaged, it is rebuilt.
func (h *History) onIndex(do func(x *index.Index) error) error {
	x := h.index.Load()
	err := do(x)
	if !errors.Is(err, index.ErrDamaged) {
		return err
	}
	return errors.Join(err, h.remakeIndex(x))
}
