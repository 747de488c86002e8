package policy

import (
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// Reserve keeps launchers for a ready bundle until a time, one for each group, and stops nothing. What is free there
// and what becomes free is kept for the bundle, so work behind it can use the other slots (backfilling). Without
// launchers it reserves those that the bundle would fit if nothing ran. While the reservation stands, view.Bundle.ReservedUntil
// is set. Launch the bundle when it fits: that ends the reservation. See scheduler.Reserve for how else it ends.
//
// It returns false, and decides nothing, if the bundle is not ready or was launched by this pass, if it fits on no
// launchers, if the time is past, or if the manager is too old for Reserve.
func (p *Pass[O, S]) Reserve(b *view.Bundle, until scheduler.Time, on ...scheduler.LauncherID) bool {
	if p.driver.env.Limits.ReservationsMax == 0 || p.beneficiary(b) != scheduler.NotRefused || until <= p.Now() {
		return false
	}
	if len(on) == 0 {
		on, _ = p.driver.view.FitIfEmpty(b)
	}
	if len(on) != len(b.Groups) {
		return false
	}
	p.decisions.Reserve = append(p.decisions.Reserve, scheduler.Reserve{Bundle: b.ID, Launchers: on, Until: until})
	return true
}

// Unreserve withdraws the reservation of Reserve. It returns false if there is none.
func (p *Pass[O, S]) Unreserve(b *view.Bundle) bool {
	if b.ReservedUntil == 0 {
		return false
	}
	p.decisions.Reserve = append(p.decisions.Reserve, scheduler.Reserve{Bundle: b.ID})
	return true
}
