package graph

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/engine/wire"
	"pgregory.net/rapid"
)

const (
	file = wire.ChannelKind_CHANNEL_KIND_FILE
	tcp  = wire.ChannelKind_CHANNEL_KIND_TCP
	shm  = wire.ChannelKind_CHANNEL_KIND_SHM

	one   = wire.Pattern_PATTERN_ONE_TO_ONE
	all   = wire.Pattern_PATTERN_ALL_TO_ALL
	merge = wire.Pattern_PATTERN_MERGE
	fork  = wire.Pattern_PATTERN_FORK
	edges = wire.Pattern_PATTERN_EDGES
)

func stage(name string, nodes int) *wire.Stage { return &wire.Stage{Name: name, Nodes: uint32(nodes)} }

// array is a stage with elements 0 to below the number.
func array(name string, nodes int, elements uint32) *wire.Stage {
	s := stage(name, nodes)
	s.Elements = &wire.Elements{Ranges: []*wire.ElementRange{{Count: elements, Step: 1}}}
	return s
}

func join(from, to int, p wire.Pattern, k wire.ChannelKind, list ...*wire.Edge) *wire.Connection {
	return &wire.Connection{FromStage: uint32(from), FromPort: "out", ToStage: uint32(to), ToPort: "in", Pattern: p, Kind: k, Edges: list}
}

