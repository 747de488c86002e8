package launcher

import (
	"fmt"
	"os"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/engine/worker"
)

// All functions here are called with agent.mu held, unless they say otherwise.

// begin starts an attempt. One that is known is only reported again.
func (a *agent) begin(s *wire.StartAttempt) {
	if at := a.attempts[s.Attempt]; at != nil {
		a.resend(at)
		return
	}
	a.seen = max(a.seen, s.Attempt)
	if _, dropped := a.dropped[s.Job]; dropped && s.Finish == nil {
		a.refuseDropped(s)
		return
	}
	at := &attempt{start: s, log: a.logs.open(s.Attempt)}
	a.attempts[s.Attempt] = at
	key := keyOf(s)
	for i := len(a.idle) - 1; i >= 0; i-- {
		if p := a.idle[i]; p.key == key {
			a.idle = append(a.idle[:i], a.idle[i+1:]...)
			a.assign(p, at)
			return
		}
	}
	go a.hire(a.life, at)
}

// refuseDropped reports the end of an attempt that is not started: the manager said
// before that its job is over. Cleaning up is all that can be done for that job.
func (a *agent) refuseDropped(s *wire.StartAttempt) {
	a.send(&wire.Report{What: &wire.Report_Ended{Ended: &wire.AttemptEnded{
		Attempt: s.Attempt, End: wire.End_END_FAILED, Work: &wire.Work{},
		Failure: &wire.Failure{Kind: wire.ErrorKind_ERROR_KIND_INVALID, Message: "the manager said before that this job was over, and launcher " + a.cfg.Name +
			" has dropped its files: the manager's event log has lost the job's end; look whether its output is there before you submit it again"},
	}}})
}

// assign gives a worker an attempt.
func (a *agent) assign(p *proc, at *attempt) {
	at.proc, p.current = p, at
	at.clock.run()
	p.pipe.switchTo(at.log)
	run := &wire.RunGroup{
		Start: at.start, Store: worker.AttemptFolder(a.folder.store(), at.start.Job, at.start.Attempt),
		Scratch: a.folder.scratchOf(at.start.Attempt), DataAddress: a.dataAddress, Host: a.cfg.Host, Names: a.cfg.Names, Rack: a.cfg.Rack,
	}
	if len(at.start.Sources) > 0 || !at.start.SourcesComplete {
		run.LocalStores = a.near.list()
	}
	p.send(&wire.ToWorker{Do: &wire.ToWorker_Run{Run: run}})
	if s := at.start; len(s.Sources) > 0 || len(s.GetFinish().GetFiles()) > 0 {
		at.start = withoutLists(s) // until the attempt is forgotten
	}
	for _, m := range at.early {
		p.send(m)
	}
	at.early = nil
	if at.frozen {
		go a.applyFreeze(p, at)
	}
}

// withoutLists is a start command without what only the worker needs and what may be
// large.
func withoutLists(s *wire.StartAttempt) *wire.StartAttempt {
	slim := &wire.StartAttempt{
		Attempt: s.Attempt, Job: s.Job, Bundle: s.Bundle, BundleAttempt: s.BundleAttempt, Token: s.Token, Kind: s.Kind, Slots: s.Slots, Memory: s.Memory,
		Program: s.Program, Plan: s.Plan, Fingerprint: s.Fingerprint, JobName: s.JobName, User: s.User,
	}
	if s.Finish != nil {
		slim.Finish = &wire.Finish{}
	}
	return slim
}

// pass hands a message to an attempt's worker, or keeps it until there is one.
func (a *agent) pass(id uint64, m *wire.ToWorker) {
	at := a.attempts[id]
	switch {
	case at == nil || at.ended != nil:
	case at.proc != nil:
		at.proc.send(m)
	case len(at.early) < earlyMax:
		at.early = append(at.early, m)
	default:
		a.end(at, wire.End_END_FAILED, &wire.Failure{Kind: wire.ErrorKind_ERROR_KIND_INTERNAL, Message: fmt.Sprintf("more than %d messages came for an attempt that has no worker yet", earlyMax)})
	}
}

// passSources hands on sources; what was lost and is made again need no more be
// asked for.
func (a *agent) passSources(s *wire.SourcesUpdate) {
	if at := a.attempts[s.Attempt]; at != nil {
		for _, source := range s.Sources {
			k := lostKey{source.Connection, source.From}
			if lost := at.lost[k]; lost != nil && lost.Producer != source.Attempt {
				at.forgetLost(k)
			}
		}
	}
	a.pass(s.Attempt, &wire.ToWorker{Do: &wire.ToWorker_Sources{Sources: s}})
}

// passFiles hands on files that are to be published.
func (a *agent) passFiles(f *wire.FilesUpdate) {
	if at := a.attempts[f.Attempt]; at != nil && at.filesWanted == f.From {
		at.filesWanted = 0
	}
	a.pass(f.Attempt, &wire.ToWorker{Do: &wire.ToWorker_Files{Files: f}})
}

