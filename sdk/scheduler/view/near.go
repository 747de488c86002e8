package view

import "github.com/hamadryad/hamadryad/sdk/scheduler"

// near caches the launchers on the hosts of a bundle's input: waiting bundles are examined again
// and again.
type near struct {
	of    *scheduler.Place // address of the first place, which changes with a new event
	built uint64           // of where
	on    []int32          // indices in the order of launchers
	open  uint64           // where.opened when one of them was last seen open
}

// near returns the launchers on the hosts of a bundle's places, in order of the places.
func (x *where) near(b *Bundle, of []scheduler.Place) *near {
	if len(of) == 0 {
		return &x.nowhere
	}
	x.freshen()
	if b.near == nil {
		b.near = &near{}
	}
	n := b.near
	if n.of != &of[0] || n.built != x.built {
		*n = near{of: &of[0], built: x.built, on: make([]int32, 0, len(of))}
		for _, p := range of {
			n.on = x.addOn(n.on, p.Host)
		}
	}
	return n
}

// hasOpen reports whether one of them is not closed.
func (x *where) hasOpen(n *near) bool {
	if n.open == x.opened && n.open != 0 {
		return true
	}
	for _, place := range n.on {
		if x.open(place) {
			n.open = x.opened
			return true
		}
	}
	return false
}

// nearJob caches the launchers on the hosts that hold a job's input, until the hosts change.
type nearJob struct {
	built uint64  // of where; 0: not cached
	on    []int32 // indices in the order of launchers; some may hold no input any more
}

// anyNear reports whether a launcher with a free slot of a kind is on one of a job's hosts.
func (x *where) anyNear(r *launchable, kind int) bool {
	x.freshen()
	n := r.nearJob()
	if n.built != x.built {
		*n = nearJob{built: x.built, on: make([]int32, 0, r.hostsMost())}
		for host := range r.hosts {
			n.on = x.addOn(n.on, host)
		}
	}
	for i := 0; i < len(n.on); {
		switch place := n.on[i]; {
		case !x.roomy(kind, place):
			i++
		case r.inputOn(x.list[place].Host):
			return true
		default: // its bundles were launched
			last := len(n.on) - 1
			n.on[i], n.on = n.on[last], n.on[:last]
		}
	}
	return false
}