func TestWhatIsWrongIsNamedWithItsRemedy(t *testing.T) {
	two := func(n, m int, c *wire.Connection) *wire.Graph {
		return &wire.Graph{Stages: []*wire.Stage{stage("map", n), stage("reduce", m)}, Connections: []*wire.Connection{c}}
	}
	with := func(g *wire.Graph, change func(*wire.Graph)) *wire.Graph { change(g); return g }
	adapt := func(partitions uint32, bytes int64, change func(g *wire.Graph, c *wire.Connection)) *wire.Graph {
		g := two(2, 3, join(0, 1, all, file))
		g.Connections[0].Adapt = &wire.Adapt{Partitions: partitions, Bytes: bytes}
		if change != nil {
			change(g, g.Connections[0])
		}
		return g
	}
	aggregate := func(change func(g *wire.Graph, into, out *wire.Connection)) *wire.Graph {
		g := &wire.Graph{
			Stages:      []*wire.Stage{stage("map", 4), stage("combine", 2), stage("reduce", 3)},
			Connections: []*wire.Connection{join(0, 1, all, file), join(1, 2, all, file)},
		}
		g.Connections[0].Aggregate = &wire.Aggregate{Level: wire.Level_LEVEL_MACHINE, Bytes: 1}
		change(g, g.Connections[0], g.Connections[1])
		return g
	}
	for _, c := range []struct {
		g    *wire.Graph
		want string
	}{
		{aggregate(func(_ *wire.Graph, into, _ *wire.Connection) { into.Pattern = fork }), "only all-to-all connections of files"},
		{aggregate(func(_ *wire.Graph, into, _ *wire.Connection) { into.SlowStart = 0.5 }), "leave slow-start and Adapt out"},
		{aggregate(func(_ *wire.Graph, into, _ *wire.Connection) { into.Adapt = &wire.Adapt{Partitions: 1, Bytes: 1} }), "leave slow-start and Adapt out"},
		{aggregate(func(_ *wire.Graph, into, _ *wire.Connection) { into.Aggregate.Level = 9 }), "use the machine or the rack"},
		{aggregate(func(_ *wire.Graph, into, _ *wire.Connection) { into.Aggregate.Bytes = 0 }), "aggregates from 0 bytes on: use 1 or more"},
		{aggregate(func(g *wire.Graph, _, _ *wire.Connection) { g.Stages[1].Nodes = 0 }), "as many as there are to be at most"},
		{aggregate(func(g *wire.Graph, _, _ *wire.Connection) { g.Stages[2].Nodes = 0 }), `to stage "reduce" without nodes`},
		{aggregate(func(g *wire.Graph, _, _ *wire.Connection) { g.Stages[1].Inputs = []*wire.NodeInput{{}, {}} }), "read those in another stage"},
		{aggregate(func(g *wire.Graph, _, _ *wire.Connection) { g.Connections = g.Connections[:1] }), `0 connections lead from stage "combine": it needs one`},
		{aggregate(func(g *wire.Graph, _, _ *wire.Connection) {
			g.Stages = append(g.Stages, stage("other", 1))
			g.Connections = append(g.Connections, join(1, 3, all, file))
		}), `2 connections lead from stage "combine"`},
		{aggregate(func(g *wire.Graph, _, _ *wire.Connection) {
			g.Stages = append(g.Stages, stage("other", 1))
			g.Connections = append(g.Connections, join(3, 1, all, file))
		}), `connection 2 leads to stage "combine" too`},
		{aggregate(func(_ *wire.Graph, _, out *wire.Connection) { out.Kind = tcp }), "make it all-to-all of files"},
		{aggregate(func(_ *wire.Graph, into, out *wire.Connection) { out.Aggregate = into.Aggregate }), "without slow-start, Adapt and Aggregate"},
		{aggregate(func(g *wire.Graph, into, _ *wire.Connection) { into.FromStage = into.ToStage }), "cycle"},
		{aggregate(func(g *wire.Graph, _, out *wire.Connection) { out.ToStage = 9 }), "goes from stage 1 to stage 9"},
		{nil, "no stage"},
		{&wire.Graph{Stages: []*wire.Stage{nil}}, "stage 0 is empty"},
		{&wire.Graph{Stages: []*wire.Stage{stage("a", 1), stage("a", 1)}}, `two stages are called "a": rename one`},
		{&wire.Graph{Stages: []*wire.Stage{stage("", 1)}}, "stage 0: the name is empty"},
		{&wire.Graph{Stages: []*wire.Stage{stage("a\xff", 1)}}, "no UTF-8"},
		{&wire.Graph{Stages: []*wire.Stage{stage("a", math.MaxUint32)}}, "more than 1000000 nodes"},
		{&wire.Graph{Stages: []*wire.Stage{stage("a", 600_000), stage("b", 600_000)}}, `stage "b" brings the job to more than`},
		{&wire.Graph{Stages: []*wire.Stage{array("a", 3, 2)}}, `stage "a" is a job array: it has 3 nodes and 2 elements`},
		{&wire.Graph{Stages: []*wire.Stage{array("a", 2, 2), array("b", 2, 2)}}, `the stages "a" and "b" both have elements`},
		{with(two(2, 2, join(0, 1, one, file)), func(g *wire.Graph) { g.Stages[0] = array("a", 2, 2) }), "put what comes before or after the array into jobs of their own"},
		{with(two(2, 2, join(0, 1, one, tcp)), func(g *wire.Graph) { g.Stages[1] = array("a", 2, 2) }), "put what comes before or after the array into jobs of their own"},
		{&wire.Graph{Stages: []*wire.Stage{{Name: "a", Nodes: 1, Elements: &wire.Elements{Ranges: []*wire.ElementRange{{First: 5, Count: 1}}}}}}, "in steps of 0"},
		{&wire.Graph{Stages: []*wire.Stage{{Name: "a", Nodes: 1, Elements: &wire.Elements{Ranges: []*wire.ElementRange{nil}}}}}, "both are at least 1"},
		{&wire.Graph{Stages: []*wire.Stage{{Name: "a", Memory: -1}}}, "-1 bytes of memory"},
		{&wire.Graph{Stages: []*wire.Stage{{Name: "a", Memory: math.MaxInt64}}}, "ask for less"},
		{&wire.Graph{Stages: []*wire.Stage{{Name: "a", Slots: math.MaxUint32}}}, "ask for fewer"},
		{&wire.Graph{Stages: []*wire.Stage{{Name: "a", Resources: gpus(0)}}}, `stage "a" asks for 0 of resource gpu`},
		{&wire.Graph{Stages: []*wire.Stage{{Name: "a", Resources: []*wire.ResourceCount{{Kind: "GPU", Count: 1}}}}}, `"GPU" is no kind of resource`},
		{&wire.Graph{Stages: []*wire.Stage{{Name: "a", Resources: append(gpus(1), gpus(1)...)}}}, "resource gpu is named twice"},
		{&wire.Graph{Stages: []*wire.Stage{{Name: "a", Nodes: 2, Inputs: []*wire.NodeInput{{}}}}}, "2 nodes and 1 inputs"},
		{&wire.Graph{Stages: []*wire.Stage{{Name: "a", Nodes: 1, Inputs: []*wire.NodeInput{{Bytes: -5}}}}}, "node 0 reads -5 bytes"},
		{two(1, 1, &wire.Connection{FromStage: 0, ToStage: 9}), "there are 2 stages"},
		{two(1, 1, &wire.Connection{FromPort: "x", ToStage: 1}), "input port is empty"},
		{two(1, 1, join(0, 1, 0, file)), "unknown pattern"},
		{two(1, 1, join(0, 1, 77, file)), "unknown pattern"},
		{two(1, 1, join(0, 1, one, 0)), "no known channel kind"},
		{two(2, 3, join(0, 1, one, file)), "connection map.out to reduce.in is one-to-one but joins 2 nodes to 3"},
		{two(2, 3, join(0, 1, merge, file)), "use fork"},
		{two(3, 2, join(0, 1, fork, file)), "use merge"},
		{two(2, 2, join(0, 1, edges, file, &wire.Edge{From: 2})), "edge from node 2 of 2"},
		{two(2, 2, join(0, 1, edges, file, &wire.Edge{To: 1}, &wire.Edge{To: 1})), "edge from node 0 to node 1 twice"},
		{two(2, 2, join(0, 1, one, file, &wire.Edge{})), "lists edges"},
		{with(two(1, 1, join(0, 1, one, file)), func(g *wire.Graph) { g.Connections[0].SlowStart = math.NaN() }), "slow-start NaN"},
		{with(two(1, 1, join(0, 1, one, file)), func(g *wire.Graph) { g.Connections[0].SlowStart = -0.5 }), "slow-start -0.5"},
		{with(two(1, 1, join(0, 1, one, file)), func(g *wire.Graph) { g.Connections[0].SlowStart = 1 }), "below 1"},
		{with(two(1, 1, join(0, 1, one, tcp)), func(g *wire.Graph) { g.Connections[0].SlowStart = 0.5 }), "only file channels"},
		{with(two(1, 1, join(0, 1, one, shm)), func(g *wire.Graph) { g.Connections[0].Store = "/x" }), "names a store"},
		{with(two(1, 1, join(0, 1, one, shm)), func(g *wire.Graph) { g.Stages[1].OwnProcess = true }), `stage "reduce" has a process of its own`},
		{with(two(1, 1, join(0, 1, one, shm)), func(g *wire.Graph) { g.Stages[1].Kind = "gpu" }), "between slot kinds default and gpu"},
		{with(two(1, 1, join(0, 1, one, shm)), func(g *wire.Graph) { g.Stages[0].Command = "sort" }), "can't share a process"},
		{with(two(1, 1, join(0, 1, one, file)), func(g *wire.Graph) { g.Connections = append(g.Connections, g.Connections[0]) }), "there twice"},
		{adapt(0, 1, nil), "adapts 0 partitions to at most 3 readers: use at least 1"},
		{adapt(4, 1, nil), `as many nodes of stage "reduce" or more`},
		{adapt(3, 0, nil), "up to 0 bytes: use 1 or more"},
		{adapt(3, 1, func(_ *wire.Graph, c *wire.Connection) { c.SlowStart = 0.5 }), "leave one of the two out"},
		{adapt(3, 1, func(_ *wire.Graph, c *wire.Connection) { c.Kind = tcp }), "only all-to-all connections of files"},
		{adapt(3, 1, func(_ *wire.Graph, c *wire.Connection) { c.Pattern = fork }), "only all-to-all connections of files"},
		{adapt(1, 1, func(g *wire.Graph, _ *wire.Connection) { g.Stages[1].Inputs = []*wire.NodeInput{{}, {}, {}} }), "read those in another stage"},
		{adapt(3, 1, func(g *wire.Graph, _ *wire.Connection) { g.Stages[0].Nodes = 3 << 20 / 2 }), "more than 1000000 nodes"},
		{adapt(5000, 1, func(g *wire.Graph, _ *wire.Connection) { g.Stages[0].Nodes, g.Stages[1].Nodes = 1000, 5000 }), "use 4194 partitions or fewer"},
		{adapt(3, 1, func(g *wire.Graph, _ *wire.Connection) {
			g.Stages = append(g.Stages, stage("c", 3))
			g.Connections = append(g.Connections, join(1, 2, one, file))
		}), `connection 1 joins stage "reduce" with another one too`},
		{two(20_000, 1, join(0, 1, all, shm)), "joins 20001 nodes by shm"},
		{two(2000, 1, join(0, 1, all, tcp)), "joins 2001 groups by tcp"},
		{with(two(2, 2, join(0, 1, one, file)), func(g *wire.Graph) {
			g.Connections = append(g.Connections, join(1, 0, one, file))
		}), `the graph has a cycle: stage "map" node 0, stage "reduce" node 0`},
		{two(3, 3, join(0, 0, one, shm)), "cycle"},
		// Two stages in one bundle, and a file channel between them.
		{with(two(2, 2, join(0, 1, one, tcp)), func(g *wire.Graph) {
			c := join(0, 1, all, file)
			c.FromPort, c.ToPort = "f", "f"
			g.Connections = append(g.Connections, c)
		}), "connection map.f to reduce.f is a file channel inside a bundle"},
		// a and c are one bundle by tcp; b lies between them by files.
		{&wire.Graph{
			Stages:      []*wire.Stage{stage("a", 1), stage("b", 1), stage("c", 1)},
			Connections: []*wire.Connection{join(0, 1, one, file), join(1, 2, one, file), join(0, 2, one, tcp)},
		}, "wait for each other's files"},
	} {
		_, err := Expand(c.g, 1, DefaultLimits())
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want something with %q", err, c.want)
		}
	}
}

