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

// Due reports whether a round may start now: the deciding policy is not thinking, and enough time
// has passed since the last round. A policy that asked to be woken by now gets TimePassed, unless its
// last wake-up was less than wakeMin ago.
func (x *Session) Due(now scheduler.Time, gap, wakeMin time.Duration) bool {
	g := x.current
	if g == nil || x.inFlight || now < x.lastRound.Add(gap) {
		return false
	}
	if g.wakeAt != 0 && now >= g.wakeDue(wakeMin) {
		g.wakeAt, g.lastWake = 0, now
		x.Notify(scheduler.TimePassed{At: now})
	}
	return true
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
	g.events, g.notes, g.refused, g.fresh = make([]scheduler.Event, 0, min(len(g.events), usualMax)), 0, 0, false
	return r
}

// Asked is the number of the round in flight, or of the last one.
func (x *Session) Asked() uint64 { return x.asked }

// Refused records that the next outcome is a refusal.
func (g *Generation) Refused() { g.refused++ }

// onlyRefusals reports whether a round would carry only refusals, besides offers.
func (g *Generation) onlyRefusals() bool {
	return !g.fresh && g.refused > 0 && g.refused == len(g.events)
}

// Futile reports whether a round would carry only refusals, besides offers, and is too soon for
// that. A policy that repeats its decisions would be asked as often as it can answer, without
// effect. So the gap doubles with each such round, up to a bound. The first such round comes at
// once, and so does one with any other event.
func (x *Session) Futile(now scheduler.Time, gap, gapMax time.Duration) bool {
	return x.current.onlyRefusals() && now < x.lastRound.Add(x.current.futileBackoff(gap, gapMax))
}

func (g *Generation) futileBackoff(gap, gapMax time.Duration) time.Duration {
	for i := 0; i < g.futileRounds && gap < gapMax; i++ {
		gap = min(2*gap, gapMax)
	}
	return gap
}

// Wake returns the time of the next check for a round without further input, because time passed or
// offers changed; false when there is none. gap is that between two rounds, and gapMax its bound
// while rounds carry only refusals. wakeMin is the least time between two wake-ups.
func (x *Session) Wake(gap, gapMax, wakeMin time.Duration, offers bool) (at scheduler.Time, yes bool) {
	g := x.current
	if g == nil || x.inFlight {
		return 0, false
	}
	soonest := x.lastRound.Add(gap)
	switch {
	case !offers && g.onlyRefusals():
		at := x.lastRound.Add(g.futileBackoff(gap, gapMax))
		if g.wakeAt != 0 {
			at = min(at, max(soonest, g.wakeDue(wakeMin)))
		}
		return at, true
	case offers || g.Wanted():
		return soonest, true
	case g.wakeAt != 0:
		return max(soonest, g.wakeDue(wakeMin)), true
	}
	return 0, false
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
