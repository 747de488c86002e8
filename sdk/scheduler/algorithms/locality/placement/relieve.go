package placement

import (
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// swapsTried bounds with how many bundles of the same stage a bundle far from its input is
// compared.
const swapsTried = 256

// relief chooses among bundles of a choice that cost the same. The flow sees one round and takes
// any of them. But a launcher without local work should take bundles from the hosts with most of
// it. These will be least able to run all their own in the coming rounds.
type relief struct {
	*choice
	waiting map[string]int // waiting bundles by the hosts that hold their input
	gone    map[scheduler.BundleID]bool
}

// relieve replaces bundles that go far by others of their choice that cost as much there, and whose
// hosts have more waiting work.
func (p *plan) relieve() {
	for _, c := range p.choices {
		r := relief{c, map[string]int{}, map[scheduler.BundleID]bool{}}
		for _, x := range c.items {
			r.gone[x.bundle.ID] = !x.out()
		}
		for _, b := range c.bundles {
			if !r.gone[b.ID] {
				r.count(b, +1)
			}
		}
		for _, x := range c.items {
			if x.out() {
				continue
			}
			if l := p.View.Launcher(x.where[0]); nearBytes(l, &x.bundle.Groups[0])[scheduler.NodeLocal] == 0 {
				x.bundle = r.better(x.bundle, l)
			}
		}
	}
}

// better returns the bundle that should go to a launcher in place of b, or b itself.
func (r *relief) better(b *view.Bundle, l *view.Launcher) *view.Bundle {
	best, most := b, r.left(b)+1 // b would wait too
	bytes := nearBytes(l, &b.Groups[0])
	tried := 0
	for _, c := range r.bundles {
		if r.gone[c.ID] || c.Groups[0].InputBytes != b.Groups[0].InputBytes || slices.Contains(c.Avoid, l.ID) || nearBytes(l, &c.Groups[0]) != bytes {
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

// left is the least amount of waiting work among the hosts that hold a bundle's input.
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

// nearBytes is how many bytes of a group's input lie at each level of locality from a launcher.
func nearBytes(l *view.Launcher, g *scheduler.Group) (bytes [scheduler.LocalityLevels]int64) {
	for i, p := range g.Places {
		switch {
		case p.Host == l.Host:
			bytes[scheduler.NodeLocal] += bytesAt(g, i)
		case p.Rack != "" && p.Rack == l.Rack:
			bytes[scheduler.RackLocal] += bytesAt(g, i)
		}
	}
	return bytes
}