func gpus(n uint32) []*wire.ResourceCount {
	return []*wire.ResourceCount{{Kind: "gpu", Count: n}}
}

func TestAllToAllCostsTheSumOfItsEnds(t *testing.T) {
	// 10^11 pairs: expanding them would not end.
	g := &wire.Graph{Stages: []*wire.Stage{stage("m", 300_000), stage("r", 300_000)}, Connections: []*wire.Connection{join(0, 1, all, file)}}
	p, err := Expand(g, 1, DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	if r, _ := p.Writers(0, 7); r != (Range{Low: 0, High: 300_000}) || len(p.Bundles) != 600_000 {
		t.Errorf("writers %v, %d bundles", r, len(p.Bundles))
	}
}

func TestNodesOfAStageMayBeAChain(t *testing.T) {
	g := &wire.Graph{Stages: []*wire.Stage{stage("step", 4)}, Connections: []*wire.Connection{
		join(0, 0, edges, file, &wire.Edge{From: 0, To: 1}, &wire.Edge{From: 1, To: 2}, &wire.Edge{From: 2, To: 3}),
	}}
	if p, err := Expand(g, 1, DefaultLimits()); err != nil || len(p.Bundles) != 4 {
		t.Errorf("%v, %v", p, err)
	}
}

// TestExpandAgainstTheObvious compares Expand with an oracle that lists every edge.
func TestExpandAgainstTheObvious(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := randomGraph(t)
		p, err := Expand(g, 100, DefaultLimits())
		o := newOracle(g)
		if want := o.wrong(); (err != nil) != want {
			t.Fatalf("error %v, the oracle says wrong: %t\n%v", err, want, g)
		}
		if err == nil {
			o.compare(t, p)
		}
	})
}

