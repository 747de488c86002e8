package simcluster

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// reportAgain is the delay before a launcher repeats a report that needs an answer.
const reportAgain = 2 * time.Second

// Launcher is one machine with its attempts and outputs. Clients change its exported fields to
// simulate faults, between events only.
type Launcher struct {
	Machine
	Hooks
	ID          scheduler.LauncherID // 0 until the manager welcomes it
	Incarnation uint64
	Term        uint64         // the last that welcomed this incarnation
	Down        bool           // its process has ended
	Frozen      scheduler.Time // it does nothing until then

	Attempts map[uint64]*Attempt // by id, until the manager says to forget them
	Stored   map[uint64]*Stored  // by attempt; see Discard
	Jobs     map[uint64]bool     // jobs of which it may have workers or files

	cluster *Cluster
	refused map[uint64]string // why it would not start attempts
	begun   map[uint64]bool   // attempts started in this incarnation
	dropped map[uint64]bool   // jobs that the manager reported as over
	seen    uint64            // the last attempt that it was sent to start
	ends    int               // of attempts
	holds   int               // attempts that are held ahead and have not ended
}

// Stored is the output of one attempt.
type Stored struct {
	Job, Attempt uint64
	Files        []Input
	Damaged      bool // unreadable

	on   *Launcher
	gone bool // deleted
}

// Discard deletes what an attempt stored.
func (l *Launcher) Discard(attempt uint64) {
	if s := l.Stored[attempt]; s != nil {
		s.gone = true
		delete(l.Stored, attempt)
	}
}

// DiscardAll deletes all that is stored.
func (l *Launcher) DiscardAll() {
	for id := range l.Stored {
		l.Discard(id)
	}
}

// forget drops the state of the launcher's process.
func (l *Launcher) forget() {
	l.Attempts, l.refused, l.begun = map[uint64]*Attempt{}, map[uint64]string{}, map[uint64]bool{}
	l.Jobs, l.dropped, l.seen = map[uint64]bool{}, map[uint64]bool{}, 0
	l.ends, l.holds = 0, 0
}

// Restart begins a new incarnation without attempts and state. The store is kept, or not.
func (l *Launcher) Restart(kept bool) {
	l.Incarnation++
	for _, id := range Sorted(l.Attempts) {
		a := l.Attempts[id]
		a.dead = true
		l.cluster.network.cancel(a)
		a.reportHolds()
	}
	l.forget()
	if !kept {
		l.DiscardAll()
	}
}

// Stands puts off a launcher's actions while it is frozen.
func (l *Launcher) Stands(later func()) bool {
	if l.cluster.Loop.Now() < l.Frozen {
		l.cluster.Loop.At(l.Frozen+1, later)
		return true
	}
	return false
}

// Message is the launcher's join message.
func (l *Launcher) Message() *wire.Join {
	has := l.Inventory()
	return &wire.Join{
		Name: l.Name, Incarnation: l.Incarnation, Host: l.Host, Rack: l.Rack, Slots: l.Slots, Memory: l.Memory, Swap: l.Swap, Resources: l.Resources,
		DataAddress: l.Name + ":1", HttpAddress: l.Name + ":2", CanSuspend: l.CanSuspend, HoldsAhead: true,
		Attempts: has.Attempts, Stored: has.Stored, Jobs: has.Jobs, Seen: l.seen, Term: l.Term,
	}
}

// Inventory is the launcher's inventory.
func (l *Launcher) Inventory() *wire.Inventory {
	m := &wire.Inventory{}
	for _, id := range Sorted(l.Attempts) {
		m.Attempts = append(m.Attempts, &wire.AttemptInventory{Attempt: id, State: l.Attempts[id].inventory()})
	}
	for _, id := range Sorted(l.Stored) {
		m.Stored = append(m.Stored, &wire.Stored{Job: l.Stored[id].Job, Attempt: id})
	}
	m.Jobs = Sorted(l.Jobs)
	return m
}

