package launcher

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/engine/launcher/internal/vetting"
	"github.com/hamadryad/hamadryad/engine/wire"
	program "github.com/hamadryad/hamadryad/engine/worker"
	"github.com/hamadryad/hamadryad/internal/process/proctree"
)

// All functions here are called with agent.mu held, unless their comments say otherwise.

// startAttempt starts an attempt, or holds it ahead. One that is held starts when the command comes
// again without that. Any other known attempt is only reported again.
func (a *agent) startAttempt(s *wire.StartAttempt) {
	if at := a.attempts.find(s.Attempt); at != nil {
		if at.ahead && !s.Ahead && !at.over() {
			a.attempts.release(at)
			a.findWorker(at)
		}
		a.resend(at)
		return
	}
	a.attempts.saw(s.Attempt)
	if s.Finish == nil && a.outputs.Dropped(s.Job) {
		a.refuseDropped(s)
		return
	}
	at := newAttempt(s, a.logs.Open(s.Attempt))
	a.attempts.add(at)
	a.outputs.MergeFor(s.Job, connectionsOf(s))
	if s.Ahead {
		a.attempts.hold(at)
		return
	}
	a.findWorker(at)
}

// findWorker assigns an attempt to an idle worker, or has one started for it.
func (a *agent) findWorker(at *attempt) {
	s := at.start
	if !a.devices.asksFor(s) { // an attempt with devices has a process of its own
		if w := a.workers.takeIdle(keyOf(s)); w != nil {
			a.metrics.idle.Observe(time.Since(w.rested).Seconds())
			a.assign(w, at)
			return
		}
		if w := a.reusableFor(s); w != nil {
			go a.reuseWorker(a.incarnationCtx, at, w)
			return
		}
	}
	go a.startWorker(a.incarnationCtx, at, a.tickets[s.Job], a.divider.other(s.User, ""))
}

// connectionsOf are the connections whose stored files an attempt reads, in order.
func connectionsOf(s *wire.StartAttempt) (all []uint32) {
	add := func(connection uint32) {
		if i, found := slices.BinarySearch(all, connection); !found {
			all = slices.Insert(all, i, connection)
		}
	}
	for _, x := range s.Sources {
		add(x.Connection)
	}
	for _, g := range s.SourceGroups {
		add(g.Connection)
	}
	return all
}

// startWorker starts a worker for an attempt, with its job's tickets and on its user's processors.
// Called without mu, on a goroutine of its own, which then reads the worker's messages until its
// end.
func (a *agent) startWorker(ctx context.Context, at *attempt, tickets []byte, on string) {
	holds, err := a.devices.take(ctx, at.start)
	defer a.devices.release(holds)
	var w *worker
	if err == nil {
		w, err = a.starter.startWorker(ctx, at.start, tickets, on, holds)
	}
	if err == nil {
		a.metrics.starts.Inc()
	}
	a.workerStarted(ctx, at, w, err)
	if err == nil {
		a.attend(w)
		if len(holds) > 0 {
			<-w.Ended()
		}
	}
}

// reusableFor takes an idle worker of another job for an attempt; nil if there is none. A worker that
// runs as its submitter sees the folders of one job only.
func (a *agent) reusableFor(s *wire.StartAttempt) *worker {
	if a.starter.guard != nil || a.tickets[s.Job] != nil {
		return nil
	}
	return a.workers.takeReusable(s)
}

// reuseWorker sets an idle worker of another job up for an attempt, or starts one if that can't be
// done. Called without mu, on a goroutine of its own.
func (a *agent) reuseWorker(ctx context.Context, at *attempt, w *worker) {
	plan, err := a.starter.plan(ctx, at.start)
	fits := err == nil && proctree.Memory(w.PID()) <= workerReuseMemoryMax
	a.mu.Lock()
	alive := a.workers.has(w) && !w.leaving
	reuse := fits && alive
	switch {
	case reuse:
		w.dir.plan = plan
		w.setUp(a.starter.setup(at.start, plan))
		a.metrics.reuses.Inc()
		a.give(ctx, w, at)
	case alive:
		w.dismiss()
	}
	tickets, on := a.tickets[at.start.Job], a.divider.other(at.start.User, "")
	a.mu.Unlock()
	if !reuse {
		a.startWorker(ctx, at, tickets, on)
	}
}

