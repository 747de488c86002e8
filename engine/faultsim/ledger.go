package faultsim

import (
	"cmp"
	"fmt"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/loop/simcluster"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// ledger is a separate account of the manager's inputs and commands: which launcher runs which
// attempt, which attempts hold slots, and which may commit. It never asks the core.
type ledger struct {
	term      uint64
	joining   map[string]*wire.Join // the last join of each name
	launchers map[uint64]*account
	held      map[uint64]*held    // live attempts, by id
	runs      map[uint64][]uint64 // live bundle attempts of a bundle
	last      uint64              // the last attempt that was started
	fresh     map[uint64]int      // groups started in this step, by bundle attempt
	over      map[uint64]bool     // attempts whose end was reported in this step

	given     map[uint64]given // the meaning of each attempt's id, whatever the log lost
	jobs      *clients
	scheduled *runAccount
}

// account is a launcher as the manager should know it.
type account struct {
	name        string
	up          bool
	wasUp       bool // in this step
	incarnation uint64
	slots       map[string]int
	resources   scheduler.Resources
	frees       []scheduler.ResourceKind // by suspension
	memory      int64
	swap        int64 // for memory of suspended attempts
	attempts    map[uint64]*held
}

// held is a live attempt with the slots and memory that it holds.
type held struct {
	m          *wire.StartAttempt
	launcher   *account
	suspending bool // was asked to
	suspended  bool // so it holds no slots
	ahead      bool // is held ahead, so it holds nothing
	granted    bool
}

func newLedger(jobs *clients, site func() core.Settings) *ledger {
	return (&ledger{jobs: jobs, given: map[uint64]given{}, scheduled: newRunAccount(site)}).again()
}

// again is an empty ledger that remembers the meaning of ids.
func (l *ledger) again() *ledger {
	return &ledger{
		given: l.given, jobs: l.jobs, scheduled: newRunAccount(l.scheduled.site),
		joining: map[string]*wire.Join{}, launchers: map[uint64]*account{}, held: map[uint64]*held{},
		runs: map[uint64][]uint64{}, fresh: map[uint64]int{}, over: map[uint64]bool{},
	}
}

// step enters one step's inputs and actions, and checks the invariants.
func (l *ledger) step(b *wire.Batch, actions []core.Action) error {
	inputs := b.Inputs
	clear(l.fresh)
	clear(l.over)
	for _, a := range l.launchers {
		a.wasUp = a.up
	}
	for _, in := range inputs {
		l.input(in)
	}
	for _, a := range actions {
		if err := l.action(a); err != nil {
			return err
		}
	}
	for run, n := range l.fresh {
		if h := l.held[run]; h != nil && n != l.jobs.runs(h.m.Job).Width(h.m) {
			return fmt.Errorf("%d groups of bundle attempt %d start together, and it has %d", n, run, l.jobs.runs(h.m.Job).Width(h.m))
		}
	}
	for id, a := range l.launchers {
		if err := a.check(); err != nil {
			return fmt.Errorf("launcher %d: %w", id, err)
		}
	}
	return l.scheduled.step(scheduler.Time(b.At), inputs, actions)
}

func (l *ledger) input(in *wire.Input) {
	switch w := in.What.(type) {
	case *wire.Input_ManagerStart:
		l.term = w.ManagerStart.Term
	case *wire.Input_LauncherJoin:
		l.joining[w.LauncherJoin.Join.Name] = w.LauncherJoin.Join
	case *wire.Input_LauncherLost:
		if a := l.launchers[w.LauncherLost.Launcher]; a != nil && a.incarnation == w.LauncherLost.Incarnation {
			l.lose(a)
		}
	case *wire.Input_Report:
		r := w.Report.Report
		if a := l.launchers[w.Report.Launcher]; a != nil && a.up && a.incarnation == r.Incarnation {
			l.report(a, r)
		}
	}
}

func (l *ledger) report(a *account, r *wire.Report) {
	switch w := r.What.(type) {
	case *wire.Report_Ended:
		l.over[w.Ended.Attempt] = true
		if h := a.attempts[w.Ended.Attempt]; h != nil && !h.ahead {
			a.attempts[w.Ended.Next].takeSlots()
		}
		l.end(a.attempts[w.Ended.Attempt])
	case *wire.Report_Suspended:
		a.attempts[w.Suspended].rest()
	case *wire.Report_Refused:
		if h := a.attempts[w.Refused.Attempt]; h != nil && h.suspending {
			h.suspending = false // it can't be suspended, and runs on
			return
		}
		l.over[w.Refused.Attempt] = true // its start is refused
		l.end(a.attempts[w.Refused.Attempt])
	case *wire.Report_Inventory:
		l.inventory(a, w.Inventory.Attempts)
	}
}

// takeSlots has an attempt that was held ahead hold its slots.
func (h *held) takeSlots() {
	if h != nil {
		h.ahead = false
	}
}

// rest has an attempt with a command to suspend hold its slots no more.
func (h *held) rest() {
	if h != nil && h.suspending {
		h.suspending, h.suspended = false, true
	}
}

// inventory drops attempts that a launcher does not have: an attempt that is to start again is
// entered again.
func (l *ledger) inventory(a *account, list []*wire.AttemptInventory) {
	has := map[uint64]bool{}
	for _, m := range list {
		has[m.Attempt] = true
		if m.State == wire.AttemptInventory_STATE_SUSPENDED {
			a.attempts[m.Attempt].rest()
		}
	}
	for _, id := range simcluster.Sorted(a.attempts) {
		if !has[id] {
			l.end(a.attempts[id])
		}
	}
}

func (l *ledger) lose(a *account) {
	a.up = false
	for _, id := range simcluster.Sorted(a.attempts) {
		l.end(a.attempts[id])
	}
}

func (l *ledger) end(h *held) {
	if h == nil {
		return
	}
	delete(l.held, h.m.Attempt)
	delete(h.launcher.attempts, h.m.Attempt)
	live := l.runs[h.m.Bundle][:0]
	for _, id := range l.runs[h.m.Bundle] {
		if id != h.m.Attempt {
			live = append(live, id)
		}
	}
	l.runs[h.m.Bundle] = live
}

func (l *ledger) action(a core.Action) error {
	switch a := a.(type) {
	case core.Welcome:
		l.welcome(a)
	case core.ToLauncher:
		to := l.launchers[uint64(a.Launcher)]
		if to == nil || !to.wasUp || to.incarnation != a.Command.Incarnation || l.term != a.Command.Term {
			return fmt.Errorf("a command of term %d for life %d goes to launcher %d, which is %+v: %v", a.Command.Term, a.Command.Incarnation, a.Launcher, to, a.Command)
		}
		return l.command(to, a.Command)
	}
	return nil
}

func (l *ledger) welcome(w core.Welcome) {
	m := l.joining[w.Name]
	if w.Refused != "" || m.Incarnation != w.Incarnation {
		return
	}
	a := l.launchers[uint64(w.Launcher)]
	if a == nil {
		a = &account{name: w.Name, attempts: map[uint64]*held{}}
		l.launchers[uint64(w.Launcher)] = a
	}
	if !a.up || a.incarnation != w.Incarnation {
		l.lose(a)
	}
	a.up, a.wasUp, a.incarnation, a.memory, a.swap, a.slots = true, true, w.Incarnation, m.Memory, m.Swap, map[string]int{}
	a.resources, a.frees = wire.ResourcesOf(m.Resources), nil
	for _, c := range m.Resources {
		if c.FreedBySuspension {
			a.frees = append(a.frees, c.Kind)
		}
	}
	for _, k := range m.Slots {
		a.slots[k.Kind] += int(k.Count)
	}
	l.inventory(a, m.Attempts)
}

func (l *ledger) command(to *account, m *wire.Command) error {
	switch d := m.Do.(type) {
	case *wire.Command_Start:
		return l.start(to, d.Start)
	case *wire.Command_Stop:
		h := to.attempts[d.Stop.Attempt]
		switch {
		case h == nil:
		case d.Stop.Reason == core.ReasonGivenUp: // its slots are given to others, though it may still run
			l.over[d.Stop.Attempt] = true
			l.end(h)
		default:
			h.suspending = false
		}
	case *wire.Command_Suspend:
		if h := to.attempts[d.Suspend]; h != nil {
			h.suspending = true
		}
	case *wire.Command_Resume:
		if h := to.attempts[d.Resume]; h != nil {
			h.suspending, h.suspended = false, false
		}
	case *wire.Command_Commit:
		return l.grant(to, d.Commit)
	}
	return nil
}

// start enters an attempt; the command may come again for a live one.
func (l *ledger) start(to *account, m *wire.StartAttempt) error {
	if !l.checkGivenOnce(m) {
		return fmt.Errorf("attempt %d was another one before", m.Attempt)
	}
	if l.held[m.Attempt] != nil || l.over[m.Attempt] {
		if h := to.attempts[m.Attempt]; !m.Ahead {
			h.takeSlots()
		}
		return nil
	}
	h := &held{m: m, launcher: to, ahead: m.Ahead}
	if m.Attempt > l.last {
		l.last = m.Attempt
		l.fresh[m.BundleAttempt]++
		if err := l.firstStart(h); err != nil {
			return err
		}
	}
	if !to.up {
		return nil // it was lost in this same step
	}
	l.held[m.Attempt], to.attempts[m.Attempt] = h, h
	l.runs[m.Bundle] = append(l.runs[m.Bundle], m.Attempt)
	return nil
}

// firstStart checks an attempt that was not there before.
func (l *ledger) firstStart(h *held) error {
	m := h.m
	for _, id := range l.runs[m.Bundle] {
		other := l.held[id]
		if other.m.BundleAttempt != m.BundleAttempt && (!m.Speculative || other.launcher == h.launcher) {
			return fmt.Errorf("attempt %d starts on %s (speculative %t) while attempt %d of its bundle lives on %s",
				m.Attempt, h.launcher.name, m.Speculative, id, other.launcher.name)
		}
	}
	if err := cmp.Or(l.jobs.checkAfter(m), l.checkElements(m)); err != nil || m.Finish != nil {
		return err
	}
	return cmp.Or(l.jobs.checkPortion(m), l.jobs.checkCounts(m), l.jobs.checkSources(m))
}

// checkGivenOnce makes sure that an attempt's id stands for one attempt, whatever the
// log lost.
func (l *ledger) checkGivenOnce(m *wire.StartAttempt) bool {
	what := given{m.Job, m.BundleAttempt}
	old, known := l.given[m.Attempt]
	l.given[m.Attempt] = what
	return !known || old == what
}

type given struct{ job, run uint64 }

// grant enters a commit grant: of two attempts of a bundle that live at once, only
// one may have it.
func (l *ledger) grant(to *account, m *wire.CommitVerdict) error {
	h := to.attempts[m.Attempt]
	if !m.Granted || h == nil && (l.over[m.Attempt] || !to.up) {
		return nil // it ended, or its launcher was lost, in this same step
	}
	if h == nil {
		return fmt.Errorf("attempt %d may commit and does not live", m.Attempt)
	}
	h.granted = true
	for _, id := range l.runs[h.m.Bundle] {
		if o := l.held[id]; o.granted && o.m.BundleAttempt != h.m.BundleAttempt {
			return fmt.Errorf("attempts %d and %d of one bundle may both commit", id, m.Attempt)
		}
	}
	return nil
}

// check compares what a launcher's attempts hold with what the launcher has.
func (a *account) check() error {
	if !a.up && len(a.attempts) > 0 {
		return fmt.Errorf("%s is lost and has %d attempts", a.name, len(a.attempts))
	}
	slots, memory, suspended := map[string]int{}, int64(0), int64(0)
	var resources scheduler.Resources
	for _, h := range a.attempts {
		if h.m.Finish != nil || h.ahead { // publishing and cleaning take none of the tasks' slots and memory
			continue
		}
		if h.suspended {
			suspended += h.m.Memory
			asked := wire.ResourcesOf(h.m.Resources)
			resources = resources.Plus(asked.Minus(asked.FreedBySuspension(a.frees)))
			continue
		}
		memory += h.m.Memory
		resources = resources.Plus(wire.ResourcesOf(h.m.Resources))
		slots[h.m.Kind] += int(h.m.Slots)
	}
	for kind, n := range slots {
		if n > a.slots[kind] {
			return fmt.Errorf("%s holds %d slots of kind %s and has %d", a.name, n, kind, a.slots[kind])
		}
	}
	if !a.resources.Covers(resources) {
		return fmt.Errorf("%s holds the resources %v and has %v", a.name, resources, a.resources)
	}
	if memory+max(suspended-a.swap, 0) > a.memory {
		return fmt.Errorf("%s holds %d bytes running and %d suspended, and has %d and swap of %d", a.name, memory, suspended, a.memory, a.swap)
	}
	return nil
}