// Sorted lists ids in order.
func Sorted[V any](m map[uint64]V) []uint64 { return slices.Sorted(maps.Keys(m)) }

// Welcome handles the manager's answer to the join.
func (l *Launcher) Welcome(w core.Welcome) {
	if w.Refused != "" {
		l.cluster.wrong("%s may not join: %s", l.Name, w.Refused)
		return
	}
	l.ID, l.Term = w.Launcher, w.Term
	l.cluster.byID.Set(l.ID, l)
	all := slices.Collect(maps.Values(l.Attempts))
	slices.SortFunc(all, func(x, y *Attempt) int { // an end comes before the start of what took its place
		return cmp.Or(cmp.Compare(x.reportOrder(), y.reportOrder()), cmp.Compare(x.Start.Attempt, y.Start.Attempt))
	})
	for _, a := range all {
		a.reportAgain()
	}
}

// reportOrder is the place of an attempt in the reports after a join: the order of the ends, then
// what runs.
func (a *Attempt) reportOrder() int {
	if a.ended != nil {
		return a.endedAs
	}
	return math.MaxInt
}

// Held is how many slots of a kind its attempts hold.
func (l *Launcher) Held(kind string) (slots uint32) {
	for _, a := range l.Attempts {
		if a.ended == nil && !a.held && !a.Suspended() && a.Start.Kind == kind && a.Start.Finish == nil { // a publisher needs no slot
			slots += a.Start.Slots
		}
	}
	return slots
}

// Report reports to the manager.
func (l *Launcher) Report(r *wire.Report) {
	if l.Send != nil {
		l.Send(r)
		return
	}
	wait := l.Latency
	if l.Heartbeat > 0 {
		wait += l.Heartbeat - (time.Duration(l.cluster.Loop.Now())+l.Heartbeat-l.FirstBeat%l.Heartbeat)%l.Heartbeat
	}
	in := l.Input(r)
	l.cluster.Loop.After(wait, func() { l.cluster.Loop.Push(in) })
}

// Input is a report as the core gets it.
func (l *Launcher) Input(r *wire.Report) *wire.Input {
	r.Incarnation = l.Incarnation
	return wire.NewReport(uint64(l.ID), r)
}

// Do carries out a command. A command for another incarnation is dropped.
func (l *Launcher) Do(m *wire.Command) {
	if l.Down || m.Incarnation != l.Incarnation || l.Stands(func() { l.Do(m) }) {
		return
	}
	switch d := m.GetDo().(type) {
	case *wire.Command_Start:
		l.start(d.Start)
	case *wire.Command_Stop:
		l.stop(d.Stop)
	case *wire.Command_Peers:
		l.live(d.Peers.Attempt, func(a *Attempt) { a.peers(d.Peers) })
	case *wire.Command_Sources:
		l.live(d.Sources.Attempt, func(a *Attempt) { a.moreSources(d.Sources) })
	case *wire.Command_Files:
		l.live(d.Files.Attempt, func(a *Attempt) { a.moreFiles(d.Files) })
	case *wire.Command_Suspend:
		l.live(d.Suspend, (*Attempt).suspend)
	case *wire.Command_Resume:
		l.live(d.Resume, (*Attempt).resume)
	case *wire.Command_Commit:
		l.live(d.Commit.Attempt, func(a *Attempt) { a.verdict(d.Commit.Granted) })
	case *wire.Command_Forget:
		if a := l.Attempts[d.Forget]; a != nil && a.ended != nil {
			delete(l.Attempts, d.Forget)
		}
	case *wire.Command_DropJob:
		l.drop(d.DropJob)
	case *wire.Command_DropOutput:
		l.Discard(d.DropOutput.Attempt)
	case *wire.Command_ReportInventory:
		l.Report(&wire.Report{What: &wire.Report_Inventory{Inventory: l.Inventory()}})
	}
}