// workerStarted assigns an attempt to the worker that was started for it. Called without mu.
func (a *agent) workerStarted(ctx context.Context, at *attempt, w *worker, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err != nil {
		if ctx.Err() == nil {
			a.log.Warn("can't start a worker", "job", at.start.JobName, "error", err)
			a.end(at, wire.End_END_FAILED, &wire.Failure{Kind: kindOf(err), Message: err.Error()})
		}
		return
	}
	a.workers.add(w)
	a.give(ctx, w, at)
}

// give assigns an attempt to a worker that was set up for it, if it is still wanted.
func (a *agent) give(ctx context.Context, w *worker, at *attempt) {
	w.carry(a.tickets[w.key.job]) // the tickets may have been renewed meanwhile
	wanted := !at.over() && a.attempts.find(at.start.Attempt) == at
	switch {
	case ctx.Err() != nil, !wanted && a.outputs.Dropped(at.start.Job):
		w.leave()
	case !wanted:
		a.keepForJob(w) // the attempt was stopped meanwhile: the job's next group may use the worker
	default:
		a.assign(w, at)
	}
}

// refuseDropped reports the end of an attempt that is not started, because the manager said earlier
// that its job is over. Only the cleanup of that job may still run here.
func (a *agent) refuseDropped(s *wire.StartAttempt) {
	a.reports.Send(&wire.Report{What: &wire.Report_Ended{Ended: &wire.AttemptEnded{
		Attempt: s.Attempt, End: wire.End_END_FAILED, Work: &wire.Work{},
		Failure: &wire.Failure{Kind: wire.ErrorKind_ERROR_KIND_INVALID, Message: "the manager said before that this job was over, and launcher " + a.cfg.Name +
			" has dropped its files: the manager's event log has lost the job's end; look whether its output is there before you submit it again"},
	}}})
}

// assign assigns an attempt to a worker.
func (a *agent) assign(w *worker, at *attempt) {
	at.worker, at.owner, w.current, w.given = w, w.dir.user(), at, time.Now()
	w.sender.Assigned(at.start.Attempt)
	if err := w.Tree.Widen(a.starter.limits(at.start)); err != nil {
		a.log.Warn("a worker keeps the limits of its attempt before", "pid", w.PID(), "error", err)
	}
	w.keptToJob = w.keptToJob || w.raisedBy(at.start.Memory)
	a.useUserProcessors(w)
	at.suspension.BeginAttempt()
	w.BeginAttempt(at.log)
	w.dir.recordState()
	run := &wire.RunGroup{
		Start: at.start, Store: a.outputs.Folder(at.start.Job, at.start.Attempt),
		Scratch: w.dir.scratchOf(at.start.Attempt), Spare: w.dir.spare, DataAddress: a.data, Host: a.cfg.Host, Names: a.cfg.Names, Rack: a.cfg.Rack,
	}
	sources := len(at.start.Sources) + len(at.start.SourceGroups)
	if sources > 0 || !at.start.SourcesComplete {
		run.LocalStores = a.near.List()
	}
	w.sendMessage(&wire.ToWorker{Do: &wire.ToWorker_Run{Run: run}})
	if s := at.start; sources > 0 || len(s.GetFinish().GetFiles()) > 0 {
		at.start = withoutLists(s) // the slim command is kept until the attempt is forgotten
	}
	for _, m := range at.early {
		w.sendMessage(m)
	}
	at.early = nil
	if at.suspension.Wanted() {
		go a.carryOut(w, at)
	}
}