func (at *attempt) forgetLost(k lostKey) {
	delete(at.lost, k)
	for i, other := range at.lostKeys {
		if other == k {
			at.lostKeys = append(at.lostKeys[:i], at.lostKeys[i+1:]...)
			return
		}
	}
}

// onReport takes in what the worker of an attempt reports.
func (a *agent) onReport(p *proc, r *wire.Report) {
	at := p.current
	if at == nil || at.ended != nil {
		return // it was ended here already
	}
	switch what := r.What.(type) {
	case *wire.Report_Started:
		at.started = what.Started
		what.Started.Attempt = at.start.Attempt
	case *wire.Report_Phase:
		what.Phase.Attempt = at.start.Attempt
	case *wire.Report_Progress:
		what.Progress.Attempt = at.start.Attempt
		a.setRunning(at, what.Progress.Work)
	case *wire.Report_InputLost:
		at.noteLost(what.InputLost)
	case *wire.Report_SourcesTaken:
		what.SourcesTaken.Attempt = at.start.Attempt
	case *wire.Report_FilesWanted:
		what.FilesWanted.Attempt = at.start.Attempt
		at.filesWanted = what.FilesWanted.From
	case *wire.Report_Commit:
		at.asksCommit = true
	case *wire.Report_Ended:
		what.Ended.Attempt = at.start.Attempt
		a.endedByWorker(p, at, what.Ended)
		return
	default:
		return // no worker sends others
	}
	a.send(r)
}

func (at *attempt) noteLost(l *wire.InputLost) {
	l.Attempt = at.start.Attempt
	k := lostKey{l.Connection, l.From}
	if at.lost == nil {
		at.lost = map[lostKey]*wire.InputLost{}
	}
	if at.lost[k] == nil {
		at.lostKeys = append(at.lostKeys, k)
	}
	at.lost[k] = l
}

func (a *agent) setRunning(at *attempt, w *wire.Work) {
	if w != nil {
		w.RunningNs = int64(at.clock.total())
	}
}

// endedByWorker takes in the end that a worker reported.
func (a *agent) endedByWorker(p *proc, at *attempt, e *wire.AttemptEnded) {
	if at.stopped && e.End == wire.End_END_FAILED {
		e.End = wire.End_END_STOPPED
	}
	if e.Failure != nil && at.start.Finish == nil && e.Failure.Kind == wire.ErrorKind_ERROR_KIND_UNSPECIFIED {
		e.Failure.Kind = wire.ErrorKind_ERROR_KIND_PROGRAM
	}
	if at.excess != nil && e.End != wire.End_END_FINISHED {
		e.Failure = at.excess
	}
	a.release(p, at)
	a.finish(at, e)
	if at.stopped || p.leaving {
		go p.kill()
		return
	}
	a.rest(p)
}

// release takes an attempt from its worker.
func (a *agent) release(p *proc, at *attempt) {
	p.pipe.switchTo(nil)
	p.current, at.proc = nil, nil
}

// end ends an attempt that no worker reports on.
func (a *agent) end(at *attempt, end wire.End, f *wire.Failure) {
	if at.ended != nil {
		return
	}
	a.finish(at, &wire.AttemptEnded{Attempt: at.start.Attempt, End: end, Failure: f, Work: &wire.Work{}})
}

// finish records the end of an attempt, once, and reports it.
func (a *agent) finish(at *attempt, e *wire.AttemptEnded) {
	at.clock.stand()
	a.setRunning(at, e.Work)
	if e.Work != nil {
		e.Work.PeakMemory = max(e.Work.PeakMemory, at.peak)
	}
	e = tellable(e)
	at.ended, at.suspended, at.frozen, at.asksCommit = e, false, false, false
	at.lost, at.lostKeys, at.early = nil, nil, nil
	at.log.end()
	if e.End == wire.End_END_FINISHED && len(e.Stored) > 0 && a.attempts[at.start.Attempt] == at {
		a.stored[at.start.Attempt] = &storedOutputs{job: at.start.Job, token: string(at.start.Token)}
	}
	a.metrics.ended(e)
	a.sendEnded(at)
}

// tellable makes a failure of an end that no message to the manager can hold.
func tellable(e *wire.AttemptEnded) *wire.AttemptEnded {
	if len(e.Stored)+len(e.Files)+len(e.Counters) == 0 && e.Failure == nil {
		return e
	}
	n := proto.Size(e)
	if n <= wire.ReportBytesMax {
		return e
	}
	if e.Failure != nil { // of a worker that does not keep to its own bounds
		return &wire.AttemptEnded{Attempt: e.Attempt, End: e.End, Work: e.Work, Failure: &wire.Failure{
			Kind: e.Failure.Kind, Stage: beginning(e.Failure.Stage), Index: e.Failure.Index, Producer: e.Failure.Producer,
			Message: fmt.Sprintf("%s... (the report of its end takes %d bytes and was cut)", beginning(e.Failure.Message), n),
		}}
	}
	return &wire.AttemptEnded{Attempt: e.Attempt, End: wire.End_END_FAILED, Work: e.Work, Failure: &wire.Failure{
		Kind: wire.ErrorKind_ERROR_KIND_INVALID,
		Message: fmt.Sprintf("the report of its end takes %d bytes, at most %d are possible: it wrote %d stored files and %d output files, and counted under %d names; write fewer, use fewer readers, or count under fewer and shorter names",
			n, wire.ReportBytesMax, len(e.Stored), len(e.Files), len(e.Counters)),
	}}
}