func randomGraph(t *rapid.T) *wire.Graph {
	g := &wire.Graph{}
	for i := range rapid.IntRange(1, 5).Draw(t, "stages") {
		s := stage(fmt.Sprint("s", i), rapid.IntRange(0, 4).Draw(t, "nodes"))
		s.Slots = rapid.Uint32Range(0, 3).Draw(t, "slots")
		s.Memory = rapid.Int64Range(0, 3).Draw(t, "memory")
		if n := rapid.Uint32Range(0, 2).Draw(t, "gpus"); n > 0 {
			s.Resources = gpus(n)
		}
		g.Stages = append(g.Stages, s)
	}
	for i := range rapid.IntRange(0, 6).Draw(t, "connections") {
		from, to := rapid.IntRange(0, len(g.Stages)-1).Draw(t, "from"), rapid.IntRange(0, len(g.Stages)-1).Draw(t, "to")
		n, m := int(g.Stages[from].Nodes), int(g.Stages[to].Nodes)
		c := join(from, to, 0, rapid.SampledFrom([]wire.ChannelKind{file, tcp, shm}).Draw(t, "kind"))
		c.FromPort, c.ToPort = fmt.Sprint("o", i), fmt.Sprint("i", i)
		patterns := []wire.Pattern{all, edges}
		if n == m {
			patterns = append(patterns, one)
		}
		if n >= m && m > 0 {
			patterns = append(patterns, merge)
		}
		if n <= m && n > 0 {
			patterns = append(patterns, fork)
		}
		c.Pattern = rapid.SampledFrom(patterns).Draw(t, "pattern")
		if c.Pattern == edges {
			for a := range n {
				for b := range m {
					if rapid.Bool().Draw(t, "edge") {
						c.Edges = append(c.Edges, &wire.Edge{From: uint32(a), To: uint32(b)})
					}
				}
			}
		}
		g.Connections = append(g.Connections, c)
	}
	return g
}