// pass sends a message to an attempt's worker, or keeps it until there is one.
func (a *agent) pass(id uint64, m *wire.ToWorker) {
	at := a.attempts.find(id)
	if at == nil || at.over() {
		return
	}
	at.record.NoteCommand(m)
	at.known.NoteCommand(m)
	switch {
	case at.worker != nil:
		at.worker.sendMessage(m)
	case len(at.early) < earlyMax:
		at.early = append(at.early, m)
	default:
		a.end(at, wire.End_END_FAILED, &wire.Failure{Kind: wire.ErrorKind_ERROR_KIND_INTERNAL, Message: fmt.Sprintf("more than %d messages came for an attempt that has no worker yet", earlyMax)})
	}
}

// attend reads a worker's messages until its end. An offence ends the worker at once.
// Called without mu.
func (a *agent) attend(w *worker) {
	for {
		m, err := w.Receive()
		if err == nil {
			err = a.hear(w, m)
		}
		if err != nil {
			a.punish(w, err)
			w.Await()
			a.cleanupDead(w, err)
			return
		}
	}
}

// hear handles one message. Its error is an offence. Called without mu.
func (a *agent) hear(w *worker, m *wire.FromWorker) error {
	at, take, wait, err := a.vet(w, m)
	if err != nil || !take {
		return err
	}
	if wait > 0 { // the worker is held back as well, once its socket is full
		select {
		case <-time.After(wait):
		case <-w.Gone():
		}
	}
	if e := m.GetReport().GetEnded(); e != nil {
		a.checkStored(at, e)
		a.cleanUp(w, at, e.End == wire.End_END_FINISHED)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	switch what := m.What.(type) {
	case *wire.FromWorker_Report:
		if w.current == at {
			a.reported(w, what.Report)
		}
	case *wire.FromWorker_Ready:
		w.reusable, w.groups = what.Ready.Reusable, what.Ready.SourceGroups
		if f := what.Ready.Failure; f != nil {
			a.unready(w, f)
		}
	case *wire.FromWorker_Limit:
		if w.current == at {
			at.timeout.set(what.Limit, at.suspension.Ran())
		}
	}
	return nil
}

// vet checks whether to take a message, and returns the attempt that its worker was assigned.
// Called without mu.
func (a *agent) vet(w *worker, m *wire.FromWorker) (at *attempt, take bool, wait time.Duration, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	at, now := w.current, time.Now()
	if m.GetReady() != nil {
		take, err = w.sender.Ready(now)
		return at, take, 0, err
	}
	var known *vetting.Attempt
	if at != nil {
		known = &at.known
	}
	if l := m.GetLimit(); l != nil {
		take, err = w.sender.Limit(known, l, now)
		return at, take, 0, err
	}
	take, wait, err = w.sender.Check(known, m.GetReport(), now)
	return at, take, wait, err
}

// punish ends a worker for an offence, which is logged, counted, and reported to the manager for
// its audit. Called without mu.
func (a *agent) punish(w *worker, err error) {
	var o *vetting.Offence
	if !errors.As(err, &o) {
		return // the worker ended, or lost its socket
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	told := &wire.WorkerOffence{Job: w.key.job, User: w.key.user, Kind: string(o.Kind), Reason: o.Reason}
	name := ""
	if at := w.current; at != nil {
		told.Attempt, name = at.start.Attempt, at.start.JobName
	}
	a.metrics.offences.WithLabelValues(told.Kind).Inc()
	a.log.Warn("a worker sent what it may not, and is ended", "user", told.User, "job", told.Job, "name", name,
		"attempt", told.Attempt, "kind", told.Kind, "reason", told.Reason, "pid", w.PID())
	a.reports.Send(&wire.Report{What: &wire.Report_Offence{Offence: told}})
	w.leave()
}

// unready ends a worker that can't build its job's graph.
func (a *agent) unready(w *worker, f *wire.Failure) {
	if f.Kind == wire.ErrorKind_ERROR_KIND_LOST {
		a.starter.cache.Doubt(w.key.plan) // the worker's copy of the plan is not what was verified
	}
	if at := w.current; at != nil {
		w.release()
		a.end(at, wire.End_END_FAILED, f)
	}
	w.leave()
}

// reported handles a report of an attempt's worker.
func (a *agent) reported(w *worker, r *wire.Report) {
	at := w.current
	if at == nil || at.over() {
		return // it was ended by the launcher already
	}
	if e := r.GetEnded(); e != nil {
		a.endedByWorker(w, at, e)
		return
	}
	if !at.record.Note(r) {
		return
	}
	if p := r.GetProgress(); p != nil {
		at.setRunning(p.Work)
	}
	if r.GetStarted() != nil && !at.start.WaitForPeers {
		a.reports.SendSoon(r) // a short attempt's end leaves with it
		return
	}
	a.reports.Send(r)
}

// cleanupDead removes a dead worker, and ends its attempt if it had one. Called without mu.
func (a *agent) cleanupDead(w *worker, broken error) {
	a.mu.Lock()
	at := w.current
	a.mu.Unlock()
	if at != nil {
		w.LogTo(at.log) // for output that is still in the pipe
		a.cleanUp(w, at, false)
	}
	w.dir.close(a.leftovers)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.workers.remove(w)
	if at != nil && w.current == at {
		end, f := wire.End_END_FAILED, w.endFailure(at, broken, a.memory.KilledLately())
		if at.stopped {
			end = wire.End_END_STOPPED
		}
		w.release()
		a.end(at, end, f)
	}
	w.Close()
}

// endedByWorker handles the end that a worker reported.
func (a *agent) endedByWorker(w *worker, at *attempt, e *wire.AttemptEnded) {
	if e.End != wire.End_END_FINISHED { // the launcher knows why it ended
		if e.End = wire.End_END_FAILED; at.stopped {
			e.End = wire.End_END_STOPPED
		}
	}
	if e.Failure != nil && at.start.Finish == nil && e.Failure.Kind == wire.ErrorKind_ERROR_KIND_UNSPECIFIED {
		e.Failure.Kind = wire.ErrorKind_ERROR_KIND_PROGRAM
	}
	if f := at.memory.Excess(); f != nil && e.End != wire.End_END_FINISHED {
		e.Failure = f
	}
	if refused := w.Refused(); refused != "" && e.End == wire.End_END_FAILED && e.Failure != nil {
		e.Failure.Message += " (" + refused + ")"
	}
	w.keptToJob = w.keptToJob || e.End != wire.End_END_FINISHED
	a.metrics.busy.Observe(time.Since(w.given).Seconds())
	w.release()
	next := a.next(w, at)
	a.finish(at, e, next)
	if next != nil {
		a.assign(w, next)
		return
	}
	if at.stopped || w.leaving {
		w.leave()
		return
	}
	if at.suspension.EverWanted() {
		go a.wake(w)
		return
	}
	a.keepForJob(w)
}

// next takes the attempt held ahead that takes the place, and the worker, of one that ended by
// itself; nil: none does.
func (a *agent) next(w *worker, at *attempt) *attempt {
	if at.stopped || w.leaving || at.suspension.EverWanted() || len(w.devices) > 0 {
		return nil
	}
	return a.attempts.next(at.start)
}

// keepForJob keeps a worker for its job's next group. One with devices is dismissed, so that others may have
// them.
func (a *agent) keepForJob(w *worker) {
	if len(w.devices) > 0 {
		w.dismiss()
		return
	}
	a.workers.rest(w)
}

// wake continues a worker whose attempt was to be suspended. The attempt's end may have been
// reported before the stop and read after it. The worker is assigned nothing until it is continued,
// so that the stop hits no other attempt. Called without mu.
func (a *agent) wake(w *worker) {
	w.Tree.Lock()
	defer w.Tree.Unlock()
	err := w.Tree.Set(false)
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case w.leaving || !a.workers.has(w):
	case err != nil:
		a.log.Warn("can't have a worker go on, so it ends", "error", err)
		w.leave()
	default:
		a.keepForJob(w)
	}
}

// end ends an attempt whose end no worker reports.
func (a *agent) end(at *attempt, end wire.End, f *wire.Failure) {
	if at.over() {
		return
	}
	a.finish(at, &wire.AttemptEnded{Attempt: at.start.Attempt, End: end, Failure: f, Work: &wire.Work{}}, nil)
}

// finish records the end of an attempt, once, and reports it, with the attempt that takes its
// place; nil: none does.
func (a *agent) finish(at *attempt, e *wire.AttemptEnded, next *attempt) {
	at.suspension.End()
	at.setRunning(e.Work)
	if e.Work != nil {
		e.Work.PeakMemory = max(e.Work.PeakMemory, at.memory.Peak())
	}
	e = tellable(e)
	if e.Next = 0; next != nil {
		e.Next = next.start.Attempt
	}
	a.attempts.ends++
	at.ends = a.attempts.ends
	at.record.End(e)
	at.early = nil
	at.log.End()
	a.logShipper.Add(at.start.Job, at.start.Attempt, at.log, e.End == wire.End_END_FAILED)
	if e.End == wire.End_END_FINISHED && len(e.Stored) > 0 && a.attempts.find(at.start.Attempt) == at {
		a.outputs.AddOutputs(at.start.Job, at.start.Attempt, string(at.start.Token), at.owner, e.Stored)
	}
	a.metrics.ended(e)
	a.resend(at)
}

// endTimedOut ends the workers of attempts that ran for too long. The attempts' ends are reported
// when the workers are gone. Called without mu.
func (a *agent) endTimedOut() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, at := range a.attempts.byID {
		if at.worker != nil && !at.over() && at.timeout.passes(at.suspension.Ran()) {
			a.log.Warn("a worker did not end its attempt at the timeout of the stage, and is ended",
				"attempt", at.start.Attempt, "job", at.start.JobName, "pid", at.worker.PID())
			at.worker.leave()
		}
	}
}

