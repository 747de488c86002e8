package placement

import (
	"fmt"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// room is a launcher's slots of a kind.
type room struct {
	on   scheduler.LauncherID
	kind scheduler.SlotKind
}

// giveBack returns the slots of launches to the view. It returns how many slots of each launcher
// the launches may use: theirs, and the free slots that the policy leaves.
func (p *plan) giveBack(items []*item) map[room]int {
	most := map[room]int{}
	for _, x := range items {
		for i, id := range x.where {
			most[room{id, x.bundle.Groups[i].Kind}] += x.bundle.Groups[i].Slots
		}
	}
	if p.Spare != nil {
		for _, kind := range kindsOf(items) {
			for l := range p.View.Capacity.WithRoom(kind) {
				most[room{l.ID, kind}] += max(p.Spare(l, kind), 0)
			}
		}
	}
	for _, x := range items {
		for i, id := range x.where {
			g := &x.bundle.Groups[i]
			p.View.Capacity.AddRoom(p.View.Launcher(id), g)
		}
	}
	return most
}

// take takes the planned slots and memory of launches, or returns false.
func (p *plan) take(items []*item) bool {
	for _, x := range items {
		for i, id := range x.where {
			if !p.View.Capacity.TakeFor(p.View.Launcher(id), x.bundle, &x.bundle.Groups[i]) {
				return false
			}
		}
	}
	return true
}

func kindsOf(items []*item) (kinds []scheduler.SlotKind) {
	for _, x := range items {
		for i := range x.bundle.Groups {
			if k := x.bundle.Groups[i].Kind; !slices.Contains(kinds, k) {
				kinds = append(kinds, k)
			}
		}
	}
	slices.Sort(kinds)
	return kinds
}

// network builds the network of the launches, the bundles that could replace theirs, and the
// launchers that count. It returns nil if there are too many.
func (p *plan) network(items []*item, most map[room]int) *Network {
	o := p.Options
	if o.StepsMax > 0 {
		o.StepsMax = p.stepsLeft
	}
	n, err := New(o)
	if err != nil {
		p.report.Over = err.Error() // a policy checks its settings before
		return nil
	}
	chosen := map[*choice]bool{}
	for _, x := range items {
		if c := x.class; c != nil && !chosen[c] {
			chosen[c] = true
			n.SetClass(c.number, len(c.items))
		}
	}
	near := nearby{hosts: map[string]bool{}, racks: map[string]bool{}, used: map[scheduler.LauncherID]bool{}}
	add := func(b *view.Bundle, x *item) {
		_ = n.SetBundle(p.forNetwork(b, x)) // the manager's data is valid
		near.add(b)
	}
	for _, x := range items {
		add(x.bundle, x)
		for _, id := range x.where {
			near.used[id] = true
		}
	}
	for _, c := range p.choices {
		for _, b := range c.bundles {
			if chosen[c] {
				add(b, c.items[0])
			}
		}
	}
	if !p.launchers(n, items, &near, most) {
		return nil
	}
	return n
}

// forNetwork converts a bundle for the network. Leaving out a bundle of one group costs as much as
// its longest way. So of a choice those bundles start that save most, not those with the least
// input.
func (p *plan) forNetwork(b *view.Bundle, like *item) Bundle {
	x := Bundle{ID: b.ID, Groups: sized(b.Groups), Avoid: b.Avoid, Levels: like.levels}
	far := int64(0)
	for i := range x.Groups {
		far += p.costs().far(&x.Groups[i])
	}
	switch {
	case like.optional: // waiting costs as much as a remote launcher
		x.Unscheduled = max(far/int64(len(b.Groups)), 1)
	case len(b.Groups) == 1:
		x.Unscheduled = leftOutCost + far
	}
	if like.class != nil {
		x.Class = like.class.number
	}
	return x
}

// costs are the network's costs.
func (p *plan) costs() Costs {
	if p.Options.Costs == (Costs{}) {
		return DefaultCosts()
	}
	return p.Options.Costs
}

// far is the cost of a group that is remote from all of its input.
func (c Costs) far(g *scheduler.Group) int64 {
	return weigh(Costs{0, 0, min(inputOf(g), costMax)}, c)
}

// sized returns groups with places of unknown size counted as one byte.
func sized(groups []scheduler.Group) []scheduler.Group {
	unknown := func(p scheduler.Place) bool { return p.Bytes <= 0 }
	if !slices.ContainsFunc(groups, func(g scheduler.Group) bool { return slices.ContainsFunc(g.Places, unknown) }) {
		return groups
	}
	groups = slices.Clone(groups)
	for i := range groups {
		g := &groups[i]
		g.Places = slices.Clone(g.Places)
		for k := range g.Places {
			g.Places[k].Bytes = bytesAt(g, k)
		}
	}
	return groups
}

// nearby decides which launchers count: those with launches, and those on the hosts and in the
// racks of input. All other launchers are equally far from the input, and the launchers with
// launches have room for all. Only a bundle that avoids launchers may need one of the others.
type nearby struct {
	hosts, racks map[string]bool
	used         map[scheduler.LauncherID]bool
	avoiding     []*view.Bundle
}

// counts says whether a launcher counts. For each bundle that avoids launchers, one further
// launcher counts.
func (x *nearby) counts(l *view.Launcher) bool {
	if x.used[l.ID] || x.hosts[l.Host] || x.racks[l.Rack] {
		return true
	}
	i := slices.IndexFunc(x.avoiding, func(b *view.Bundle) bool { return !slices.Contains(b.Avoid, l.ID) })
	if i < 0 {
		return false
	}
	x.avoiding = slices.Delete(x.avoiding, i, i+1)
	return true
}

func (x *nearby) add(b *view.Bundle) {
	if len(b.Avoid) > 0 {
		x.avoiding = append(x.avoiding, b)
	}
	for i := range b.Groups {
		for _, place := range b.Groups[i].Places {
			x.hosts[place.Host] = true
			if place.Rack != "" {
				x.racks[place.Rack] = true
			}
		}
	}
}

// launchers adds the launchers that count to a network, or returns false if there are too many.
func (p *plan) launchers(n *Network, items []*item, near *nearby, most map[room]int) bool {
	kinds := kindsOf(items)
	told := map[scheduler.LauncherID]bool{}
	for _, kind := range kinds {
		for l := range p.View.Capacity.WithRoom(kind) {
			if told[l.ID] || !near.counts(l) {
				continue
			}
			if len(told) == p.LaunchersMax {
				p.report.Over = fmt.Sprintf("more launchers have room than launchers-max (%d)", p.LaunchersMax)
				return false
			}
			told[l.ID] = true
			_ = n.SetLauncher(p.forLauncher(l, kinds, most)) // what is free is never negative
		}
	}
	return true
}

// forLauncher converts a launcher, with its free slots and memory, for the network.
func (p *plan) forLauncher(l *view.Launcher, kinds []scheduler.SlotKind, most map[room]int) Launcher {
	x := Launcher{ID: l.ID, Host: l.Host, Rack: l.Rack}
	for _, kind := range kinds {
		free, memory := p.View.Capacity.Room(l, 0, kind)
		if p.Spare != nil {
			free = min(free, most[room{l.ID, kind}])
		}
		x.Free = append(x.Free, scheduler.SlotCount{Kind: kind, Count: min(max(free, 0), slotsMax)})
		x.Memory = max(memory, 0)
	}
	x.Resources = p.View.Capacity.RoomResources(l, nil).Positive()
	return x
}