// beginning is the start of a text.
func beginning(text string) string { return strings.ToValidUTF8(text[:min(len(text), lastWords)], "") }

// stop ends an attempt: at once, or with a grace.
func (a *agent) stop(s *wire.StopAttempt) {
	at := a.attempts[s.Attempt]
	if at == nil {
		// It never came here, or was forgotten: either way it does not run.
		a.send(&wire.Report{What: &wire.Report_Ended{Ended: &wire.AttemptEnded{
			Attempt: s.Attempt, End: wire.End_END_STOPPED, Work: &wire.Work{},
			Failure: &wire.Failure{Kind: wire.ErrorKind_ERROR_KIND_LOST, Message: "the launcher does not know this attempt"},
		}}})
		return
	}
	if at.ended != nil {
		a.sendEnded(at)
		return
	}
	at.stopped = true
	p := at.proc
	if p == nil {
		a.end(at, wire.End_END_STOPPED, &wire.Failure{Kind: wire.ErrorKind_ERROR_KIND_LOST, Message: "stopped before its worker had started: " + s.Reason})
		return
	}
	p.leaving = true
	if s.GraceNs <= 0 {
		go p.kill()
		return
	}
	if at.frozen {
		at.frozen = false // it can't finish while it stands
		go a.applyFreeze(p, at)
	}
	p.send(&wire.ToWorker{Do: &wire.ToWorker_Stop{Stop: s}})
	time.AfterFunc(time.Duration(s.GraceNs), p.kill)
}

// forget drops what is kept of an attempt's end. One that still runs is not the
// manager's: it is killed.
func (a *agent) forget(id uint64) {
	at := a.attempts[id]
	if at == nil {
		return
	}
	delete(a.attempts, id)
	if at.ended != nil {
		return
	}
	at.stopped = true
	if p := at.proc; p != nil {
		p.leaving = true
		go p.kill()
	}
}

// freeze sets whether an attempt should stand still.
func (a *agent) freeze(id uint64, frozen bool) {
	at := a.attempts[id]
	if at == nil || at.ended != nil {
		return // its end is reported, or it is not here, as the inventory says
	}
	at.frozen = frozen
	if at.proc != nil {
		go a.applyFreeze(at.proc, at)
	}
}

// applyFreeze makes the processes of an attempt stand or go, as the manager wants
// it by now, and reports that. Called without mu.
func (a *agent) applyFreeze(p *proc, at *attempt) {
	p.freezing.Lock()
	defer p.freezing.Unlock()
	a.mu.Lock()
	frozen, current := at.frozen, p.current == at && at.ended == nil
	a.mu.Unlock()
	if !current {
		return
	}
	err := p.setFrozen(frozen)
	a.mu.Lock()
	defer a.mu.Unlock()
	if p.current != at || at.ended != nil {
		return
	}
	if err != nil {
		at.frozen = at.suspended
		a.send(&wire.Report{What: &wire.Report_Refused{Refused: &wire.CommandRefused{
			Attempt: at.start.Attempt,
			Failure: &wire.Failure{Kind: wire.ErrorKind_ERROR_KIND_RESOURCE, Message: fmt.Sprintf("freeze or thaw the worker: %v", err)},
		}}})
		return
	}
	at.suspended = frozen
	if frozen {
		at.clock.stand()
		a.send(&wire.Report{What: &wire.Report_Suspended{Suspended: at.start.Attempt}})
		return
	}
	at.clock.run()
	if !at.stopped {
		a.send(&wire.Report{What: &wire.Report_Resumed{Resumed: at.start.Attempt}})
	}
}

// cleanUp removes an ended attempt's temporary files, and what it stored unless it
// finished. Called without mu, before the end is reported.
func (a *agent) cleanUp(at *attempt, finished bool) {
	if err := os.RemoveAll(a.folder.scratchOf(at.start.Attempt)); err != nil {
		a.log.Warn("can't remove an attempt's temporary files", "attempt", at.start.Attempt, "error", err)
	}
	if finished {
		return
	}
	a.removeStored(at.start.Job, at.start.Attempt)
}

// removeStored deletes what an attempt stored, and its job's folder with the last of
// that. Called without mu.
func (a *agent) removeStored(job, attempt uint64) {
	if err := os.RemoveAll(worker.AttemptFolder(a.folder.store(), job, attempt)); err != nil {
		a.log.Warn("can't remove what an attempt stored", "attempt", attempt, "error", err)
	}
	_ = os.Remove(a.folder.jobStore(job)) // fails while there is more in it
}