// oracle knows every edge between nodes.
type oracle struct {
	g     *wire.Graph
	nodes []Node
	pairs [][][2]int // by connection
	group []int      // least node that is reached over shm
	gang  []int      // least node that is reached over shm or tcp
}

func newOracle(g *wire.Graph) *oracle {
	o := &oracle{g: g}
	number := map[Node]int{}
	for s, st := range g.Stages {
		for i := range int(st.Nodes) {
			number[Node{Stage: s, Index: i}] = len(o.nodes)
			o.nodes = append(o.nodes, Node{Stage: s, Index: i})
		}
	}
	for _, c := range g.Connections {
		var pairs [][2]int
		n, m := int(g.Stages[c.FromStage].Nodes), int(g.Stages[c.ToStage].Nodes)
		for i := range n {
			for j := range m {
				if joined(c, i, j, n, m) {
					pairs = append(pairs, [2]int{number[Node{Stage: int(c.FromStage), Index: i}], number[Node{Stage: int(c.ToStage), Index: j}]})
				}
			}
		}
		o.pairs = append(o.pairs, pairs)
	}
	o.group = o.reach(shm)
	o.gang = o.reach(shm, tcp)
	return o
}

func joined(c *wire.Connection, i, j, n, m int) bool {
	switch c.Pattern {
	case one:
		return i == j
	case all:
		return true
	case merge:
		return i*m/n == j
	case fork:
		return j*n/m == i
	}
	return slices.ContainsFunc(c.Edges, func(e *wire.Edge) bool { return int(e.From) == i && int(e.To) == j })
}

// reach floods least node numbers over connections of some kinds.
func (o *oracle) reach(kinds ...wire.ChannelKind) []int {
	of := make([]int, len(o.nodes))
	for i := range of {
		of[i] = i
	}
	for changed := true; changed; {
		changed = false
		for c, pairs := range o.pairs {
			if !slices.Contains(kinds, o.g.Connections[c].Kind) {
				continue
			}
			for _, p := range pairs {
				if least := min(of[p[0]], of[p[1]]); of[p[0]] != least || of[p[1]] != least {
					of[p[0]], of[p[1]] = least, least
					changed = true
				}
			}
		}
	}
	return of
}

