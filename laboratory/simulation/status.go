package simulation

import "context"

// askStatus asks the policy for its status, and plans the next question. It is no event of the
// loop: a run is the same whether somebody asks or not.
func (p *player) askStatus(ctx context.Context) {
	now := p.since(p.Now())
	s, decides, err := p.policy.Status(ctx)
	if decides {
		p.options.Status(now, s, err)
	}
	every := DefaultStatusEvery
	if p.options.StatusEvery != nil {
		every = p.options.StatusEvery()
	}
	p.asked = now + every
}
