package core

// startRound returns a round for the policy, if there is one that is not thinking, enough
// time has passed, and there is something to tell; else nil.
func (c *Core) startRound() *AskPolicy {
	p := &c.policy
	if !p.Due(c.step.Now, c.step.Set.RoundGap) || !p.Wanted() && !c.capacity.AnyChanged() {
		return nil
	}
	offers := c.capacity.Offers(p.Fresh())
	if len(offers) == 0 && (!p.Wanted() || p.Vain(c.step.Now, c.step.Set.RoundGap, c.step.Set.RefusedGapMax)) {
		return nil // what changed came back to what it was
	}
	c.step.Stats.Rounds++
	return &AskPolicy{Generation: p.Current().Number, Round: p.Ask(c.step.Now, offers)}
}
