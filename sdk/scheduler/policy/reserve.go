package policy

import (
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// Reserve keeps launchers for a ready bundle until a time, one for each group, and stops nothing. What is free there
// and what becomes free is kept for the bundle, so work behind it can use the other slots (backfilling). Without
// launchers it reserves those that the bundle would fit if nothing ran. While the reservation stands, view.Bundle.ReservedUntil
// is set. Launch the bundle when it fits: that ends the reservation. See scheduler.Reserve for how else it ends.
//
// It returns false, and decides nothing, if the bundle is not ready or was launched by this pass, if its user is at the
// limit (view.Bundle.WithinUserLimit), if it fits on no launchers, if the time is past, if there are Limits.ReservationsMax reservations, or if the manager is too old for
// Reserve. A second Reserve for a bundle replaces the first. The pass drops a reservation if launches after it bring its
// user to the limit.
func (p *Pass[O, S]) Reserve(b *view.Bundle, until scheduler.Time, on ...scheduler.LauncherID) bool {
	most := p.driver.env.Limits.ReservationsMax
	if most == 0 || p.beneficiary(b) != scheduler.NotRefused || until <= p.Now() || !b.WithinUserLimit() {
		return false
	}
	if reserved := p.reservations(); !reserved[b.ID] && len(reserved) >= most {
		return false
	}
	if len(on) == 0 {
		on, _ = p.driver.view.FitIfEmpty(b)
	}
	if len(on) != len(b.Groups) {
		return false
	}
	p.reserved[b.ID] = true
	p.decisions.Reserve = append(p.decisions.Reserve, scheduler.Reserve{Bundle: b.ID, Launchers: on, Until: until})
	return true
}

// reservations returns the bundles that have a reservation when this pass's decisions so far are carried out, and those
// whose reservation a launch of this pass ends. So there may be fewer than it says, and never more.
func (p *Pass[O, S]) reservations() map[scheduler.BundleID]bool {
	if p.reserved == nil {
		p.reserved = map[scheduler.BundleID]bool{}
		for b := range p.driver.view.Ready() {
			if b.ReservedUntil != 0 {
				p.reserved[b.ID] = true
			}
		}
	}
	return p.reserved
}

// dropReservations drops those of the pass's reservations whose bundles its launches leave beyond their user's limit: the
// manager applies launches first.
func (p *Pass[O, S]) dropReservations() {
	p.decisions.Reserve = slices.DeleteFunc(p.decisions.Reserve, func(r scheduler.Reserve) bool {
		b := p.driver.view.Bundle(r.Bundle)
		return len(r.Launchers) > 0 && b != nil && !b.WithinUserLimit()
	})
}

// Unreserve withdraws the reservation of Reserve. It returns false if there is none.
func (p *Pass[O, S]) Unreserve(b *view.Bundle) bool {
	if !p.reservations()[b.ID] {
		return false
	}
	delete(p.reserved, b.ID)
	p.decisions.Reserve = append(p.decisions.Reserve, scheduler.Reserve{Bundle: b.ID})
	return true
}
