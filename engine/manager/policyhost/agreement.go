package policyhost

import (
	"slices"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

const (
	// agreeRounds is how many rounds before the deciding policy a shadow may decide a launch for it
	// to count as the same.
	agreeRounds = 5
	// decidedMax bounds the remembered decisions of a shadow, of each kind.
	decidedMax = 100_000
)

// agreement compares the decisions of a shadow with those of the deciding policy. Launches are
// compared by bundle, and preemptions by attempt. A shadow that repeats a decision, because it had
// no effect, is counted once. Not safe for concurrent use.
//
// Rounds that were joined for the shadow are a sample: only the last one of them is compared, since
// the shadow decided on the same state as the deciding policy only there. What the deciding policy
// decided in the others counts neither way, and what the shadow decided before of the same bundle or
// attempt does not either.
type agreement struct {
	launches map[scheduler.BundleID]*shadowLaunch
	waiting  []scheduler.BundleID // of launches, in order of round: may become only the shadow's
	victims  map[scheduler.AttemptID]bool
	asked    uint64 // the last round that the shadow decided on, since it started; 0: none

	counts agreementCounts
}

// agreementCounts are the figures of PolicyShadow.
type agreementCounts struct {
	launches, same, sameRound, samePlace, only uint64
	victims, victimsSame, victimsOnly          uint64
}

// shadowLaunch is a launch that a shadow decided and that has not happened.
type shadowLaunch struct {
	round uint64 // that it was first decided in
	on    []scheduler.LauncherID
	only  bool // it is counted as the shadow's alone
}

func newAgreement() *agreement {
	return &agreement{launches: map[scheduler.BundleID]*shadowLaunch{}, victims: map[scheduler.AttemptID]bool{}}
}

// restarted forgets the decisions of a shadow that starts again. Its counts stay.
func (g *agreement) restarted() {
	g.asked = 0
	clear(g.launches)
	clear(g.victims)
	g.waiting = nil
}

// shadowDecided takes in the decisions of the shadow in a round of the deciding policy.
func (g *agreement) shadowDecided(round uint64, d *scheduler.Decisions) {
	g.asked = round
	for _, l := range d.Launch {
		if x := g.launches[l.Bundle]; x != nil {
			x.on = l.Launchers
			continue
		}
		if len(g.launches) < decidedMax {
			g.launches[l.Bundle] = &shadowLaunch{round: round, on: l.Launchers}
			g.waiting = append(g.waiting, l.Bundle)
		}
	}
	for _, p := range d.Preempt {
		for _, a := range p.Victims {
			if _, again := g.victims[a]; !again && len(g.victims) < decidedMax {
				g.victims[a] = true
				g.counts.victimsOnly++
			}
		}
	}
}

// happened takes in the events of the next round: the outcomes of the deciding policy's decisions,
// and what makes decisions of the shadow void.
func (g *agreement) happened(round uint64, events []scheduler.Event) {
	for _, e := range events {
		switch e := e.(type) {
		case scheduler.Outcome:
			switch {
			case !e.Accepted:
			case e.Round == g.asked: // a round's outcomes are in the next one
				g.carriedOut(&e)
			default:
				g.notCompared(&e)
			}
		case scheduler.BundleWithdrawn:
			g.void(e.Bundle)
		case scheduler.SpeculationWithdrawn:
			g.void(e.Bundle)
		case scheduler.AttemptEnded:
			delete(g.victims, e.Attempt)
		}
	}
	for len(g.waiting) > 0 {
		x := g.launches[g.waiting[0]]
		if x != nil && !x.only && x.round+agreeRounds >= round {
			return
		}
		if x != nil && !x.only {
			x.only = true
			g.counts.only++
		}
		g.waiting = g.waiting[1:]
	}
}

// carriedOut counts a decision of the deciding policy that had effect.
func (g *agreement) carriedOut(e *scheduler.Outcome) {
	switch e.Kind {
	case scheduler.DecisionLaunch:
		g.counts.launches++
		x := g.launches[e.Launch.Bundle]
		if x == nil {
			return
		}
		delete(g.launches, e.Launch.Bundle)
		if x.only {
			g.counts.only-- // it is one disagreement, not two
			return
		}
		g.counts.same++
		if x.round == e.Round {
			g.counts.sameRound++
		}
		if slices.Equal(x.on, e.Launch.Launchers) {
			g.counts.samePlace++
		}
	case scheduler.DecisionPreempt:
		for _, a := range e.Preempt.Victims {
			g.counts.victims++
			if g.victims[a] {
				delete(g.victims, a) // when suspended, it may be preempted again later
				g.counts.victimsOnly--
				g.counts.victimsSame++
			}
		}
	}
}

// notCompared forgets what the shadow decided of the same bundle or attempts, when the deciding
// policy decided it in a round that the shadow did not decide on. What has counted as the shadow's
// launch alone stays so: it is a few rounds later.
func (g *agreement) notCompared(e *scheduler.Outcome) {
	switch e.Kind {
	case scheduler.DecisionLaunch:
		delete(g.launches, e.Launch.Bundle)
	case scheduler.DecisionPreempt:
		for _, a := range e.Preempt.Victims {
			if g.victims[a] {
				delete(g.victims, a)
				g.counts.victimsOnly--
			}
		}
	}
}

// void ends a launch that can't happen any more.
func (g *agreement) void(b scheduler.BundleID) {
	if x := g.launches[b]; x != nil && !x.only {
		g.counts.only++
	}
	delete(g.launches, b)
}

// fill writes the counts into a reply.
func (c *agreementCounts) fill(r *wire.PolicyShadow) {
	r.Launches, r.Same, r.SameRound, r.SamePlace, r.Only = c.launches, c.same, c.sameRound, c.samePlace, c.only
	r.Victims, r.VictimsSame, r.VictimsOnly = c.victims, c.victimsSame, c.victimsOnly
}
