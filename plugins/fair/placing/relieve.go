package placing

import (
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/locality/placement"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// swapsTried bounds with how many other bundles of its job one that goes far is
// compared.
const swapsTried = 256

// relief chooses among bundles that cost the same. The flow takes any of them: it
// sees one round. But where a launcher has no work of its own left and takes that
// of others, it should be from those with most to do, because each of these will
// get to run fewer of its own in the rounds to come than it has.
type relief struct {
	a       *assignment
	waiting map[string]int // bundles that wait, by the hosts that hold input of them
	gone    map[scheduler.BundleID]bool
}

// relieve swaps bundles that go far for others of their job that cost as much
// there, and are held where more work waits.
func (a *assignment) relieve(placed []placement.Placement, plans []*plan, of map[scheduler.BundleID]*plan) {
	r := relief{a, map[string]int{}, map[scheduler.BundleID]bool{}}
	for _, x := range placed {
		r.gone[x.Bundle] = true
	}
	for _, p := range plans {
		for _, b := range p.offers {
			if of[b.ID] == p && len(b.Groups) == 1 && !r.gone[b.ID] {
				r.count(b, +1)
			}
		}
	}
	for i, x := range placed {
		b, l := a.View.Bundle(x.Bundle), a.View.Launcher(x.Launchers[0])
		if p := of[x.Bundle]; p != nil && len(b.Groups) == 1 && l != nil && nearBytes(l, &b.Groups[0])[scheduler.NodeLocal] == 0 {
			placed[i].Bundle = r.better(p, b, l).ID
		}
	}
}

// better picks the bundle to go to a launcher in the place of b, or b itself.
func (r *relief) better(p *plan, b *view.Bundle, l *view.Launcher) *view.Bundle {
	best, most := b, r.left(b)+1 // it would wait too
	bytes := nearBytes(l, &b.Groups[0])
	tried := 0
	for _, c := range p.offers {
		if r.gone[c.ID] || !alike(b, c) || slices.Contains(c.Avoid, l.ID) || nearBytes(l, &c.Groups[0]) != bytes {
			continue
		}
		if n := r.left(c); n > most {
			best, most = c, n
		}
		if tried++; tried == swapsTried {
			break
		}
	}
	if best != b {
		r.count(best, -1)
		r.count(b, +1)
		r.gone[best.ID] = true
		delete(r.gone, b.ID)
	}
	return best
}

// left is how much waits where least does of the hosts that hold a bundle's input.
func (r *relief) left(b *view.Bundle) int {
	least := 0
	for i, p := range b.Groups[0].Places {
		if n := r.waiting[p.Host]; i == 0 || n < least {
			least = n
		}
	}
	return least
}

func (r *relief) count(b *view.Bundle, by int) {
	for _, p := range b.Groups[0].Places {
		r.waiting[p.Host] += by
	}
}

// alike says whether two bundles are of one group and take and read as much.
func alike(b, c *view.Bundle) bool {
	if len(c.Groups) != 1 {
		return false
	}
	x, y := &b.Groups[0], &c.Groups[0]
	return x.Kind == y.Kind && x.Slots == y.Slots && x.Memory == y.Memory && x.InputBytes == y.InputBytes
}

// nearBytes is how much of a group's input is how near to a launcher.
func nearBytes(l *view.Launcher, g *scheduler.Group) (bytes [scheduler.LocalityLevels]int64) {
	for _, p := range g.Places {
		switch {
		case p.Host == l.Host:
			bytes[scheduler.NodeLocal] += p.Bytes
		case p.Rack != "" && p.Rack == l.Rack:
			bytes[scheduler.RackLocal] += p.Bytes
		}
	}
	return bytes
}