// ticketsMax bounds the number of jobs whose tickets are kept.
const ticketsMax = 10_000

// takeTickets sends newer tickets to the workers of a job, and keeps them for later workers.
func (a *agent) takeTickets(t *wire.JobTickets) {
	if _, has := a.tickets[t.Job]; !has && len(a.tickets) >= ticketsMax {
		a.log.Error("too many jobs have tickets here, so this one's work goes without", "job", t.Job, "tickets", ticketsMax)
		return
	}
	a.tickets[t.Job] = t.Cache
	for _, w := range a.workers.each() {
		if w.key.job == t.Job {
			w.carry(t.Cache)
		}
	}
}

// stop ends an attempt at once, or within a grace period.
func (a *agent) stop(s *wire.StopAttempt) {
	at := a.attempts.find(s.Attempt)
	if at == nil {
		// It never reached this launcher, or was forgotten: in both cases it does not run.
		a.reports.Send(&wire.Report{What: &wire.Report_Ended{Ended: &wire.AttemptEnded{
			Attempt: s.Attempt, End: wire.End_END_STOPPED, Work: &wire.Work{},
			Failure: &wire.Failure{Kind: wire.ErrorKind_ERROR_KIND_LOST, Message: "the launcher does not know this attempt"},
		}}})
		return
	}
	if at.over() {
		a.resend(at)
		return
	}
	at.stopped = true
	w := at.worker
	if w == nil {
		a.end(at, wire.End_END_STOPPED, &wire.Failure{Kind: wire.ErrorKind_ERROR_KIND_LOST, Message: "stopped before its worker had started: " + s.Reason})
		return
	}
	if s.GraceNs <= 0 {
		w.leave()
		return
	}
	w.leaving = true
	if at.suspension.Wanted() {
		at.suspension.Want(false) // it can't finish while it is suspended
		go a.carryOut(w, at)
	}
	w.sendMessage(&wire.ToWorker{Do: &wire.ToWorker_Stop{Stop: s}})
	w.KillAfter(time.Duration(s.GraceNs))
}

