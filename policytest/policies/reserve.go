package policies

import (
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// Reserve launches the most urgent work, and reserves launchers for the first bundle that fits nowhere,
// for a while (setting wait; default 2 s). Later work goes on beside the reservation: it is backfilled.
// Nothing is preempted. Without reservations, small bundles would take each slot that a large one waits
// for.
func Reserve() scheduler.TaskScheduler {
	p := &base{about: scheduler.Description{Name: "reserve", Version: "1"}}
	p.decide = func(_ scheduler.Round, d *scheduler.Decisions) {
		jobs := p.byPriority()
		unfit := p.fill(jobs, d)
		if unfit == nil || !unfit.WithinUserLimit() || p.wait == 0 || p.limits.ReservationsMax == 0 || p.reserves(jobs) {
			return
		}
		if where := p.largeEnough(unfit); where != nil {
			d.Reserve = append(d.Reserve, scheduler.Reserve{Bundle: unfit.ID, Launchers: where, Until: p.Now().Add(p.wait)})
		}
	}
	return p
}

// reserves reports whether a ready bundle of the jobs has a reservation.
func (p *base) reserves(jobs []*view.Job) bool {
	for _, j := range jobs {
		for b := range j.Ready() {
			if b.ReservedUntil != 0 {
				return true
			}
		}
	}
	return false
}

// largeEnough places a bundle's groups on the first launchers that could hold them if they were
// empty. It returns nil when the cluster is too small.
func (p *base) largeEnough(b *view.Bundle) []scheduler.LauncherID {
	var where []scheduler.LauncherID
	for i := range b.Groups {
		at := slices.IndexFunc(p.Launchers(), func(l *view.Launcher) bool {
			return !l.Closed() && !slices.Contains(b.Avoid, l.ID) && holds(l, b, i, where)
		})
		if at < 0 {
			return nil
		}
		where = append(where, p.Launchers()[at].ID)
	}
	return where
}

// holds reports whether an empty launcher could hold a bundle's i-th group beside the groups before
// it that were placed there.
func holds(l *view.Launcher, b *view.Bundle, i int, placed []scheduler.LauncherID) bool {
	slots, memory, resources := b.Groups[i].Slots, b.Groups[i].Memory, b.Groups[i].Resources
	for n, at := range placed {
		if g := &b.Groups[n]; at == l.ID {
			memory, resources = memory+g.Memory, resources.Plus(g.Resources)
			if g.Kind == b.Groups[i].Kind {
				slots += g.Slots
			}
		}
	}
	return l.Total(b.Groups[i].Kind) >= slots && l.Memory >= memory && l.Resources.Covers(resources)
}
