// Package step is what one step of the core knows and gathers. It has the time, the settings in
// force, the effects in order, the timers, the budget of long work, and the counters.
//
// # Invariants
//
// Effects keep the order in which they were emitted. Time is later in each step than in the one
// before. Nothing that a step gathers outlives it, except timers.
package step

import (
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/engine/core/internal/checkpoint"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Step is the current step. Not safe for concurrent use.
type Step struct {
	Set   Settings // in force
	Term  uint64   // the manager's
	Now   scheduler.Time
	Stats Stats // nothing may depend on them

	timers  Timers
	watched [timerKinds]bool // kinds of which the one timer is set, see Watch
	effects []Effect
	work    int // the rest of Settings.StepWork
}

// Effect is an action, or a deferred one, which is made when the round is on its way to the policy.
type Effect struct {
	Action      Action
	Deferred    any    // not nil: the action is made from this
	Incarnation uint64 // of the launcher that it is sent to
}

// usualMax bounds the capacity that is kept for the next step's effects.
const usualMax = 1 << 12

// Begin begins a step at a time, at least a nanosecond after the last step.
func (s *Step) Begin(at scheduler.Time) {
	s.Now = max(at, s.Now+1)
	s.RenewBudget()
}

// RenewBudget resets the step's budget of long work.
func (s *Step) RenewBudget() { s.work = s.Set.StepWork }

// Emit adds an action to the effects.
func (s *Step) Emit(a Action) { s.effects = append(s.effects, Effect{Action: a}) }

// EmitDeferred adds an effect whose action is made when the round is on its way.
func (s *Step) EmitDeferred(t Effect) { s.effects = append(s.effects, t) }

// Effects returns the step's effects, in order, until End.
func (s *Step) Effects() []Effect { return s.effects }

// End ends the step.
func (s *Step) End() {
	clear(s.effects)
	if s.effects = s.effects[:0]; cap(s.effects) > usualMax {
		s.effects = nil
	}
}

// Log emits a log line with a message and pairs of key and value.
func (s *Step) Log(level Level, message string, pairs ...string) {
	s.log(LogLine{Level: level, Message: message}, pairs)
}

// LogReported is Log for reports of launchers, which may repeat without end.
func (s *Step) LogReported(level Level, message string, pairs ...string) {
	s.log(LogLine{Level: level, Message: message, Often: true}, pairs)
}

func (s *Step) log(line LogLine, pairs []string) {
	for pair := range slices.Chunk(pairs, 2) {
		line.Attrs = append(line.Attrs, Attr{pair[0], pair[1]})
	}
	s.Emit(line)
}

// Reply answers a client's request with a failure, or with success if it is nil. Client 0 gets no
// answer.
func (s *Step) Reply(client uint64, j scheduler.JobID, f *wire.Failure) {
	if client != 0 {
		s.Emit(Reply{Client: client, Job: j, Failure: f})
	}
}

// ReplyChanged answers a request that was carried out, with the values before and after it.
func (s *Step) ReplyChanged(client uint64, j scheduler.JobID, before, after string) {
	if client != 0 {
		s.Emit(Reply{Client: client, Job: j, Before: before, After: after})
	}
}

// Denied returns the failure of a request that its caller may not make.
func Denied(err error) *wire.Failure {
	return &wire.Failure{Kind: wire.ErrorKind_ERROR_KIND_DENIED, Message: err.Error()}
}

// Invalid returns the failure of a request that can't be carried out as it is.
func Invalid(message string) *wire.Failure {
	return &wire.Failure{Kind: wire.ErrorKind_ERROR_KIND_INVALID, Message: message}
}

// ConsumeBudget subtracts work from the step's budget of long work; it returns false if nothing was
// left.
func (s *Step) ConsumeBudget(work int) bool {
	if s.work <= 0 {
		return false
	}
	s.work -= work
	return true
}

// AddCost subtracts work from the budget, even if nothing is left.
func (s *Step) AddCost(work int) { s.work -= work }

// BudgetSpent says whether the budget of long work is used up.
func (s *Step) BudgetSpent() bool { return s.work <= 0 }

// CodeTime codes the term and the time.
func (s *Step) CodeTime(w *checkpoint.Codec) {
	checkpoint.Num(w, &s.Term)
	checkpoint.Num(w, &s.Now)
}

// Watch sets the timer of a kind that has at most one timer, unless it is set already.
func (s *Step) Watch(kind TimerKind, d time.Duration, id uint64) {
	if !s.watched[kind] {
		s.watched[kind] = true
		s.SetTimer(d, kind, id)
	}
}

// Watches says whether the one timer of such a kind is set.
func (s *Step) Watches(kind TimerKind) bool { return s.watched[kind] }

// WatchDue records that the one timer of such a kind was due.
func (s *Step) WatchDue(kind TimerKind) { s.watched[kind] = false }

// CodeWatches codes which of these timers are set.
func (s *Step) CodeWatches(w *checkpoint.Codec) {
	checkpoint.Flag(w, &s.watched[TimerSpeculate])
	checkpoint.Flag(w, &s.watched[TimerStall])
}

// BeginTerm begins a new term of the manager, at least the given one.
func (s *Step) BeginTerm(least uint64) { s.Term = max(least, s.Term+1) }

// CodeLast codes the number of the last timer set.
func (s *Step) CodeLast(w *checkpoint.Codec) { s.timers.CodeLast(w) }

// CodeTimers codes the timers.
func (s *Step) CodeTimers(w *checkpoint.Codec) { s.timers.Code(w) }

// Clone returns an independent copy, without effects.
func (s *Step) Clone() Step {
	f := *s
	f.timers, f.effects = s.timers.Clone(), nil
	return f
}
