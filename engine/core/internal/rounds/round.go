package rounds

import (
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
)

// StartRound returns a round for the policy, if there is one that is not thinking, enough
// time has passed, and there is something to tell; else nil.
func (ds *Rounds) StartRound() *step.AskPolicy {
	p := ds.policy
	if !p.Due(ds.step.Now, ds.step.Set.RoundGap) || !p.Wanted() && !ds.resources.AnyOfferChanged() {
		return nil
	}
	offers := ds.resources.Offers(p.Fresh())
	if len(offers) == 0 && (!p.Wanted() || p.Futile(ds.step.Now, ds.step.Set.RoundGap, ds.step.Set.RefusedGapMax)) {
		return nil // what changed came back to what it was
	}
	ds.step.Stats.Rounds++
	return &step.AskPolicy{Generation: p.Current().Number, Round: p.Ask(ds.step.Now, offers)}
}