func (o *oracle) wrong() bool {
	identity := make([]int, len(o.nodes))
	for i := range identity {
		identity[i] = i
	}
	return o.ring(identity, file, tcp, shm) || o.ring(o.gang, file)
}

// ring reports whether classes of nodes form a cycle over some kinds.
func (o *oracle) ring(class []int, kinds ...wire.ChannelKind) bool {
	reach := map[[2]int]bool{}
	for c, pairs := range o.pairs {
		for _, p := range pairs {
			if slices.Contains(kinds, o.g.Connections[c].Kind) {
				reach[[2]int{class[p[0]], class[p[1]]}] = true
			}
		}
	}
	for k := range o.nodes {
		for i := range o.nodes {
			for j := range o.nodes {
				if reach[[2]int{i, k}] && reach[[2]int{k, j}] {
					reach[[2]int{i, j}] = true
				}
			}
		}
	}
	for i := range o.nodes {
		if reach[[2]int{i, i}] {
			return true
		}
	}
	return false
}

func (o *oracle) compare(t *rapid.T, p *Expanded) {
	for a := range o.nodes {
		if p.Node(int32(a)) != o.nodes[a] || p.Number(o.nodes[a]) != int32(a) {
			t.Fatalf("node %d is %v, want %v", a, p.Node(int32(a)), o.nodes[a])
		}
		for b := range o.nodes {
			if (p.GroupOf(int32(a)) == p.GroupOf(int32(b))) != (o.group[a] == o.group[b]) {
				t.Fatalf("nodes %d and %d: same group is wrong", a, b)
			}
			if (p.BundleOf(int32(a)) == p.BundleOf(int32(b))) != (o.gang[a] == o.gang[b]) {
				t.Fatalf("nodes %d and %d: same bundle is wrong", a, b)
			}
		}
	}
	inputs := make([]int, len(p.Groups))
	for c, pairs := range o.pairs {
		writers, readers := map[int][]int{}, map[int][]int{}
		for _, e := range pairs {
			writers[e[1]] = append(writers[e[1]], o.nodes[e[0]].Index)
			readers[e[0]] = append(readers[e[0]], o.nodes[e[1]].Index)
		}
		from, to := int(o.g.Connections[c].FromStage), int(o.g.Connections[c].ToStage)
		for x, n := range o.nodes {
			if n.Stage == to {
				check(t, "writers", writers[x], list(p.Writers(c, n.Index)))
				if o.g.Connections[c].Kind == file {
					inputs[p.GroupOf(int32(x))]++
				}
			}
			if n.Stage == from {
				check(t, "readers", readers[x], list(p.Readers(c, n.Index)))
			}
		}
	}
	for i, g := range p.Groups {
		slots, memory, devices := 1, int64(0), 0
		for _, x := range g.Nodes {
			s := o.g.Stages[o.nodes[x].Stage]
			slots = max(slots, int(s.Slots))
			if len(s.Resources) > 0 {
				devices += int(s.Resources[0].Count)
			}
			if memory += s.Memory; s.Memory == 0 {
				memory += 100
			}
		}
		if g.Slots != slots || g.Memory != memory || g.Resources.Of("gpu") != devices || g.Inputs != inputs[i] || int(g.Stage) != o.nodes[g.Nodes[0]].Stage || !slices.IsSorted(g.Nodes) {
			t.Fatalf("group %d is %+v, want %d slots, %d bytes, %d inputs", i, g, slots, memory, inputs[i])
		}
	}
}

func list(r Range, l []int32) (out []int) {
	Each(r, l, func(i int) { out = append(out, i) })
	return out
}

func check(t *rapid.T, what string, want, got []int) {
	slices.Sort(want)
	if !slices.Equal(want, got) {
		t.Fatalf("%s: got %v, want %v", what, got, want)
	}
}
