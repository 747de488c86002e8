package core

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/core/inputs"
	"github.com/hamadryad/hamadryad/engine/core/tally"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// endedReport takes in the end of an attempt and lets the launcher forget it.
func (c *Core) endedReport(l *launcher, m *wire.AttemptEnded) {
	id := scheduler.AttemptID(m.GetAttempt())
	a := c.attempt(l, m.GetAttempt())
	if a == nil {
		c.endedAlready(l, m)
		return
	}
	if a.stop == nil && a.run.bundle.job.phase == jobEnding { // stopAll had not come to it
		c.stopForEnd(a.run)
	}
	switch {
	case m.GetEnd() == wire.End_END_FINISHED && a.mayFinish():
		c.finished(a, m)
	case a.stop != nil:
		if m.GetEnd() == wire.End_END_FINISHED {
			c.refuseCommit(l, m, "it was being stopped")
		}
		c.endAttempt(a, a.stop.outcome, m.GetWork(), a.stop.reason)
		c.runOver(a.run)
	case m.GetEnd() == wire.End_END_FAILED:
		c.failed(a, m)
	default:
		// Stopped though nobody asked: the launcher had its own reason.
		c.lose(a, "its launcher stopped it")
	}
	c.forget(l, id)
}

// endedAlready is the end of an attempt that is not live: reported twice, or
// given up before.
func (c *Core) endedAlready(l *launcher, m *wire.AttemptEnded) {
	c.step.Stats.StaleReports++
	id := scheduler.AttemptID(m.GetAttempt())
	if m.GetEnd() == wire.End_END_FINISHED && len(m.GetStored()) > 0 && l.outputs[id] == nil {
		c.refuseCommit(l, m, "it had been given up")
	}
	c.forget(l, id)
}

// refuseCommit says so, and has what was stored deleted now; what has no job any
// more went, or goes, with the job.
func (c *Core) refuseCommit(l *launcher, m *wire.AttemptEnded, why string) {
	c.step.Stats.LateCommits++
	c.step.Log(Warn, "a late commit was refused: "+why, "launcher", l.Name, "attempt", fmt.Sprint(m.GetAttempt()))
	if a := c.attempt(l, m.GetAttempt()); a != nil && len(m.GetStored()) > 0 {
		c.command(l, &wire.Command{Do: &wire.Command_DropOutput{DropOutput: &wire.Stored{Attempt: m.GetAttempt(), Job: uint64(a.run.bundle.job.id)}}})
	}
}

// mayFinish says whether the end of an attempt counts. What was preempted and
// came to its end first did its work; what is being stopped because it is not
// wanted, or with a broken gang, did not.
func (a *attempt) mayFinish() bool {
	b := a.run.bundle
	if b.phase != bundleRunning || b.job.ends() && !b.last() {
		return false
	}
	return a.run.stopped == 0 && a.stop == nil || a.run.stopped == scheduler.Preempted && len(a.run.attempts) == 1
}

// finished accepts an attempt's end. Its bundle commits when all have.
func (c *Core) finished(a *attempt, m *wire.AttemptEnded) {
	c.sureStarted(a)
	if a.phase == attemptAssigned { // a gang's member whose start was never told
		c.started(a, "")
	}
	r, b := a.run, a.run.bundle
	k := &commit{
		attempt: a.id, run: r.id, token: r.token, launcher: a.launcher.ID, host: a.launcher.Host, rack: a.launcher.Rack,
		spec: r.speculative, launched: r.launched, started: a.started, phased: a.phased, ended: c.step.Now, report: m,
	}
	for _, s := range m.GetStored() {
		if int(s.GetConnection()) < len(b.job.plan.Graph.Connections) && b.job.plan.Connection(int(s.GetConnection())).Store == "" {
			k.stored = true
		}
	}
	r.commits[a.group] = k
	if k.stored {
		a.launcher.outputs[a.id] = &output{job: b.job, bundle: b, group: a.group, run: r.id}
	}
	k.work = c.workOf(a, m.GetWork())
	c.step.Stats.Finished++
	ran := a.running(c.step.Now)
	c.endAttempt(a, scheduler.Finished, m.GetWork(), "")
	b.job.stages[a.stage].Ran(ran)
	for _, k := range r.commits {
		if k == nil {
			c.noteSuspended(r)
			return // r.live > 0: a run that loses a member is stopped
		}
	}
	c.commitRun(r)
}

