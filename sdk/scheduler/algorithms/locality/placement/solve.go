package placement

import (
	"cmp"
	"math"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// need is the groups with the same need, and their flow.
type need struct {
	kind   scheduler.SlotKind
	slots  int
	memory int64
	// resources are what each group takes of countable resources.
	resources scheduler.Resources
	flow      *flow
	groups    int

	classes map[int]int32 // the flow's number of each class
}

// before orders needs: more slots first, then more memory.
func (a *need) before(b *need) int {
	return cmp.Or(cmp.Compare(b.slots, a.slots), cmp.Compare(b.memory, a.memory), cmp.Compare(a.kind, b.kind), byResources(a.resources, b.resources))
}

// byResources is some fixed order of resources.
func byResources(a, b scheduler.Resources) int {
	if a == b {
		return 0
	}
	return cmp.Compare(a.String(), b.String())
}

// Solve returns where bundles go: at most limit groups, 0 for no limit. It changes only the state
// from which the next Solve starts. Placed bundles stay in the network until Launched or
// RemoveBundle is called for them.
//
// Without a limit, a Solve costs what changed since the last. With a limit below the number of
// groups it starts from nothing, and takes time in proportion to the limit and the groups that
// compete.
func (n *Network) Solve(limit int) Result {
	limited := limit > 0 && limit < n.groups
	if !limited {
		limit = math.MaxInt
	}
	limited = limited || len(n.classes) > 0
	if n.t == nil || limited {
		n.build()
	}
	n.recall()
	n.place(limit, limited)
	if n.options.NeighbourBytes > 0 && n.draw() {
		n.place(limit, limited)
	}
	if n.search.over() {
		n.t = nil
		return Result{Over: true}
	}
	r := n.result()
	if limited {
		n.t = nil
	}
	return r
}

// build rebuilds the flows.
func (n *Network) build() {
	if n.places == nil {
		n.places = newTopology(n.launchers)
	}
	n.t, n.needs = n.places, nil
	n.search = newSearch(n.t, n.options.StepsMax)
	for _, b := range n.bundles {
		b.seats, b.anchor, b.first = nil, nil, false
		n.enter(b)
	}
}

// enter adds a bundle's groups to their flows.
func (n *Network) enter(b *bundle) {
	var avoid []int32
	for _, id := range b.Avoid {
		if l, ok := n.t.index[id]; ok {
			avoid = append(avoid, l)
		}
	}
	slices.Sort(avoid)
	out := b.Unscheduled
	if out == 0 {
		out = unscheduledCost
	}
	if b.first {
		out += unscheduledCost
	}
	b.seats = make([]seat, len(b.Groups))
	for i := range b.Groups {
		g := &b.Groups[i]
		nd := n.need(g)
		nd.groups++
		e := n.t.edges(g, b.anchor, n.options.Costs, b.Levels)
		b.seats[i] = seat{nd, nd.flow.add(e, out, avoid, n.classOf(nd, b.Class))}
	}
}

// classOf returns the number of a class in a flow.
func (n *Network) classOf(nd *need, id int) int32 {
	most, known := n.classes[id]
	if id == 0 || !known {
		return noClass
	}
	number, known := nd.classes[id]
	if !known {
		number = nd.flow.addClass(most)
		if nd.classes == nil {
			nd.classes = map[int]int32{}
		}
		nd.classes[id] = number
	}
	return number
}

// exit removes a bundle's groups from their flows.
func (n *Network) exit(b *bundle) {
	if n.t != nil {
		for _, s := range b.seats {
			s.need.flow.remove(s.group)
			s.need.groups--
		}
	}
	b.seats = nil
}

func (n *Network) need(g *scheduler.Group) *need {
	want := &need{kind: g.Kind, slots: g.Slots, memory: g.Memory, resources: g.Resources}
	i, found := slices.BinarySearchFunc(n.needs, want, (*need).before)
	if !found {
		want.flow = newFlow(n.t, n.search)
		n.needs = slices.Insert(n.needs, i, want)
	}
	return n.needs[i]
}

// flows solves one need after another, each on what the earlier ones leave.
func (n *Network) flows(limit int) {
	n.needs = slices.DeleteFunc(n.needs, func(nd *need) bool { return nd.groups == 0 })
	n.room()
	for _, nd := range n.needs {
		f, free := nd.flow, n.free[nd.kind]
		for l := range f.want {
			f.want[l] = 0
			if free != nil {
				f.want[l] = free[l] / int32(nd.slots)
			}
			if nd.memory > 0 {
				f.want[l] = int32(min(int64(f.want[l]), n.memory[l]/nd.memory))
			}
			for _, c := range nd.resources.Counts() {
				f.want[l] = min(f.want[l], int32(n.resources[l].Of(c.Kind)/c.Count)) //nolint:gosec // it is bounded by scheduler.ResourceCountMax
			}
		}
		f.solve(limit)
		for l, seated := range f.seated {
			if k := len(seated); k > 0 {
				free[l] -= int32(k * nd.slots)
				n.memory[l] -= int64(k) * nd.memory
				n.resources[l] = n.resources[l].Minus(nd.resources.Times(k))
				limit -= k
			}
		}
	}
}

// room computes the free slots and memory of all launchers.
func (n *Network) room() {
	n.free = map[scheduler.SlotKind][]int32{}
	n.memory = make([]int64, len(n.launchers))
	n.resources = make([]scheduler.Resources, len(n.launchers))
	for i, l := range n.launchers {
		n.memory[i], n.resources[i] = l.Memory, l.Resources
		for _, s := range l.Free {
			if n.free[s.Kind] == nil {
				n.free[s.Kind] = make([]int32, len(n.launchers))
			}
			n.free[s.Kind][i] = int32(s.Count)
		}
	}
}

func (n *Network) result() Result {
	var r Result
	for _, b := range n.bundles {
		if b.seated() < len(b.Groups) {
			continue
		}
		p := Placement{Bundle: b.ID, Launchers: make([]scheduler.LauncherID, len(b.seats))}
		for i, s := range b.seats {
			m := &s.need.flow.groups[s.group]
			p.Launchers[i] = n.launchers[m.at].ID
			if b.anchor == nil {
				p.Cost += m.cost
				continue
			}
			plain := member{edges: n.t.edges(&b.Groups[i], nil, n.options.Costs, b.Levels)}
			p.Cost += s.need.flow.costAt(&plain, m.at)
		}
		r.Placed = append(r.Placed, p)
		r.Groups += len(b.seats)
		r.Cost += p.Cost
	}
	return r
}

// seated counts the bundle's groups that the flows have seated.
func (b *bundle) seated() int {
	k := 0
	for _, s := range b.seats {
		if s.need.flow.groups[s.group].at >= 0 {
			k++
		}
	}
	return k
}
