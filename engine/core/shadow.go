package core

import (
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// ShadowStart is the state from which a policy follows the rounds of the deciding one. The log has
// nothing of such a policy, and the core does not know it.
type ShadowStart struct {
	Generation  uint64 // that decides; 0: none does
	Round       uint64 // the last one asked: the policy follows from the next one on
	Pending     int    // events that the next round begins with, and that the snapshot includes
	Snapshot    scheduler.Snapshot
	Environment scheduler.Environment
	Offers      []scheduler.Offer // of all launchers, ascending
}

// ShadowStart returns the state for a policy with a name. It may take a second, and is called once
// for a Frozen. With many tasks call it on a goroutine of its own.
func (f *Frozen) ShadowStart(policy string) ShadowStart {
	p := &f.core.state.Policy
	s := ShadowStart{Round: p.Asked(), Pending: p.Pending(), Environment: f.core.outbound.Events.Environment()}
	if g := p.Current(); g != nil {
		s.Generation = g.Number
	}
	s.Snapshot = f.core.Snapshot(policy)
	s.Offers = f.core.state.Resources.Offers.Send(f.core.state.Step.Now, true, nil)
	return s
}
