package expand

import (
	"fmt"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/job"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Expand expands a graph. The defaults of a stage's kind, slots and memory are "default", 1 and
// memoryDefault bytes.
func Expand(g Graph, memoryDefault int64, l Limits) (*Expanded, error) {
	p, err := Join(g)
	if err != nil {
		return nil, err
	}
	if err := p.checkNodeCycle(); err != nil {
		return nil, err
	}
	if err := p.makeGroups(memoryDefault, l); err != nil {
		return nil, err
	}
	if err := p.makeBundles(l); err != nil {
		return nil, err
	}
	if err := p.checkFiles(); err != nil {
		return nil, err
	}
	return p, nil
}

// Join checks a graph's connections and lists their edges: enough for a process that runs a few of
// its nodes. The result has no groups and no bundles.
func Join(g Graph) (*Expanded, error) {
	p := &Expanded{Graph: g, offset: make([]int32, len(g.Stages)+1), edges: make([]edgeLists, len(g.Connections))}
	for i := range g.Stages {
		p.offset[i+1] = p.offset[i] + int32(g.Stages[i].Nodes)
	}
	for i := range g.Connections {
		if err := g.checkPattern(i); err != nil {
			return nil, err
		}
		if g.Connections[i].Pattern == job.Edges {
			if err := p.listEdges(i); err != nil {
				return nil, err
			}
		}
	}
	return p, nil
}

// listEdges sorts a connection's listed edges from both ends.
func (p *Expanded) listEdges(i int) error {
	n, m := p.Sizes(i)
	list := p.Graph.Connections[i].Edges
	p.edges[i] = edgeLists{
		out:  adjacent(n, list, list.At),
		into: adjacent(m, list, func(i int) (int, int) { from, to := list.At(i); return to, from }),
	}
	for from := range n {
		ends := p.edges[i].out.of(from)
		for k := 1; k < len(ends); k++ {
			if ends[k] == ends[k-1] {
				return fmt.Errorf("%s lists the edge from node %d to node %d twice: list it once", p.Graph.Describe(i), from, ends[k])
			}
		}
	}
	return nil
}

func adjacent(n int, edges EdgeList, ends func(int) (int, int)) adjacency {
	a := adjacency{start: make([]int32, n+1), ends: make([]int32, edges.Len())}
	for e := range edges.Len() {
		x, _ := ends(e)
		a.start[x+1]++
	}
	for i := range n {
		a.start[i+1] += a.start[i]
	}
	next := slices.Clone(a.start)
	for e := range edges.Len() {
		x, y := ends(e)
		a.ends[next[x]] = int32(y)
		next[x]++
	}
	for i := range n {
		slices.Sort(a.of(i))
	}
	return a
}

// eachJoin calls join for pairs of nodes, and for a hub per all-to-all connection, so joining its
// nodes takes n+m steps. Hubs are numbered from the number of nodes up.
func (p *Expanded) eachJoin(c int, join func(from, to int32)) {
	m := &p.Graph.Connections[c]
	from, to := p.offset[m.From], p.offset[m.To]
	writers, readers := p.Sizes(c)
	if m.Pattern == job.AllToAll {
		if writers == 0 || readers == 0 {
			return
		}
		hub := p.offset[len(p.offset)-1] + int32(c)
		for i := range writers {
			join(from+int32(i), hub)
		}
		for j := range readers {
			join(hub, to+int32(j))
		}
		return
	}
	for j := range readers {
		r, list := p.Writers(c, j)
		Each(r, list, func(i int) { join(from+int32(i), to+int32(j)) })
	}
}

// makeGroups joins the nodes of shm connections.
func (p *Expanded) makeGroups(memoryDefault int64, l Limits) error {
	n := int(p.offset[len(p.offset)-1])
	u := newUnion(n + len(p.Graph.Connections))
	for i := range p.Graph.Connections {
		if p.Graph.Connections[i].Kind != job.SHM {
			continue
		}
		if err := p.checkShared(i); err != nil {
			return err
		}
		p.eachJoin(i, u.join)
	}
	p.groupOf = make([]int32, n)
	var sizes []int32
	number := u.numbered(n, p.groupOf, &sizes)
	p.Groups = make([]Group, number)
	backing := make([]int32, n)
	for i := range p.Groups {
		p.Groups[i].Nodes, backing = backing[:0:sizes[i]], backing[sizes[i]:]
	}
	node := int32(0)
	for s := range p.Graph.Stages {
		need := p.Graph.Stages[s].need(memoryDefault)
		for range p.Graph.Stages[s].Nodes {
			p.Groups[p.groupOf[node]].addNode(node, s, need)
			node++
		}
	}
	return p.checkGroups(l)
}

// need returns what a group of one node of the stage asks for.
func (s *Stage) need(memoryDefault int64) *Need {
	n := &Need{Kind: s.kind(), Slots: max(s.Slots, 1), Memory: memoryDefault, Resources: s.Resources}
	if s.Memory > 0 {
		n.Memory = s.Memory
	}
	return n
}

// addNode adds a node of a stage, with what a group of that node alone asks for.
func (g *Group) addNode(node int32, stage int, need *Need) {
	switch len(g.Nodes) {
	case 0:
		g.Stage, g.Need = int32(stage), need
	case 1:
		own := *g.Need
		g.Need = &own
		fallthrough
	default:
		g.Slots = max(g.Slots, need.Slots)
		g.Memory += need.Memory
		g.Resources = g.Resources.Plus(need.Resources)
	}
	g.Nodes = append(g.Nodes, node)
}

// checkShared checks that two stages may share a process.
func (p *Expanded) checkShared(i int) error {
	c := &p.Graph.Connections[i]
	from, to := &p.Graph.Stages[c.From], &p.Graph.Stages[c.To]
	for _, s := range []*Stage{from, to} {
		if s.OwnProcess {
			return fmt.Errorf("%s is a shm channel, and stage %q has a process of its own: use a tcp or file channel", p.Graph.Describe(i), s.Name)
		}
		if s.Command != "" {
			return fmt.Errorf("%s is a shm channel, and stage %q is the command %s, which can't share a process: use a tcp or file channel", p.Graph.Describe(i), s.Name, s.Command)
		}
	}
	if from.kind() != to.kind() {
		return fmt.Errorf("%s is a shm channel between slot kinds %s and %s: use one kind, or a tcp or file channel", p.Graph.Describe(i), from.kind(), to.kind())
	}
	if from.PreferKind != to.PreferKind {
		return fmt.Errorf("%s is a shm channel between stages that prefer slots of kind %q and %q: have both prefer one, or use a tcp or file channel", p.Graph.Describe(i), from.PreferKind, to.PreferKind)
	}
	return nil
}

func (p *Expanded) checkGroups(l Limits) error {
	for i := range p.Groups {
		if g := &p.Groups[i]; l.GroupNodes > 0 && len(g.Nodes) > l.GroupNodes {
			n := p.Node(g.Nodes[0])
			return fmt.Errorf("the group of stage %q, node %d joins %d nodes by shm channels, at most %d are allowed: use file or tcp channels between some",
				p.Graph.Stages[n.Stage].Name, n.Index, len(g.Nodes), l.GroupNodes)
		}
		if g := &p.Groups[i]; len(g.Resources.Counts()) > scheduler.ResourceKindsMax {
			n := p.Node(g.Nodes[0])
			return fmt.Errorf("the group of stage %q, node %d asks for %d kinds of resources, at most %d are allowed: use file or tcp channels between some",
				p.Graph.Stages[n.Stage].Name, n.Index, len(g.Resources.Counts()), scheduler.ResourceKindsMax)
		}
	}
	return nil
}

// makeBundles joins the groups of tcp connections.
func (p *Expanded) makeBundles(l Limits) error {
	nodes := p.offset[len(p.offset)-1]
	u := newUnion(len(p.Groups) + len(p.Graph.Connections))
	place := func(x int32) int32 { // of a node's group, or of a hub
		if x < nodes {
			return p.groupOf[x]
		}
		return x - nodes + int32(len(p.Groups))
	}
	for i := range p.Graph.Connections {
		if p.Graph.Connections[i].Kind == job.TCP {
			p.eachJoin(i, func(a, b int32) { u.join(place(a), place(b)) })
		}
	}
	bundleOf := make([]int32, len(p.Groups))
	var sizes []int32
	p.Bundles = make([]Bundle, u.numbered(len(p.Groups), bundleOf, &sizes))
	backing := make([]int32, len(p.Groups))
	for i := range p.Bundles {
		p.Bundles[i].Groups, backing = backing[:0:sizes[i]], backing[sizes[i]:]
	}
	for g, b := range bundleOf {
		p.Groups[g].Bundle = b
		p.Bundles[b].Groups = append(p.Bundles[b].Groups, int32(g))
	}
	for i := range p.Graph.Connections {
		if p.Graph.Connections[i].Kind == job.TCP {
			p.eachJoin(i, func(a, b int32) {
				if a < nodes {
					p.Bundles[bundleOf[p.groupOf[a]]].TCP = true
				}
			})
		}
	}
	for _, b := range p.Bundles {
		if l.BundleGroups > 0 && len(b.Groups) > l.BundleGroups {
			n := p.Node(p.Groups[b.Groups[0]].Nodes[0])
			return fmt.Errorf("the bundle of stage %q, node %d joins %d groups by tcp channels, at most %d are allowed: use file channels between some",
				p.Graph.Stages[n.Stage].Name, n.Index, len(b.Groups), l.BundleGroups)
		}
	}
	return nil
}

// BundleOf returns the bundle of a node.
func (p *Expanded) BundleOf(node int32) int { return int(p.Groups[p.groupOf[node]].Bundle) }