// commitRun makes a bundle finished by one of its runs.
func (c *Core) commitRun(r *run) {
	b := r.bundle
	j := b.job
	b.dropRun(r)
	for _, other := range b.runs {
		c.stopRun(other, scheduler.Killed, "another attempt finished first", 0, 0)
	}
	b.enter(bundleFinished)
	b.setTwice(0)
	b.since = c.step.Now
	c.capacity.ReleaseFor(b, b.job.ready.count)
	old := b.kept
	b.kept = r.commits
	if b.last() {
		c.lastFinished(j, b.kept[0].report)
		return
	}
	j.unfinished--
	j.countDone(b, +1)
	for i, k := range r.commits {
		if len(r.commits) > 1 { // a frozen state may have it, from an earlier step
			own := *k
			k, r.commits[i] = &own, &own
		}
		var before *commit
		if old != nil {
			before = old[i]
			// Its file stays until the job ends: who reads it may go on.
			if l := c.launchers.Get(before.launcher); l != nil {
				delete(l.outputs, before.attempt)
			}
		}
		c.keepOutputs(b, i, k, before)
		j.tally.Accept(k.report, +1)
		if before != nil {
			j.tally.Accept(before.report, -1)
		}
	}
	c.touch(j)
	c.checkDone(j)
}

// keepOutputs makes what a group wrote into file channels known to its readers.
func (c *Core) keepOutputs(b *bundle, i int, k, before *commit) {
	j := b.job
	var sizes map[inputs.Key]*wire.StoredOutput
	if n := len(k.report.GetStored()); n > 0 {
		sizes = make(map[inputs.Key]*wire.StoredOutput, n)
	}
	for _, s := range k.report.GetStored() {
		sizes[inputs.Key{Conn: int32(s.GetConnection()), From: int32(s.GetFrom())}] = s
	}
	for _, x := range b.filed(i) {
		n := j.plan.Node(x)
		for _, conn := range j.inputs.OutOf(n.Stage) {
			key := inputs.Key{Conn: conn, From: int32(n.Index)}
			s := sizes[key]
			c.storedOutput(j, key, max(s.GetBytes(), 0), s.GetPartitionBytes(), k.launcher, before)
			c.supply(j, key)
		}
	}
	c.countReads(b, i, k.work)
	k.report = kept(k.report)
}

// kept is what of a report is needed later; nobody changes a message.
func kept(m *wire.AttemptEnded) *wire.AttemptEnded {
	if m.Work == nil && len(m.Files) == 0 && len(m.Counters) == 0 {
		return &nothingKept
	}
	return &wire.AttemptEnded{Work: m.Work, Files: m.Files, Counters: m.Counters}
}

var nothingKept wire.AttemptEnded

// countReads sums what was read by locality. An attempt whose nodes read stored
// files, not only channels, counts for the level that gave it most.
func (c *Core) countReads(b *bundle, i int, w scheduler.Work) {
	j := b.job
	most := 0
	j.tally.Read(w)
	for level, n := range w.Read {
		c.step.Stats.Read[level] += uint64(n)
		if n > w.Read[most] {
			most = level
		}
	}
	if w.Read[most] == 0 {
		return
	}
	for _, x := range b.nodes(i) {
		if len(j.plan.Graph.Stages[j.plan.Node(x).Stage].Inputs) > 0 {
			j.tally.Local(most)
			c.step.Stats.Local[most]++
			return
		}
	}
}

// failed takes in an attempt's failure and stops the rest of its bundle.
func (c *Core) failed(a *attempt, m *wire.AttemptEnded) {
	f := m.GetFailure()
	if f == nil {
		f = &wire.Failure{Kind: wire.ErrorKind_ERROR_KIND_INTERNAL, Message: "it failed without saying why"}
	}
	r := a.run
	// Once a last group runs, what fails is the outputs' store, and no launcher's fault.
	theirs := r.bundle.last() && a.phase != attemptAssigned || f.Kind == wire.ErrorKind_ERROR_KIND_OUTPUT
	switch {
	case a.stop != nil:
		c.endAttempt(a, a.stop.outcome, m.GetWork(), a.stop.reason)
		c.runOver(r)
		return
	case f.Kind == wire.ErrorKind_ERROR_KIND_LOST:
		if r.lost == "" {
			r.lost = c.step.Short(f.Message)
		}
		c.endAttempt(a, scheduler.Lost, m.GetWork(), f.Message)
		c.stopRun(r, scheduler.Lost, "another group of its bundle was lost", 0, 0)
	default:
		r.bundle.job.stageOf(f, a).Fail()
		if r.failure == nil || r.failure.Kind == wire.ErrorKind_ERROR_KIND_RESOURCE {
			r.failure = f
		}
		c.step.Stats.Failed++
		c.endAttempt(a, scheduler.Failed, m.GetWork(), f.Message)
		c.noteJob(r.bundle.job, fmt.Sprintf("%s failed on %s: %s", r.bundle.job.describe(r.bundle, a.group), a.launcher.Name, f.Message))
		if !theirs {
			c.blame(r.bundle, a.launcher)
		}
		c.stopRun(r, scheduler.Lost, "another group of its bundle failed", 0, 0)
	}
	c.runOver(r)
}

