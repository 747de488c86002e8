package locality

import (
	"iter"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// MissesMax bounds how many bundles of a job that do not fit one pass tries.
const MissesMax = 32

// FitFunc finds launchers for a bundle and takes their room, as view.View.Fit does.
type FitFunc func(*view.Bundle) ([]scheduler.LauncherID, bool)

// Fit finds launchers for a bundle that may go to any launcher: the nearest ones or, with Blind
// settings, any.
func (s *Settings) Fit(v *view.View, b *view.Bundle) ([]scheduler.LauncherID, bool) {
	if s.Blind() {
		return v.FitAnywhere(b)
	}
	return v.Fit(b)
}

// Pass launches ready bundles of one job that need one kind of slot, in the order in which a policy
// serves the job. Near and Each try some of the bundles; a policy calls Near first, then Each.
type Pass struct {
	View *view.View
	Job  *view.Job
	Kind scheduler.SlotKind
	// Full says that the job may have no more slots now, or that no slot is free for it.
	Full func() bool
	// LeaveFull makes Near leave a launcher once no slot there is free or reserved for the job,
	// without trying its other bundles. It saves time. It requires that Full does not change on a
	// launcher, May has no effects, and no slot is reserved for one bundle alone.
	LeaveFull bool
	// Seconds makes Near try bundles that are offered for a second attempt too, in order of id.
	Seconds bool
	// May says whether a bundle may start now. Nil: all may.
	May func(*view.Bundle) bool
	// Launch is called for each bundle that starts, after its slots and memory were taken.
	Launch func(b *view.Bundle, where []scheduler.LauncherID)
}

// Open says whether a slot of the kind is free, or reserved for the job.
func (p *Pass) Open() bool {
	return p.View.Capacity.FreeSlots(p.Kind) > 0 || p.View.Capacity.Reserved(p.Job.ID())
}

// Near launches bundles on launchers that hold their input and, if level allows it, in racks that
// hold it.
func (p *Pass) Near(level scheduler.Locality) {
	launchers, racks := p.View.NearRoom(p.Job, p.Kind)
	for _, l := range launchers {
		full := p.Full
		if p.LeaveFull {
			full = func() bool { slots, _ := p.View.Capacity.Room(l, p.Job.ID(), p.Kind); return slots <= 0 }
		}
		p.each(p.bundles(p.Job.ReadyAt(l.Host), p.Job.LaunchableAt(l.Host)), full, func(b *view.Bundle) ([]scheduler.LauncherID, bool) { return p.View.FitOn(l, b) })
	}
	if level == scheduler.NodeLocal {
		return
	}
	for _, rack := range racks {
		p.Each(p.bundles(p.Job.ReadyIn(rack), p.Job.LaunchableIn(rack)), func(b *view.Bundle) ([]scheduler.LauncherID, bool) {
			return p.View.FitNear(b, scheduler.RackLocal)
		})
	}
}

// bundles returns those that Near tries.
func (p *Pass) bundles(ready iter.Seq[*view.Bundle], launchable view.Walk) iter.Seq[*view.Bundle] {
	if p.Seconds {
		return launchable.All()
	}
	return ready
}

// Each launches the bundles that may start and fit, until the job is Full or MissesMax of them did
// not fit.
func (p *Pass) Each(bundles iter.Seq[*view.Bundle], fit FitFunc) { p.each(bundles, p.Full, fit) }

func (p *Pass) each(bundles iter.Seq[*view.Bundle], full func() bool, fit FitFunc) {
	misses := 0
	for b := range bundles {
		if misses == MissesMax || full() {
			return
		}
		if p.May == nil || p.May(b) {
			if where, ok := fit(b); ok {
				p.Launch(b, where)
				continue
			}
		}
		misses++
	}
}