// forget drops a finished attempt. An attempt that still runs is unknown to the manager, and is
// killed.
func (a *agent) forget(id uint64) {
	at := a.attempts.find(id)
	if at == nil {
		return
	}
	a.attempts.forget(id)
	if at.over() {
		return
	}
	at.stopped = true
	if at.worker != nil {
		at.worker.leave()
	}
}

// suspend sets whether an attempt should be suspended.
func (a *agent) suspend(id uint64, stand bool) {
	at := a.attempts.find(id)
	if at == nil || at.over() {
		return // its end is reported, or the inventory shows that it is not here
	}
	at.suspension.Want(stand)
	if at.worker != nil {
		go a.carryOut(at.worker, at)
	}
}

// carryOut stops or continues an attempt's processes, as the manager currently wants, and reports
// that. Called without mu.
func (a *agent) carryOut(w *worker, at *attempt) {
	w.Tree.Lock()
	defer w.Tree.Unlock()
	a.mu.Lock()
	stand, current := at.suspension.Wanted(), w.current == at && !at.over()
	a.mu.Unlock()
	if !current {
		return
	}
	if stand {
		a.reaper.EnsureRunning()
	}
	err := w.Tree.Set(stand)
	a.mu.Lock()
	defer a.mu.Unlock()
	if w.current != at || at.over() {
		return
	}
	at.suspension.Became(stand, err)
	a.divider.grows()
	switch id := at.start.Attempt; {
	case err != nil:
		a.reports.Send(&wire.Report{What: &wire.Report_Refused{Refused: &wire.CommandRefused{
			Attempt: id,
			Failure: &wire.Failure{Kind: wire.ErrorKind_ERROR_KIND_RESOURCE, Message: fmt.Sprintf("freeze or thaw the worker: %v", err)},
		}}})
	case stand:
		a.reports.Send(&wire.Report{What: &wire.Report_Suspended{Suspended: id}})
	case !at.stopped:
		a.reports.Send(&wire.Report{What: &wire.Report_Resumed{Resumed: id}})
	}
}

