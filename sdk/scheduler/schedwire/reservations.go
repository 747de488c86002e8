package schedwire

import "github.com/hamadryad/hamadryad/sdk/scheduler"

func (c *BundleReserved) add(e *scheduler.BundleReserved) {
	c.Job, c.Bundle, c.Until = append(c.Job, uint64(e.Job)), append(c.Bundle, uint64(e.Bundle)), append(c.Until, int64(e.Until))
	addIDs(&c.Launchers, e.Launchers)
}

func (c *BundleReserved) check(r *reader, n int) idRows[scheduler.LauncherID] {
	r.same("bundle reserved", n, len(c.GetJob()), len(c.GetBundle()), len(c.GetUntil()))
	return readIDs(r, "bundle reserved", n, c.GetLaunchers(), &r.mem.launchers)
}

func (c *BundleReserved) row(i int, at scheduler.Time, on []scheduler.LauncherID) scheduler.BundleReserved {
	return scheduler.BundleReserved{At: at, Job: scheduler.JobID(c.Job[i]), Bundle: scheduler.BundleID(c.Bundle[i]), Launchers: on, Until: scheduler.Time(c.Until[i])}
}

func (c *ReservationEnded) add(w *writer, e *scheduler.ReservationEnded) {
	c.Job, c.Bundle = append(c.Job, uint64(e.Job)), append(c.Bundle, uint64(e.Bundle))
	c.End = append(c.End, ReservationEnd(checked(w, "end of a reservation", e.End, scheduler.ReservationUsed, scheduler.ReservationPolicyChanged)))
}

func (c *ReservationEnded) check(r *reader, n int) {
	r.same("reservation ended", n, len(c.GetJob()), len(c.GetBundle()), len(c.GetEnd()))
}

func (c *ReservationEnded) row(r *reader, i int, at scheduler.Time) scheduler.ReservationEnded {
	return scheduler.ReservationEnded{
		At: at, Job: scheduler.JobID(c.Job[i]), Bundle: scheduler.BundleID(c.Bundle[i]),
		End: scheduler.ReservationEnd(known(r, "end of a reservation", c.End[i], ReservationEnd_RESERVATION_END_USED, ReservationEnd_RESERVATION_END_POLICY_CHANGED)),
	}
}