// lose ends an attempt whose launcher or worker went away.
func (c *Core) lose(a *attempt, reason string) {
	r := a.run
	outcome := scheduler.Lost
	if a.stop != nil && a.launcher.Up {
		outcome = a.stop.outcome
	} else if r.lost == "" {
		r.lost = c.step.Short(reason)
	}
	c.endAttempt(a, outcome, a.work, reason)
	if outcome == scheduler.Lost {
		c.stopRun(r, scheduler.Lost, "another group of its bundle was lost", 0, 0)
	}
	c.runOver(r)
}

// endAttempt takes an attempt out of the state: it holds nothing any more.
func (c *Core) endAttempt(a *attempt, outcome scheduler.AttemptOutcome, w *wire.Work, reason string) {
	b := a.run.bundle
	j := b.job
	reason = c.step.Short(reason)
	work := c.workOf(a, w)
	c.capacity.GiveAll(&a.launcher.Launcher, &a.Holding)
	c.capacity.VictimDone(&a.Holding)
	c.stopWaiting(a)
	c.dropSuspended(a.run)
	c.removeAttempt(a)
	a.ran, a.since, a.outcome = a.running(c.step.Now), c.step.Now, outcome
	a.phase = attemptEnded
	a.run.live--
	b.setTwice(0)
	e := scheduler.AttemptEnded{At: c.step.Now, Attempt: a.id, Outcome: outcome, Work: work, Reason: reason}
	if outcome == scheduler.Preempted && a.stop != nil {
		e.For = a.stop.forJob
	}
	c.emit(b, e)
	c.step.Stats.Outcomes[outcome]++
	j.tally.Keep(tally.Past{
		ID: a.id, Stage: a.stage, Index: a.index, Launcher: a.launcher.Name, Outcome: outcome, Started: a.started, Ended: c.step.Now,
		Speculative: a.run.speculative, Reason: reason,
	}, c.step.Set.AttemptsKept)
	c.touch(j)
}

// runOver ends a bundle attempt that did not commit, when nothing of it lives.
func (c *Core) runOver(r *run) {
	b := r.bundle
	j := b.job
	if r.live > 0 || !b.hasRun(r) {
		return
	}
	b.dropRun(r)
	for _, k := range r.commits {
		if k != nil {
			c.dropOutput(k, j)
		}
	}
	wasRunning := b.phase == bundleRunning // else another attempt of it finished
	if wasRunning && len(b.runs) == 0 {
		b.enter(bundleWaiting)
	}
	switch {
	case b.last() && wasRunning:
		c.lastRunOver(b, r)
	case j.ends():
		c.checkQuiet(j)
	case !wasRunning:
		c.recheck(b)
		c.checkDone(j)
	case !c.countFailure(b, r) && len(b.runs) == 0:
		c.recheck(b)
	}
}

// countFailure counts why a run ended, and fails the job when that was once too
// often.
func (c *Core) countFailure(b *bundle, r *run) bool {
	f := r.failure
	switch {
	case f != nil && (f.Kind == wire.ErrorKind_ERROR_KIND_INVALID || f.Kind == wire.ErrorKind_ERROR_KIND_OUTPUT):
		c.endJob(b.job, scheduler.JobFailed, f)
		return true
	case f != nil && f.Kind != wire.ErrorKind_ERROR_KIND_RESOURCE:
		b.failures++
		if b.failures >= b.job.attemptsMax(&c.step.Set) {
			f = proto.CloneOf(f)
			f.Message = fmt.Sprintf("failed %d times, the last time: %s", b.failures, f.Message)
			c.endJob(b.job, scheduler.JobFailed, f)
			return true
		}
	case f != nil || r.lost != "":
		b.losses++
		why := r.lost
		if f != nil {
			why = f.Message
		}
		if b.losses > c.step.Set.LostMax {
			c.failLost(b, why)
			return true
		}
	}
	return false
}

// failLost fails a job whose work is lost over and over.
func (c *Core) failLost(b *bundle, why string) {
	c.endJob(b.job, scheduler.JobFailed, &wire.Failure{
		Kind:    wire.ErrorKind_ERROR_KIND_LOST,
		Message: fmt.Sprintf("%s was lost %d times, the last time because %s: look after the launchers, then submit again", b.job.describe(b, 0), b.losses, why),
	})
}

// stageOf is the stage that a failure names, one of those in the attempt's group; the
// group's first where it names none.
func (j *job) stageOf(f *wire.Failure, a *attempt) *stage {
	for _, n := range a.run.bundle.nodes(a.group) {
		if s := &j.stages[j.plan.Node(n).Stage]; s.Name() == f.GetStage() {
			return s
		}
	}
	return &j.stages[a.stage]
}
