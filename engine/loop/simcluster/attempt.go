package simcluster

import (
	"time"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Attempt is an attempt on a launcher. It starts, waits for its peers and its input, works,
// requests its commit if it has to, and ends.
type Attempt struct {
	On    *Launcher
	job   *Job               // nil: unknown
	Start *wire.StartAttempt // its command
	Began scheduler.Time     // when it was

	held      bool // ahead: it waits for the end of an attempt of its stage
	stopped   bool // by a command
	endedAs   int  // how many attempts had ended in its launcher's life before it did
	started   bool
	peered    bool // it knows its peers
	reading   bool // its input, which takes a while
	executing bool // has its input
	asked     bool // for its commit
	granted   bool
	dead      bool           // with its launcher's life
	grace     time.Duration  // of its stop
	takesWork time.Duration  // how long it executes, all in all
	executes  scheduler.Time // since when it executes, by its own time
	given     given
	clock     clock
	ended     *wire.AttemptEnded
	holds     bool // its slots, as last reported
	looked    bool // where its stored input is
	near      [scheduler.LocalityLevels]int64
	readFrom  []readFrom        // launchers that it reads from, in the order of the first output of each
	sources   map[*Launcher]int // indexes in readFrom; nil without a model of the network
}

// add adds an attempt, which begins unless it is held ahead.
func (l *Launcher) add(m *wire.StartAttempt) {
	a := &Attempt{On: l, job: l.cluster.job(m.Job), Start: m, Began: l.cluster.Loop.Now(), held: m.Ahead}
	a.given = newGiven(m, a.job.count(m))
	a.clock = clock{now: l.cluster.Loop.Now, after: a.after, moved: a.reportHolds}
	l.Attempts[m.Attempt] = a
	if a.held {
		l.holds++
		return
	}
	a.begin()
}

// begin has an attempt start.
func (a *Attempt) begin() {
	m := a.Start
	if a.held {
		a.On.holds--
	}
	a.held, a.Began = false, a.On.cluster.Loop.Now()
	a.reportHolds()
	if m.WaitForPeers {
		j := a.job
		if j.gangs == nil {
			j.gangs = map[uint64][]*Attempt{}
		}
		j.gangs[m.BundleAttempt] = append(j.gangs[m.BundleAttempt], a)
	}
	a.Later(a.takes(Starting), a.run)
}

// Ended is its end; nil while it runs.
func (a *Attempt) Ended() *wire.AttemptEnded { return a.ended }

// reportHolds calls the observer when an attempt begins or ends to hold its slots.
func (a *Attempt) reportHolds() {
	holds := a.ended == nil && !a.dead && !a.Suspended() && !a.held
	if holds != a.holds && a.On.cluster.Holds != nil {
		a.On.cluster.Holds(a, holds)
	}
	a.holds = holds
}

// Executing reports whether it has its input.
func (a *Attempt) Executing() bool { return a.executing }

// Asks reports whether it waits for the verdict on its commit.
func (a *Attempt) Asks() bool { return a.asked && !a.granted }

// Read returns the attempt whose output it read; 0 if it has not read the input.
func (a *Attempt) Read(k Input) uint64 { return a.given.readOf(k) }

// Files are the files that a last group is to publish, as far as the manager sent them.
func (a *Attempt) Files() []*wire.CommittedFile { return a.given.files }

func (a *Attempt) inventory() wire.AttemptInventory_State {
	switch {
	case a.ended != nil:
		return wire.AttemptInventory_STATE_ENDED
	case a.Suspended():
		return wire.AttemptInventory_STATE_SUSPENDED
	}
	return wire.AttemptInventory_STATE_RUNNING
}

// run has the program run: it reports the start, and checks whether it can continue.
func (a *Attempt) run() {
	a.started = true
	a.reportStarted()
	a.askFiles()
	a.goOn()
}

func (a *Attempt) reportStarted() {
	a.On.Report(&wire.Report{What: &wire.Report_Started{Started: &wire.AttemptStarted{Attempt: a.Start.Attempt, Address: a.On.Name + ":3"}}})
}

// reportAgain repeats all reports that may not have arrived.
func (a *Attempt) reportAgain() {
	switch {
	case a.ended != nil:
		a.On.Report(&wire.Report{What: &wire.Report_Ended{Ended: a.ended}})
		return
	case a.started:
		a.reportStarted()
	}
	if a.Suspended() {
		a.reportSuspended()
	}
	for _, l := range a.given.lost {
		a.On.Report(&wire.Report{What: &wire.Report_InputLost{InputLost: l}})
	}
	a.askFiles()
	if a.Asks() {
		a.On.Report(&wire.Report{What: &wire.Report_Commit{Commit: a.Start.Attempt}})
	}
}

// insist repeats a report until it is answered.
func (a *Attempt) insist() {
	var again func()
	again = func() {
		waits := a.ended != nil || len(a.given.lost) > 0 || a.Asks()
		if !a.dead && a.On.Attempts[a.Start.Attempt] == a && waits && !a.On.Stands(again) {
			a.reportAgain()
			a.On.cluster.Loop.After(reportAgain, again)
		}
	}
	a.On.cluster.Loop.After(reportAgain, again)
}

// read reads its input, all of which can be read.
func (a *Attempt) read() {
	if n := a.On.cluster.connect(); n != nil && n.fetch(a, a.fetches(), func() { a.Later(0, a.execute) }) {
		a.reading = true
		return
	}
	if d := a.takes(Reading); d > 0 {
		a.reading = true
		a.Later(d, a.execute)
		return
	}
	a.execute()
}

// execute works, when all input is there.
func (a *Attempt) execute() {
	a.executing, a.executes = true, a.clock.time()
	a.On.Report(&wire.Report{What: &wire.Report_Phase{Phase: &wire.AttemptPhase{Attempt: a.Start.Attempt, Executing: true}}})
	a.takesWork = a.slowed(a.takes(Working))
	a.clock.later(a.takesWork, a.Finish)
	if d := a.slowed(a.takes(Telling)); d > 0 {
		a.clock.repeat(d, a.reportProgress)
	}
}

// Finish ends an attempt whose work is done, if it may end.
func (a *Attempt) Finish() {
	if (a.job.AsksCommit || a.Start.Finish != nil) && !a.granted {
		if !a.asked {
			a.asked = true
			a.On.Report(&wire.Report{What: &wire.Report_Commit{Commit: a.Start.Attempt}})
			a.insist()
		}
		return
	}
	e := (*wire.AttemptEnded)(nil)
	if a.On.Ends != nil {
		e = a.On.Ends(a)
	} else {
		e = a.End()
	}
	if e != nil {
		a.end(e)
	}
}

// End is the end of an attempt whose work is done: success, unless a peer that it was joined with
// went away.
func (a *Attempt) End() *wire.AttemptEnded {
	if a.PeerGone() {
		return Failed(wire.ErrorKind_ERROR_KIND_LOST, "a peer went away")
	}
	e := a.job.Product(a.Start)
	e.Work = a.work()
	return e
}

// Failed is a bad end.
func Failed(kind wire.ErrorKind, why string) *wire.AttemptEnded {
	return &wire.AttemptEnded{End: wire.End_END_FAILED, Failure: &wire.Failure{Kind: kind, Message: why}}
}

// verdict is the manager's verdict on a commit.
func (a *Attempt) verdict(granted bool) {
	switch {
	case !a.Asks():
	case granted:
		a.granted = true
		a.Later(a.takes(Committing), a.Finish)
	default:
		a.On.cluster.see("refused commits")
		a.end(Failed(wire.ErrorKind_ERROR_KIND_LOST, "the commit was refused"))
	}
}

// PeerGone reports whether some other group of the bundle attempt is gone.
func (a *Attempt) PeerGone() bool {
	for _, other := range a.job.gangs[a.Start.BundleAttempt] {
		if other.dead || other.ended != nil && other.ended.End != wire.End_END_FINISHED {
			return true
		}
	}
	return false
}

func (a *Attempt) stop(grace time.Duration) {
	a.grace, a.stopped = grace, true
	if a.held {
		a.end(&wire.AttemptEnded{End: wire.End_END_STOPPED})
		return
	}
	gone := func() { a.end(&wire.AttemptEnded{End: wire.End_END_STOPPED}) }
	a.after(a.slowed(a.takes(Stopping)), gone)
}

// Fail ends an attempt in the middle.
func (a *Attempt) Fail(kind wire.ErrorKind, why string) { a.end(Failed(kind, why)) }

func (a *Attempt) end(e *wire.AttemptEnded) {
	if a.ended != nil || a.dead {
		return
	}
	e.Attempt = a.Start.Attempt
	a.keep(e.Stored)
	if a.held {
		a.On.holds--
	}
	next := a.successor()
	if next != nil {
		e.Next = next.Start.Attempt
	}
	a.ended, a.endedAs = e, a.On.ends
	a.On.ends++
	a.On.cluster.network.cancel(a)
	a.reportHolds()
	if a.On.cluster.Ended != nil {
		a.On.cluster.Ended(a, e)
	}
	a.reportAgain()
	a.insist()
	if next != nil {
		a.On.cluster.see("attempts started ahead")
		next.begin()
	}
}

// successor returns the attempt that is held ahead and takes this one's place, as it ends by
// itself; nil: there is none.
func (a *Attempt) successor() *Attempt {
	if a.held || a.stopped || a.clock.turn > 0 || a.On.holds == 0 {
		return nil
	}
	var next *Attempt
	for id, x := range a.On.Attempts { // the one with the lowest id, in any order
		if x.held && x.ended == nil && x.Start.Job == a.Start.Job && x.Start.Stage == a.Start.Stage && x.Start.Kind == a.Start.Kind &&
			x.Start.Slots == a.Start.Slots && x.Start.Memory == a.Start.Memory && (next == nil || id < next.Start.Attempt) {
			next = x
		}
	}
	return next
}

// keep keeps an attempt's outputs, except for those on the job's storage.
func (a *Attempt) keep(stored []*wire.StoredOutput) {
	if len(stored) == 0 {
		return
	}
	var whole struct { // one piece of memory: most attempts store one output, and all its readers look here
		stored Stored
		one    [1]Input
	}
	s := &whole.stored
	s.Job, s.Attempt, s.on, s.Files = a.Start.Job, a.Start.Attempt, a.On, whole.one[:0]
	for _, m := range stored {
		if a.job.Graph.Connection(int(m.Connection)).Store == "" {
			k := Input{m.Connection, m.From}
			s.Files = append(s.Files, k)
			a.job.keeps(k, s)
		}
	}
	if len(s.Files) > 0 {
		a.On.Stored[a.Start.Attempt] = s
	}
}

// workDone is the memory of a Work: one piece.
type workDone struct {
	work wire.Work
	read [scheduler.LocalityLevels]int64
}

// work is the work done so far.
func (a *Attempt) work() *wire.Work { return a.workInto(&workDone{}) }

func (a *Attempt) workInto(w *workDone) *wire.Work {
	w.read = a.stored()
	w.work.RunningNs, w.work.Read = int64(a.clock.time().Sub(a.Began)), w.read[:]
	return &w.work
}

// reportProgress reports its progress, and returns when the next report is due; 0: never.
func (a *Attempt) reportProgress() time.Duration {
	var whole struct { // one piece of memory: of all reports most are these
		report wire.Report
		what   wire.Report_Progress
		told   wire.AttemptProgress
		work   workDone
	}
	part := float64(a.Worked()) / float64(max(a.takesWork, 1))
	whole.told.Attempt, whole.told.Progress, whole.told.Work = a.Start.Attempt, min(part, 1), a.workInto(&whole.work)
	whole.what.Progress, whole.report.What = &whole.told, &whole.what
	a.On.Report(&whole.report)
	return a.slowed(a.takes(Telling))
}