func (l *Launcher) live(id uint64, do func(*Attempt)) {
	if a := l.Attempts[id]; a != nil && a.ended == nil {
		do(a)
	}
}

// HeldAhead reports whether an attempt is held ahead and has not ended.
func (l *Launcher) HeldAhead(id uint64) bool {
	a := l.Attempts[id]
	return a != nil && a.held && a.ended == nil
}

// StartHeld starts an attempt that is held ahead, for whatever reason.
func (l *Launcher) StartHeld(id uint64) { l.Attempts[id].begin() }

// start runs an attempt, or repeats the report of its end.
func (l *Launcher) start(m *wire.StartAttempt) {
	if a := l.Attempts[m.Attempt]; a != nil {
		if a.held && !m.Ahead && a.ended == nil {
			a.begin()
		}
		a.reportAgain()
		return
	}
	l.seen = max(l.seen, m.Attempt)
	if l.dropped[m.Job] && m.Finish == nil {
		l.cluster.see("starts of dropped jobs")
		l.Report(&wire.Report{What: &wire.Report_Ended{Ended: &wire.AttemptEnded{
			Attempt: m.Attempt, End: wire.End_END_FAILED, Failure: &wire.Failure{Kind: wire.ErrorKind_ERROR_KIND_INVALID, Message: "its job was over"},
		}}})
		return
	}
	if l.begun[m.Attempt] {
		l.cluster.wrong("%s is to start attempt %d a second time", l.Name, m.Attempt)
	}
	if l.refused[m.Attempt] == "" && l.Refuses != nil {
		if why := l.Refuses(m); why != "" {
			l.refused[m.Attempt] = why
		}
	}
	if why := l.refused[m.Attempt]; why != "" {
		l.refuse(m.Attempt, wire.ErrorKind_ERROR_KIND_RESOURCE, why)
		return
	}
	l.begun[m.Attempt], l.Jobs[m.Job] = true, true
	l.add(m)
}

// refuse reports that the launcher can't carry out a command.
func (l *Launcher) refuse(attempt uint64, kind wire.ErrorKind, why string) {
	l.Report(&wire.Report{What: &wire.Report_Refused{Refused: &wire.CommandRefused{Attempt: attempt, Failure: &wire.Failure{Kind: kind, Message: why}}}})
}

// stop ends an attempt, after its grace when it has any. The start of an unknown attempt may have
// been lost, or may come after this command.
func (l *Launcher) stop(m *wire.StopAttempt) {
	a := l.Attempts[m.Attempt]
	if a == nil {
		a = &Attempt{On: l, Start: &wire.StartAttempt{Attempt: m.Attempt}, ended: &wire.AttemptEnded{Attempt: m.Attempt, End: wire.End_END_STOPPED}}
		l.Attempts[m.Attempt] = a
		a.insist() // the manager may never ask again: it may have given it up
	}
	if a.ended != nil {
		a.reportAgain()
		return
	}
	a.stop(time.Duration(m.GraceNs))
}

// drop ends everything left of a job, and then reports that.
func (l *Launcher) drop(job uint64) {
	l.dropped[job] = true
	for id, s := range l.Stored {
		if s.Job == job {
			l.Discard(id)
		}
	}
	for id, a := range l.Attempts {
		if a.Start.Job == job {
			if a.dead = true; a.held && a.ended == nil {
				l.holds--
			}
			l.cluster.network.cancel(a)
			delete(l.Attempts, id)
		}
	}
	life, wait := l.Incarnation, time.Duration(0)
	if l.Takes != nil {
		wait = l.Takes(nil, Dropping, 0)
	}
	l.cluster.Loop.After(wait, func() {
		if l.Incarnation == life && !l.Down {
			delete(l.Jobs, job)
			l.Report(&wire.Report{What: &wire.Report_JobDropped{JobDropped: job}})
		}
	})
}
