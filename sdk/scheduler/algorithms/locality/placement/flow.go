package placement

import (
	"cmp"
	"math"
	"slices"
)

// flow is the network of the groups of one need: every group takes one unit of what a launcher has
// room for. Between changes it keeps a flow of least cost, and prices that prove it.
//
// A price is what one more unit at a launcher costs the others: the vertex's distance to the sink.
// Once solved, the invariants are those of complementary slackness:
//
//   - a launcher with idle units has price 0, and no price is negative;
//   - a seated group pays cost plus price where it sits, which is no more than it
//     would pay at any other launcher, and no more than staying out costs;
//   - a group that stays out would pay no less anywhere.
//
// Host, rack and cluster vertices need no price of their own: the least of their launchers' prices
// will do.
// launchers' will do.
type flow struct {
	t      *topology
	size   []int32   // units that a launcher has room for
	want   []int32   // size from the next solve on
	idle   []int32   // units without a group
	price  []int64   // by launcher
	seated [][]int32 // groups at each launcher

	rackPrice []int64 // the least of the rack's launchers that have size; never if none
	rackIdle  []int32
	idleAll   int
	rackTurn  []int32 // the search for an idle launcher of a rack continues here,
	turn      int32   // and in this rack, so that equal ones are taken in turn

	groups  []member
	unused  []int32    // numbers of removed groups
	hostIn  [][]arc    // groups with an edge to a host
	rackIn  [][]arc    // and to a rack
	picky   []int32    // groups that avoid launchers: they have an edge to each other launcher
	waiting []int32    // groups to be seated or left out by the next solve
	fresh   bool       // nothing has been solved yet
	classes []class    // of groups of which only some get a seat
	vacated []int32    // groups without a seat that choose has to examine again
	stale   []int32    // racks whose price must be updated
	search  *searching // scratch, of all flows of a network
}

// class is groups of which only some get a seat.
type class struct {
	left   int     // how many more may get a seat
	groups []int32 // all of them
}

// noClass is the class of a group without one.
const noClass = int32(-1)

// member is one group in a flow.
type member struct {
	edges
	class int32
	at    int32 // launcher, out, or undecided
	cost  int64 // of its seat
	out   int64 // of staying out
	// avoid lists launchers in order.
	avoid []int32
	live  bool
}

const (
	stayedOut = int32(-1)
	undecided = int32(-2)
	never     = math.MaxInt64 / 4
	unknown   = int64(-1)
)

func newFlow(t *topology, s *searching) *flow {
	n, racks := len(t.launchers), len(t.racks)
	f := &flow{
		t: t, search: s, fresh: true,
		size: make([]int32, n), want: make([]int32, n), idle: make([]int32, n), price: make([]int64, n), seated: make([][]int32, n),
		rackPrice: make([]int64, racks), rackIdle: make([]int32, racks), rackTurn: make([]int32, racks),
		hostIn: make([][]arc, len(t.hosts)), rackIn: make([][]arc, racks),
	}
	for r := range f.rackPrice {
		f.rackPrice[r] = never
	}
	return f
}

// addClass adds a class, of which at most so many groups get a seat, and returns its number.
func (f *flow) addClass(most int) int32 {
	f.classes = append(f.classes, class{left: most})
	return int32(len(f.classes) - 1)
}

// add adds a group and returns its number. A group with a class can't be removed.
func (f *flow) add(e edges, out int64, avoid []int32, of int32) int32 {
	m := member{edges: e, class: of, at: undecided, out: out, avoid: avoid, live: true}
	var g int32
	if n := len(f.unused); n > 0 {
		g, f.unused = f.unused[n-1], f.unused[:n-1]
		f.groups[g] = m
	} else {
		g = int32(len(f.groups))
		f.groups = append(f.groups, m)
	}
	f.waiting = append(f.waiting, g)
	if of != noClass {
		f.classes[of].groups = append(f.classes[of].groups, g)
	}
	if len(avoid) > 0 {
		f.picky = append(f.picky, g)
		return g
	}
	for _, a := range e.hosts {
		f.hostIn[a.to] = append(f.hostIn[a.to], arc{g, a.cost})
	}
	for _, a := range e.racks {
		f.rackIn[a.to] = append(f.rackIn[a.to], arc{g, a.cost})
	}
	return g
}