// checkStored turns an end into a failure if its stored files are not plain files of the worker's
// user: they would not be served. Called without mu, before the end is handled.
func (a *agent) checkStored(at *attempt, e *wire.AttemptEnded) {
	if e.End != wire.End_END_FINISHED {
		return
	}
	for _, s := range e.Stored {
		name := program.StoredName(s.Connection, s.From)
		if err := a.outputs.Check(at.start.Job, at.start.Attempt, name, at.owner); err != nil {
			e.End, e.Stored, e.Files = wire.End_END_FAILED, nil, nil
			e.Failure = &wire.Failure{Kind: wire.ErrorKind_ERROR_KIND_PROGRAM, Message: fmt.Sprintf("launcher %s does not serve what it stored: %v", a.cfg.Name, err)}
			return
		}
	}
}

// cleanUp removes an ended attempt's temporary files. It also removes its stored files, unless it
// finished. Stored files that a finished attempt did not report stay until its job is over, like
// reported ones. Called without mu, before the end is reported.
func (a *agent) cleanUp(w *worker, at *attempt, finished bool) {
	w.dir.clear(at.start.Attempt, finished, a.leftovers)
	if !finished {
		a.outputs.Remove(at.start.Job, at.start.Attempt)
	}
}

// dropJob ends the remains of a job and deletes its stored files. Then it reports that to the
// manager, which repeats the command until then.
func (a *agent) dropJob(id uint64) {
	if asked, gone := a.outputs.DropJob(id); asked {
		if gone {
			a.reports.Send(dropped(id))
		}
		return
	}
	a.attempts.drop(id)
	delete(a.tickets, id)
	go a.removeJob(a.workers.drop(id), id)
}

// removeJob deletes a dropped job's files once nobody can write to them any more, and reports that.
// If the deletion fails, the manager's next command retries it. Called without mu.
func (a *agent) removeJob(leaving []*worker, id uint64) {
	for _, w := range leaving {
		select {
		case <-w.Gone():
		case <-a.ctx.Done():
			return // the next start removes it
		}
	}
	if a.outputs.RemoveJob(id) {
		a.reports.Send(dropped(id))
	}
}

func dropped(job uint64) *wire.Report {
	return &wire.Report{What: &wire.Report_JobDropped{JobDropped: job}}
}
