package placement

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// world is a problem as plain values, from which networks are made and oracles
// compute.
type world struct {
	launchers []Launcher
	bundles   []Bundle
	costs     Costs
}

func (w *world) network(t testing.TB) *Network {
	t.Helper()
	n, err := New(Options{Costs: w.costs})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range w.launchers {
		if err := n.SetLauncher(l); err != nil {
			t.Fatal(err)
		}
	}
	for _, b := range w.bundles {
		if err := n.SetBundle(b); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

// cost is the definition: bytes by level, replicas not counted twice.
func (w *world) cost(g *scheduler.Group, l *Launcher) int64 {
	total := g.InputBytes
	var host, rack int64
	for _, p := range g.Places {
		total = max(total, p.Bytes)
		switch {
		case p.Host == l.Host:
			host += p.Bytes
		case p.Rack != "" && p.Rack == l.Rack:
			rack += p.Bytes
		}
	}
	host = min(host, total)
	rack = min(rack, total-host)
	return host*w.costs[0] + rack*w.costs[1] + (total-host-rack)*w.costs[2]
}

// shape says how to draw a world.
type shape struct {
	launchers, racks, hosts int // hosts 0: one each
	slots                   int // at most, of a launcher
	bundles, gang           int // groups of a bundle at most; 0 is 1
	need                    int // slots of a group at most; 0 is 1
	bytes                   int64
	equal                   bool // all places hold the same
	avoid, out              bool
}

func draw(rng *rand.Rand, s shape) *world {
	w := &world{costs: DefaultCosts()}
	if rng.IntN(3) == 0 {
		w.costs = Costs{int64(rng.IntN(2)), 1 + int64(rng.IntN(3)), 4}
	}
	host := func(i int) (string, string) {
		if s.hosts > 0 {
			i %= s.hosts
		}
		rack := ""
		if s.racks > 0 {
			rack = fmt.Sprint("r", i%s.racks)
		}
		return fmt.Sprint("h", i), rack
	}
	for i := range s.launchers {
		h, r := host(i)
		w.launchers = append(w.launchers, Launcher{ID: scheduler.LauncherID(i + 1), Host: h, Rack: r, Free: kind(rng.IntN(s.slots + 1))})
	}
	for i := range s.bundles {
		b := Bundle{ID: scheduler.BundleID(i + 1)}
		for range 1 + rng.IntN(max(s.gang, 1)) {
			b.Groups = append(b.Groups, w.group(rng, s, host))
		}
		if s.avoid && rng.IntN(4) == 0 {
			for range 1 + rng.IntN(2) {
				b.Avoid = append(b.Avoid, scheduler.LauncherID(1+rng.IntN(s.launchers+1)))
			}
		}
		if s.out && rng.IntN(2) == 0 {
			b.Unscheduled = 1 + rng.Int64N(3*s.bytes)
		}
		w.bundles = append(w.bundles, b)
	}
	return w
}

func (w *world) group(rng *rand.Rand, s shape, host func(int) (string, string)) scheduler.Group {
	g := scheduler.Group{Kind: scheduler.DefaultKind, Slots: 1 + rng.IntN(max(s.need, 1))}
	size := s.bytes
	if !s.equal {
		size = 1 + rng.Int64N(s.bytes)
	}
	seen := map[string]bool{}
	for range rng.IntN(4) {
		h, r := host(rng.IntN(s.launchers))
		if seen[h] {
			continue
		}
		seen[h] = true
		p := scheduler.Place{Host: h, Rack: r, Bytes: size}
		if !s.equal {
			p.Bytes = 1 + rng.Int64N(size)
		}
		g.Places = append(g.Places, p)
		if rng.IntN(2) == 0 { // else it is another replica
			g.InputBytes += p.Bytes
		}
	}
	if rng.IntN(4) == 0 {
		g.InputBytes += size
	}
	return g
}

func kind(n int) []scheduler.SlotCount {
	return []scheduler.SlotCount{{Kind: scheduler.DefaultKind, Count: n}}
}

// score is what answers are compared by: the cost of staying out, and of moved bytes.
type score struct {
	groups, slots int
	total         int64 // cost of placements plus cost of staying out
}

func (w *world) out(b *Bundle) int64 {
	if b.Unscheduled > 0 {
		return b.Unscheduled
	}
	return 1 << 40 // more than anything of a test's size
}

// judge checks an answer and scores it: each bundle whole, nowhere over the room,
// nothing where it must not be, the cost as stated.
func (w *world) judge(t *testing.T, r Result) score {
	t.Helper()
	free := map[scheduler.LauncherID]int{}
	memory := map[scheduler.LauncherID]int64{}
	for _, l := range w.launchers {
		free[l.ID], memory[l.ID] = l.Free[0].Count, l.Memory
	}
	var s score
	var cost int64
	placed := map[scheduler.BundleID]bool{}
	for _, p := range r.Placed {
		placed[p.Bundle] = true
		b := w.bundles[slices.IndexFunc(w.bundles, func(b Bundle) bool { return b.ID == p.Bundle })]
		if len(p.Launchers) != len(b.Groups) {
			t.Fatalf("%v of %d groups placed on %v", p.Bundle, len(b.Groups), p.Launchers)
		}
		for i, id := range p.Launchers {
			g := &b.Groups[i]
			l := &w.launchers[slices.IndexFunc(w.launchers, func(l Launcher) bool { return l.ID == id })]
			free[id] -= g.Slots
			memory[id] -= g.Memory
			if free[id] < 0 || memory[id] < 0 || slices.Contains(b.Avoid, id) {
				t.Fatalf("launcher %d is over its room, or to be avoided, with %v", id, p.Bundle)
			}
			cost += w.cost(g, l)
			s.groups++
			s.slots += g.Slots
		}
	}
	if cost != r.Cost || s.groups != r.Groups {
		t.Fatalf("the result says %d groups at cost %d, it is %d at %d", r.Groups, r.Cost, s.groups, cost)
	}
	s.total = cost
	for i := range w.bundles {
		if b := &w.bundles[i]; !placed[b.ID] {
			s.total += w.out(b) * int64(len(b.Groups))
		}
	}
	return s
}

// exhaustive tries every placement and returns the least total. limit bounds
// the groups; a group left out costs out, or weighs its slots when bySlots.
func (w *world) exhaustive(limit int, out func(*Bundle) int64) int64 {
	free := make([]int, len(w.launchers))
	for i, l := range w.launchers {
		free[i] = l.Free[0].Count
	}
	best := int64(never)
	var bundle func(i, left int, sum int64)
	var group func(b *Bundle, k, i, left int, sum int64)
	bundle = func(i, left int, sum int64) {
		if i == len(w.bundles) {
			best = min(best, sum)
			return
		}
		b := &w.bundles[i]
		bundle(i+1, left, sum+out(b))
		if left >= len(b.Groups) {
			group(b, 0, i, left-len(b.Groups), sum)
		}
	}
	group = func(b *Bundle, k, i, left int, sum int64) {
		if sum >= best {
			return
		}
		if k == len(b.Groups) {
			bundle(i+1, left, sum)
			return
		}
		g := &b.Groups[k]
		for l := range w.launchers {
			if free[l] >= g.Slots && !slices.Contains(b.Avoid, w.launchers[l].ID) {
				free[l] -= g.Slots
				group(b, k+1, i, left, sum+w.cost(g, &w.launchers[l]))
				free[l] += g.Slots
			}
		}
	}
	bundle(0, limit, 0)
	return best
}

func (w *world) outGroups(b *Bundle) int64 { return w.out(b) * int64(len(b.Groups)) }

// hammr builds the network of the report's section 6.2 edge by edge, with rack
// vertices, and solves it by successive shortest paths found with Bellman and
// Ford's algorithm. For single groups of one slot.
func (w *world) hammr() int64 {
	n, m := len(w.bundles), len(w.launchers)
	racks := map[string]int{}
	for _, l := range w.launchers {
		if _, ok := racks[l.Rack]; !ok {
			racks[l.Rack] = len(racks)
		}
	}
	source, sink, cluster, out := 0, 1, 2, 3
	group, launcher, rack := func(i int) int { return 4 + i }, func(j int) int { return 4 + n + j }, func(r int) int { return 4 + n + m + r }
	b := bellman{head: make([][]int, 4+n+m+len(racks))}
	for j, l := range w.launchers {
		b.edge(launcher(j), sink, l.Free[0].Count, 0)
		b.edge(cluster, launcher(j), n, 0)
		b.edge(rack(racks[l.Rack]), launcher(j), n, 0)
	}
	b.edge(out, sink, n, 0)
	for i := range w.bundles {
		g := &w.bundles[i].Groups[0]
		b.edge(source, group(i), 1, 0)
		b.edge(group(i), out, 1, w.out(&w.bundles[i]))
		b.edge(group(i), cluster, 1, w.cost(g, &Launcher{Host: "nowhere"}))
		for _, p := range g.Places {
			if r, ok := racks[p.Rack]; ok && p.Rack != "" {
				b.edge(group(i), rack(r), 1, w.cost(g, &Launcher{Host: "nowhere", Rack: p.Rack}))
			}
		}
		for j := range w.launchers {
			if slices.ContainsFunc(g.Places, func(p scheduler.Place) bool { return p.Host == w.launchers[j].Host }) {
				b.edge(group(i), launcher(j), 1, w.cost(g, &w.launchers[j]))
			}
		}
	}
	return b.run(source, sink, n)
}

type bellman struct {
	head     [][]int
	to, room []int
	price    []int64
}

func (b *bellman) edge(from, to, room int, price int64) {
	b.head[from] = append(b.head[from], len(b.to))
	b.head[to] = append(b.head[to], len(b.to)+1)
	b.to = append(b.to, to, from)
	b.room = append(b.room, room, 0)
	b.price = append(b.price, price, -price)
}

func (b *bellman) run(source, sink, units int) int64 {
	var total int64
	for range units {
		dist, by := make([]int64, len(b.head)), make([]int, len(b.head))
		for i := range dist {
			dist[i] = never
		}
		dist[source] = 0
		for again := true; again; {
			again = false
			for v := range b.head {
				if dist[v] == never {
					continue
				}
				for _, e := range b.head[v] {
					if d := dist[v] + b.price[e]; b.room[e] > 0 && d < dist[b.to[e]] {
						dist[b.to[e]], by[b.to[e]], again = d, e, true
					}
				}
			}
		}
		total += dist[sink]
		for v := sink; v != source; v = b.to[by[v]^1] {
			b.room[by[v]]--
			b.room[by[v]^1]++
		}
	}
	return total
}

// proven checks the invariants of every flow of a network that was solved
// without a limit: complementary slackness, which is a proof of least cost.
func proven(t *testing.T, n *Network) {
	t.Helper()
	for _, nd := range n.needs {
		f := nd.flow
		for l := range f.size {
			if f.price[l] < 0 || f.idle[l] > 0 && f.price[l] != 0 || int(f.idle[l])+len(f.seated[l]) != int(f.size[l]) {
				t.Fatalf("launcher %d: price %d, %d idle and %d seated of %d", l, f.price[l], f.idle[l], len(f.seated[l]), f.size[l])
			}
		}
		for g := range f.groups {
			m := &f.groups[g]
			if !m.live {
				continue
			}
			if m.at == undecided || f.pays(m) > m.out {
				t.Fatalf("group %d at %d pays %d of %d", g, m.at, f.pays(m), m.out)
			}
			for l := range f.size {
				if f.size[l] > 0 && !m.avoids(int32(l)) && f.costAt(m, int32(l))+f.price[l] < f.pays(m) {
					t.Fatalf("group %d at %d pays %d and would pay %d at %d", g, m.at, f.pays(m), f.costAt(m, int32(l))+f.price[l], l)
				}
			}
		}
	}
}