// remove removes a group. Its unit becomes idle.
func (f *flow) remove(g int32) {
	m := &f.groups[g]
	if m.at >= 0 {
		f.unseat(g)
	}
	same := func(x int32) bool { return x == g }
	if m.at == undecided {
		f.waiting = slices.DeleteFunc(f.waiting, same)
	}
	if len(m.avoid) > 0 {
		f.picky = slices.DeleteFunc(f.picky, same)
	} else {
		for _, a := range m.hosts {
			f.hostIn[a.to] = without(f.hostIn[a.to], g)
		}
		for _, a := range m.racks {
			f.rackIn[a.to] = without(f.rackIn[a.to], g)
		}
	}
	*m = member{at: undecided, class: noClass}
	f.unused = append(f.unused, g)
}

func without(list []arc, g int32) []arc {
	i := slices.IndexFunc(list, func(a arc) bool { return a.to == g })
	last := len(list) - 1
	list[i] = list[last]
	return list[:last]
}

// pays is what a decided group pays where it is.
func (f *flow) pays(m *member) int64 {
	if m.at >= 0 {
		return m.cost + f.price[m.at]
	}
	return m.out
}

// costAt is the least cost from a group to a launcher.
func (f *flow) costAt(m *member, l int32) int64 {
	s, c := f.t.launchers[l], m.far
	for _, a := range m.racks {
		if a.to == s.rack {
			c = min(c, a.cost)
		}
	}
	for _, a := range m.hosts {
		if a.to == s.host {
			c = min(c, a.cost)
		}
	}
	return c
}

func (m *member) avoids(l int32) bool {
	_, found := slices.BinarySearch(m.avoid, l)
	return found
}

func (f *flow) seat(g, l int32) {
	m := &f.groups[g]
	m.at, m.cost = l, f.costAt(m, l)
	f.seated[l] = append(f.seated[l], g)
	f.setIdle(l, -1)
}

func (f *flow) unseat(g int32) {
	m := &f.groups[g]
	l := m.at
	s := f.seated[l]
	i := slices.Index(s, g)
	s[i] = s[len(s)-1]
	f.seated[l] = s[:len(s)-1]
	m.at = stayedOut
	f.setIdle(l, 1)
}

func (f *flow) setIdle(l, by int32) {
	f.idle[l] += by
	f.rackIdle[f.t.launchers[l].rack] += by
	f.idleAll += int(by)
}

// touch records that a launcher's price or size changed, for refresh.
func (f *flow) touch(l int32) {
	if r := f.t.launchers[l].rack; f.rackPrice[r] != unknown {
		f.rackPrice[r] = unknown
		f.stale = append(f.stale, r)
	}
}

// refresh updates the prices of racks.
func (f *flow) refresh() {
	for _, r := range f.stale {
		f.rackPrice[r] = f.least(f.t.racks[r])
	}
	f.stale = f.stale[:0]
}

// least is the least price among launchers with units.
func (f *flow) least(launchers []int32) int64 {
	p := int64(never)
	for _, l := range launchers {
		if f.size[l] > 0 {
			p = min(p, f.price[l])
		}
	}
	return p
}

// clusterPrice is the least price of all.
func (f *flow) clusterPrice() int64 {
	if f.idleAll > 0 {
		return 0
	}
	return slices.Min(f.rackPrice)
}

