package policystate

import (
	"time"

	"github.com/hamadryad/hamadryad/engine/core/internal/checkpoint"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire"
)

// usualMax bounds the space reserved for as many events as the last time.
const usualMax = 1 << 12

// PendingAnswer is an answer of the policy that is being applied.
type PendingAnswer struct {
	data      []byte // as received
	decisions scheduler.Decisions
	applied   [scheduler.DecisionSpeculate]int // decisions of each kind
}

// Decisions returns the answer's decisions. The caller must not change them.
func (d *PendingAnswer) Decisions() *scheduler.Decisions { return &d.decisions }

// Applied returns how many decisions of a kind were applied.
func (d *PendingAnswer) Applied(kind scheduler.DecisionKind) int { return d.applied[kind-1] }

// CountApplied counts one more applied decision.
func (d *PendingAnswer) CountApplied(kind scheduler.DecisionKind) { d.applied[kind-1]++ }

// Gaps are the least times between the starts of two rounds.
type Gaps struct {
	Any      time.Duration // Settings.RoundGap
	Launched time.Duration // Settings.LaunchedGap
	Refused  time.Duration // Settings.RefusedGapMax
	Wake     time.Duration // Settings.WakeMin
}

// Due reports whether a round may start now: the deciding policy is not thinking, and enough time
// has passed since the last round. A policy that asked to be woken by now gets TimePassed, unless its
// last wake-up was less than Gaps.Wake ago.
func (x *Session) Due(now scheduler.Time, gaps Gaps) bool {
	g := x.current
	if g == nil || x.inFlight || now < x.lastRound.Add(gaps.Any) {
		return false
	}
	if g.wakeAt != 0 && now >= g.wakeDue(gaps.Wake) {
		g.wakeAt, g.lastWake = 0, now
		x.Notify(scheduler.TimePassed{At: now})
	}
	return !g.onlyLaunches() || now >= x.lastRound.Add(gaps.Launched)
}

// wakeDue returns when to wake the policy: at the time that it asked for, but not sooner than wakeMin
// after its last wake-up.
func (g *Generation) wakeDue(wakeMin time.Duration) scheduler.Time {
	if g.lastWake == 0 {
		return g.wakeAt
	}
	return max(g.wakeAt, g.lastWake.Add(wakeMin))
}

// Wanted reports whether there are events or a first set of offers for the policy.
func (g *Generation) Wanted() bool { return len(g.events) > 0 || g.fresh }

// Fresh reports whether the policy was sent no offers yet, and has to get all.
func (g *Generation) Fresh() bool { return g.fresh }

// Ask makes the round, which is then in flight.
func (x *Session) Ask(now scheduler.Time, offers []scheduler.Offer) *scheduler.Round {
	g := x.current
	x.rounds++
	x.asked, x.askedAt, x.lastRound, x.inFlight = x.rounds, now, now, true
	r := &scheduler.Round{Number: x.rounds, Now: now, Events: g.events, Offers: offers}
	if g.futileRounds++; len(offers) > 0 || !g.onlyRefusals() {
		g.futileRounds = 0
	}
	x.Changes.markSent(now)
	g.events, g.notes, g.refused, g.launched, g.fresh = make([]scheduler.Event, 0, min(len(g.events), usualMax)), 0, 0, 0, false
	return r
}

// Asked is the number of the round in flight, or of the last one.
func (x *Session) Asked() uint64 { return x.asked }

// Refused records that the next outcome is a refusal.
func (g *Generation) Refused() { g.refused++ }

// Launched records that the next outcome is an accepted launch.
func (g *Generation) Launched() { g.launched++ }

// onlyLaunches reports whether a round would carry only accepted launches, besides offers. The policy
// counts on these, so nothing new depends on such a round.
func (g *Generation) onlyLaunches() bool {
	return !g.fresh && g.launched > 0 && g.launched == len(g.events)
}

// onlyRefusals reports whether a round would carry only refusals, besides offers.
func (g *Generation) onlyRefusals() bool {
	return !g.fresh && g.refused > 0 && g.refused == len(g.events)
}

// Futile reports whether a round would carry only refusals, besides offers, and is too soon for
// that. A policy that repeats its decisions would be asked as often as it can answer, without
// effect. So the gap doubles with each such round, up to a bound. The first such round comes at
// once, and so does one with any other event.
func (x *Session) Futile(now scheduler.Time, gaps Gaps) bool {
	return x.current.onlyRefusals() && now < x.lastRound.Add(x.current.futileBackoff(gaps))
}

func (g *Generation) futileBackoff(gaps Gaps) time.Duration {
	gap := gaps.Any
	for i := 0; i < g.futileRounds && gap < gaps.Refused; i++ {
		gap = min(2*gap, gaps.Refused)
	}
	return gap
}

// Wake returns the time of the next check for a round without further input, because time passed or
// offers changed; false when there is none.
func (x *Session) Wake(gaps Gaps, offers bool) (at scheduler.Time, yes bool) {
	g := x.current
	if g == nil || x.inFlight {
		return 0, false
	}
	soonest := x.lastRound.Add(gaps.Any)
	switch {
	case !offers && g.onlyRefusals():
		at = x.lastRound.Add(g.futileBackoff(gaps))
	case g.onlyLaunches():
		at = x.lastRound.Add(max(gaps.Any, gaps.Launched))
	case offers || g.Wanted():
		return soonest, true
	case g.wakeAt == 0:
		return 0, false
	}
	if g.wakeAt != 0 {
		if due := max(soonest, g.wakeDue(gaps.Wake)); at == 0 || due < at {
			at = due
		}
	}
	return at, true
}

// WakeAt sets the time at which to wake the policy; 0: never.
func (g *Generation) WakeAt(at scheduler.Time) { g.wakeAt = at }

// Answers reports whether an answer is for the round in flight. Others are counted.
func (x *Session) Answers(generation, round uint64) bool {
	if x.current == nil || !x.inFlight || x.pending != nil || x.current.Number != generation || x.asked != round {
		x.dropped++
		return false
	}
	return true
}

// BeginAnswer begins to apply an answer: its bytes, and its decisions.
func (x *Session) BeginAnswer(data []byte, d scheduler.Decisions) {
	x.pending = &PendingAnswer{data: data, decisions: d}
}

// PendingAnswer returns the answer that is being applied; nil: none.
func (x *Session) PendingAnswer() *PendingAnswer { return x.pending }

// AnswerApplied ends the round in flight, because its answer was applied.
func (x *Session) AnswerApplied() { x.pending, x.inFlight = nil, false }

// code codes an answer that is being applied, by its received bytes.
func (d *PendingAnswer) code(w *checkpoint.Codec) {
	checkpoint.Blob(w, &d.data)
	for i := range d.applied {
		if i < int(scheduler.DecisionLaunch) || w.Format > 6 { // Reserve and Speculate came later
			checkpoint.Num(w, &d.applied[i])
		}
	}
	if w.Reading && w.Err == nil {
		var err error
		if d.decisions, err = schedwire.DecodeDecisions(d.data); err != nil {
			w.Fail(err)
		}
	}
}
