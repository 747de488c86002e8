package rounds

import (
	"github.com/hamadryad/hamadryad/engine/core/internal/policystate"
	"github.com/hamadryad/hamadryad/engine/core/internal/resources"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// aheadRoom returns what lists the room for launches ahead on a launcher; nil: the policy launches
// nothing ahead.
func (rs *Rounds) aheadRoom() func(*resources.Launcher) []scheduler.AheadRoom {
	if !rs.policy.Has(scheduler.AbilityAhead) {
		return nil
	}
	return func(l *resources.Launcher) []scheduler.AheadRoom {
		return rs.state.AheadRoom(l.ID, rs.step.Set.AheadMax)
	}
}

// Gaps returns the least times between rounds.
func Gaps(s *step.Settings) policystate.Gaps {
	return policystate.Gaps{Any: s.RoundGap, Launched: s.LaunchedGap, Refused: s.RefusedGapMax, Wake: s.WakeMin}
}

// StartRound returns a round for the policy, if there is one that is not thinking, enough time has
// passed, and there are events or offers to send; else nil.
func (rs *Rounds) StartRound() *step.AskPolicy {
	p := rs.policy
	gaps := Gaps(&rs.step.Set)
	if !p.Due(rs.step.Now, gaps) || !p.Current().Wanted() && !rs.resources.Offers.AnyChanged() {
		return nil
	}
	offers := rs.resources.Offers.Send(rs.step.Now, p.Current().Fresh(), rs.aheadRoom())
	if len(offers) == 0 && (!p.Current().Wanted() || p.Futile(rs.step.Now, gaps)) {
		return nil // the changes cancelled out
	}
	rs.step.Stats.Rounds++
	return &step.AskPolicy{Generation: p.Current().Number, Round: p.Ask(rs.step.Now, offers)}
}
