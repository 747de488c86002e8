package rounds

import (
	"fmt"

	"github.com/hamadryad/hamadryad/engine/core/internal/resources"
	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// reserve makes, replaces or withdraws a reservation for a ready bundle, or refuses to.
func (rs *Rounds) reserve(d scheduler.Reserve) (scheduler.RefusalReason, string) {
	reservations := &rs.resources.Reservations
	if len(d.Launchers) == 0 {
		if !reservations.Withdraw(d.Bundle, scheduler.ReservationWithdrawn) {
			return scheduler.NothingGained, fmt.Sprintf("%v has no reservation to withdraw", d.Bundle)
		}
		return scheduler.NotRefused, ""
	}
	b, where, reason, why := rs.mayReserve(d)
	if reason != scheduler.NotRefused {
		return reason, why
	}
	if most := rs.step.Set.ReservationsMax; reservations.PlannedFor(d.Bundle) == nil && reservations.PlannedLen() >= most {
		return scheduler.LimitReached, fmt.Sprintf("the policy has %d reservations already, which is the most (reservationsMax): withdraw one", most)
	}
	r := resources.Reservation{
		ID: rs.ids.NextReservation(), Job: b.Job.ID, Bundle: d.Bundle, Expires: d.Until, Where: d.Launchers, Since: rs.step.Now,
	}
	for _, id := range d.Launchers {
		rs.dispatch.WithdrawAhead(rs.state.Launchers.Get(id), "what is free there is reserved")
	}
	k := reservations.Plan(r, b, where, rs.policy.Current().Policy)
	rs.step.SetTimer(d.Until.Sub(rs.step.Now), step.TimerReservation, k.ID)
	rs.events.NotifyReserved(b, k)
	return scheduler.NotRefused, ""
}

// mayReserve returns the bundle and launchers of a reservation, or why it is refused.
func (rs *Rounds) mayReserve(d scheduler.Reserve) (*state.Bundle, []*resources.Launcher, scheduler.RefusalReason, string) {
	b := rs.state.Bundles.Get(d.Bundle)
	switch {
	case b == nil || b.Last():
		return nil, nil, scheduler.UnknownID, fmt.Sprintf("%v is not there", d.Bundle)
	case b.Phase() != state.BundleReady:
		return nil, nil, scheduler.NotReady, fmt.Sprintf("%v of %s is %s", b.ID(), b.Job.ID, b.Phase())
	case b.Job.Phase() == state.JobEnding:
		return nil, nil, scheduler.NotReady, fmt.Sprintf("%s of %v ends", b.Job.ID, b.ID())
	case d.Until <= rs.step.Now:
		return nil, nil, scheduler.NothingGained, fmt.Sprintf("the reservation for %v would end at %d, and it is %d", b.ID(), d.Until, rs.step.Now)
	case !b.WithinUserLimit(scheduler.Usage{}):
		return nil, nil, scheduler.UserAtLimit, b.Job.User().Refusal(b.Usage())
	case len(d.Launchers) != b.Width():
		return nil, nil, scheduler.WrongShape, fmt.Sprintf("%v has %d groups and %d launchers were named", b.ID(), b.Width(), len(d.Launchers))
	}
	var where []*resources.Launcher
	for _, id := range d.Launchers {
		l := rs.state.Launchers.Get(id)
		if l == nil {
			return nil, nil, scheduler.UnknownID, fmt.Sprintf("launcher %d is not there", id)
		}
		if why := b.Unavailable(&l.Launcher); why != "" {
			return nil, nil, scheduler.LauncherUnavailable, fmt.Sprintf("launcher %d (%s) %s", id, l.Name, why)
		}
		where = append(where, &l.Launcher)
	}
	if why := rs.resources.Launchers.FitsEmptyOn(b, where); why != "" {
		return nil, nil, scheduler.NoCapacity, why
	}
	return b, where, scheduler.NotRefused, ""
}

func (rs *Rounds) applyReserve(list []scheduler.Reserve, i int) {
	reason, why := rs.reserve(list[i])
	o := rs.outcome(scheduler.DecisionReserve, i, reason, why)
	o.Reserve = list[i]
	rs.policy.Notify(o)
}

// NotifyEndedReservations tells the policy of the reservations that ended in this step.
func (rs *Rounds) NotifyEndedReservations() {
	for _, x := range rs.resources.Reservations.TakeEndedReservations() {
		if b := rs.state.Bundles.Get(x.Bundle); b != nil && b.Job.Phase() != state.JobEnding {
			rs.events.Notify(b, scheduler.ReservationEnded{At: rs.step.Now, Job: x.Job, Bundle: x.Bundle, End: x.End})
		}
	}
}
