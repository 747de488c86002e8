package placement

import (
	"math/bits"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// topology is the hosts and racks of launchers, as numbers. It does not change while flows use it:
// when a launcher moves, a new topology is built.
type topology struct {
	index     map[scheduler.LauncherID]int32
	launchers []spot
	hosts     [][]int32 // launchers of each host
	racks     [][]int32 // launchers of each rack; racks[0] has those without one
	hostIndex map[string]int32
	rackIndex map[string]int32
	rackNames []string
}

type spot struct{ host, rack int32 }

func newTopology(launchers []*launcher) *topology {
	t := &topology{
		index: map[scheduler.LauncherID]int32{}, hostIndex: map[string]int32{},
		rackIndex: map[string]int32{"": 0}, racks: [][]int32{nil}, rackNames: []string{""},
	}
	for i, l := range launchers {
		h, r := number(t.hostIndex, l.Host, &t.hosts), number(t.rackIndex, l.Rack, &t.racks)
		if int(r) == len(t.rackNames) {
			t.rackNames = append(t.rackNames, l.Rack)
		}
		t.index[l.ID] = int32(i)
		t.launchers = append(t.launchers, spot{h, r})
		t.hosts[h] = append(t.hosts[h], int32(i))
		t.racks[r] = append(t.racks[r], int32(i))
	}
	return t
}

func number(index map[string]int32, name string, lists *[][]int32) int32 {
	n, ok := index[name]
	if !ok {
		n = int32(len(*lists))
		index[name] = n
		*lists = append(*lists, nil)
	}
	return n
}

// arc is an edge of a group to a host's launchers, or to a rack's vertex.
type arc struct {
	to   int32
	cost int64
}

// edges is what moving a group's input costs, by where the group runs.
type edges struct {
	far   int64 // through the cluster vertex
	hosts []arc // cheaper than far, or open where far is closed; in order of place
	racks []arc
}

// costMax bounds the cost of one group's edge; a larger cost counts as that much. The unscheduled
// vertex costs more than any edge, and a path of the search costs at most a few times as much, so
// nothing overflows.
const (
	costMax         = int64(1) << 48
	unscheduledCost = int64(1) << 52
	// closedCost is the cost of a launcher too far from a group's input (see Bundle.Levels).
	closedCost = int64(1) << 49
)

// edges computes a group's edges. Replicas lie on several hosts, so places may add up to more than
// the input: what a launcher finds on its host and in its rack counts up to the whole of it. extra
// is a further place. levels is Bundle.Levels.
func (t *topology) edges(g *scheduler.Group, extra *scheduler.Place, costs Costs, levels int) edges {
	if len(g.Places) == 0 {
		levels = 0
	}
	total := g.InputBytes
	for _, p := range g.Places {
		total = max(total, p.Bytes)
	}
	total = min(total, costMax)
	near := func(host, rack string) int64 {
		c := weigh(t.near(g.Places, total, host, rack), costs)
		if extra != nil {
			c += weigh(t.near([]scheduler.Place{*extra}, extra.Bytes, host, rack), costs)
		}
		return min(c, costMax)
	}
	e := edges{far: near("", "")}
	places := g.Places
	if extra != nil {
		places = append(slices.Clone(places), *extra)
	}
	for i := range places {
		p := &places[i]
		if h, ok := t.hostIndex[p.Host]; ok && p.Host != "" {
			e.hosts = e.add(e.hosts, h, near(p.Host, t.rackOf(p)), levels)
		}
		if rack := t.rackOf(p); rack != "" {
			if r, ok := t.rackIndex[rack]; ok {
				e.racks = e.add(e.racks, r, near("", rack), levels)
			}
		}
	}
	if closes(levels) {
		e.far = closedCost
	}
	if levels == 1 {
		e.racks = nil
	}
	return e
}

// closes says whether launchers that are far from a group's input are closed to it.
func closes(levels int) bool { return levels > 0 && levels < scheduler.LocalityLevels }

// near splits an input by its locality to a launcher.
func (t *topology) near(places []scheduler.Place, total int64, host, rack string) (at Costs) {
	var onHost, inRack int64
	for i := range places {
		switch p := &places[i]; {
		case host != "" && p.Host == host:
			onHost = min(total, onHost+min(p.Bytes, total))
		case rack != "" && t.rackOf(p) == rack:
			inRack = min(total, inRack+min(p.Bytes, total))
		}
	}
	inRack = min(inRack, total-onHost)
	return Costs{onHost, inRack, total - onHost - inRack}
}

func (e *edges) add(list []arc, to int32, cost int64, levels int) []arc {
	if cost >= e.far && !closes(levels) || slices.ContainsFunc(list, func(a arc) bool { return a.to == to }) {
		return list
	}
	return append(list, arc{to, cost})
}

// rackOf returns a place's rack; if it has none, the rack of its host's launchers.
func (t *topology) rackOf(p *scheduler.Place) string {
	if p.Rack != "" {
		return p.Rack
	}
	if h, ok := t.hostIndex[p.Host]; ok && p.Host != "" {
		return t.rackNames[t.launchers[t.hosts[h][0]].rack]
	}
	return ""
}

// weigh returns the sum of bytes times cost over the levels, at most costMax.
func weigh(size, costs Costs) int64 {
	var sum int64
	for i := range size {
		hi, lo := bits.Mul64(uint64(size[i]), uint64(costs[i]))
		if hi != 0 || lo > uint64(costMax) {
			return costMax
		}
		sum = min(sum+int64(lo), costMax)
	}
	return sum
}