// solve restores a flow of least cost after changes. It seats at most limit groups. If that is
// fewer than there are, or groups have classes, the flow must be fresh, and can't be used
// afterwards.
func (f *flow) solve(limit int) {
	for l := range f.want {
		if f.want[l] < f.size[l] {
			f.shrink(int32(l))
		}
	}
	room := 0
	for _, n := range f.want {
		room += int(n)
	}
	limited := limit < len(f.waiting) || len(f.classes) > 0
	if f.fresh && !limited && len(f.waiting) > room {
		// Slots are scarce: let each slot search for its group, not each group for a slot.
		f.leaveOut()
	}
	f.grow()
	for l := range f.idle {
		for f.idle[l] > 0 && f.price[l] > 0 && !f.search.over() && f.fill(int32(l)) {
			continue
		}
	}
	f.fresh = false
	if limited {
		f.choose(limit)
	} else {
		// Largest first: a later group then never displaces one whose move costs more than its own.
		// That keeps the searches short.
		slices.SortStableFunc(f.waiting, func(a, b int32) int { return cmp.Compare(f.groups[b].far, f.groups[a].far) })
		for _, g := range f.waiting {
			f.place(g)
		}
	}
	f.waiting = f.waiting[:0]
}

func (f *flow) leaveOut() {
	for _, g := range f.waiting {
		f.groups[g].at = stayedOut
	}
	f.waiting = f.waiting[:0]
}

// shrink removes units from a launcher: idle ones first, then those of the groups seated last,
// which become undecided.
func (f *flow) shrink(l int32) {
	for f.size[l] > f.want[l] {
		if f.idle[l] == 0 {
			g := f.seated[l][len(f.seated[l])-1]
			f.unseat(g)
			f.groups[g].at = undecided
			f.waiting = append(f.waiting, g)
		}
		f.size[l]--
		f.setIdle(l, -1)
	}
	if f.size[l] == 0 {
		f.price[l] = 0
	}
	f.touch(l)
}

// grow gives launchers the units that they want. A launcher that had none gets the least price at
// which no decided group would rather be there.
func (f *flow) grow() {
	var far int64
	var inRack []int64 // by rack; -1: not yet known
	known := false
	for l := range f.want {
		more := f.want[l] - f.size[l]
		if more <= 0 {
			continue
		}
		if f.size[l] == 0 && !known {
			known = true
			far = f.bestBid(func(yield func(arc)) {
				for g := range f.groups {
					if len(f.groups[g].avoid) == 0 {
						yield(arc{int32(g), f.groups[g].far})
					}
				}
			})
			inRack = make([]int64, len(f.t.racks))
			for r := range inRack {
				inRack[r] = -1
			}
		}
		if f.size[l] == 0 {
			f.price[l] = max(far, f.bids(int32(l), inRack))
		}
		f.size[l] = f.want[l]
		f.setIdle(int32(l), more)
		f.touch(int32(l))
	}
	f.refresh()
}

// bids is the most that a group near a launcher would pay to be there.
func (f *flow) bids(l int32, inRack []int64) int64 {
	s := f.t.launchers[l]
	if inRack[s.rack] < 0 {
		inRack[s.rack] = f.bestBid(func(yield func(arc)) { each(f.rackIn[s.rack], yield) })
	}
	best := max(inRack[s.rack], f.bestBid(func(yield func(arc)) { each(f.hostIn[s.host], yield) }))
	return max(best, f.bestBid(func(yield func(arc)) {
		for _, g := range f.picky {
			if m := &f.groups[g]; !m.avoids(l) {
				yield(arc{g, f.costAt(m, l)})
			}
		}
	}))
}

func each(list []arc, yield func(arc)) {
	for _, a := range list {
		yield(a)
	}
}

func (f *flow) bestBid(offers func(yield func(arc))) int64 {
	var best int64
	offers(func(a arc) {
		if m := &f.groups[a.to]; m.live && m.at != undecided {
			best = max(best, f.pays(m)-a.cost)
		}
	})
	return best
}
