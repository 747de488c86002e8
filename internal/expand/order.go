package expand

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hamadryad/hamadryad/sdk/job"
)

// digraph finds cycles by removing nodes without predecessors.
type digraph struct {
	start, ends, in []int32
}

// newDigraph calls each twice with the same edges: to count and to fill.
func newDigraph(n int, each func(edge func(from, to int32))) *digraph {
	d := &digraph{start: make([]int32, n+1), in: make([]int32, n)}
	each(func(from, to int32) {
		d.start[from+1]++
		d.in[to]++
	})
	for i := range n {
		d.start[i+1] += d.start[i]
	}
	d.ends = make([]int32, d.start[n])
	next := slices.Clone(d.start)
	each(func(from, to int32) {
		d.ends[next[from]] = to
		next[from]++
	})
	return d
}

// cycle returns the members of one cycle in order, or nil.
func (d *digraph) cycle() []int32 {
	var queue []int32
	for i, n := range d.in {
		if n == 0 {
			queue = append(queue, int32(i))
		}
	}
	for len(queue) > 0 {
		x := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		for _, y := range d.ends[d.start[x]:d.start[x+1]] {
			if d.in[y]--; d.in[y] == 0 {
				queue = append(queue, y)
			}
		}
	}
	first := slices.IndexFunc(d.in, func(n int32) bool { return n > 0 })
	if first < 0 {
		return nil
	}
	return d.follow(int32(first))
}

// follow walks backwards among the remaining members, each of which has a predecessor, until it
// meets a member again.
func (d *digraph) follow(x int32) []int32 {
	before := make([]int32, len(d.in))
	for i := range before {
		before[i] = -1
	}
	for from := range d.in {
		if d.in[from] > 0 {
			for _, to := range d.ends[d.start[from]:d.start[from+1]] {
				if before[to] < 0 {
					before[to] = int32(from)
				}
			}
		}
	}
	seen := make([]bool, len(d.in))
	for !seen[x] {
		seen[x] = true
		x = before[x]
	}
	cycle := []int32{x}
	for y := before[x]; y != x; y = before[y] {
		cycle = append(cycle, y)
	}
	slices.Reverse(cycle)
	least := slices.Index(cycle, slices.Min(cycle))
	return append(cycle[least:], cycle[:least]...)
}

// cycleShown is how many nodes of a cycle an error lists.
const cycleShown = 8

func (p *Expanded) checkNodeCycle() error {
	nodes := p.offset[len(p.offset)-1]
	d := newDigraph(int(nodes)+len(p.Graph.Connections), func(edge func(from, to int32)) {
		for c := range p.Graph.Connections {
			p.eachJoin(c, edge)
		}
	})
	cycle := d.cycle()
	if cycle == nil {
		return nil
	}
	var names []string
	for _, x := range cycle {
		if x < nodes && len(names) < cycleShown {
			names = append(names, p.nodeName(x))
		}
	}
	return fmt.Errorf("the graph has a cycle: %s wait for each other in a ring: a job's graph has none, so cut one connection", strings.Join(names, ", "))
}

// checkFiles checks that file channels order the bundles: none lies inside a
// bundle, and no bundles wait for each other.
func (p *Expanded) checkFiles() error {
	nodes := p.offset[len(p.offset)-1]
	place := func(x int32) int32 {
		if x < nodes {
			return int32(p.BundleOf(x))
		}
		return x - nodes + int32(len(p.Bundles))
	}
	for c := range p.Graph.Connections {
		if p.Graph.Connections[c].Kind == job.File {
			if err := p.checkInside(c); err != nil {
				return err
			}
			p.countInputs(c)
		}
	}
	d := newDigraph(len(p.Bundles)+len(p.Graph.Connections), func(edge func(from, to int32)) {
		for c := range p.Graph.Connections {
			if p.Graph.Connections[c].Kind == job.File {
				p.eachJoin(c, func(a, b int32) { edge(place(a), place(b)) })
			}
		}
	})
	cycle := d.cycle()
	if cycle == nil {
		return nil
	}
	var names []string
	for _, b := range cycle {
		if int(b) < len(p.Bundles) && len(names) < cycleShown {
			names = append(names, p.nodeName(p.Groups[p.Bundles[b].Groups[0]].Nodes[0]))
		}
	}
	return fmt.Errorf("the bundles of %s wait for each other's files in a ring (nodes joined by tcp or shm channels start together): use file channels inside them, or tcp channels between them", strings.Join(names, ", "))
}

// checkInside finds a file channel whose two ends are in one bundle.
func (p *Expanded) checkInside(c int) error {
	m := &p.Graph.Connections[c]
	writers, readers := p.Sizes(c)
	from, to := p.offset[m.From], p.offset[m.To]
	wrong := func(i, j int) error {
		return fmt.Errorf("%s is a file channel inside a bundle: %s is read by %s, which starts together with it by tcp or shm channels and could never begin: use a tcp or shm channel here too",
			p.Graph.Describe(c), p.nodeName(from+int32(i)), p.nodeName(to+int32(j)))
	}
	if m.Pattern == job.AllToAll {
		writer := make(map[int]int, writers)
		for i := range writers {
			writer[p.BundleOf(from+int32(i))] = i
		}
		for j := range readers {
			if i, ok := writer[p.BundleOf(to+int32(j))]; ok {
				return wrong(i, j)
			}
		}
		return nil
	}
	var err error
	p.eachJoin(c, func(a, b int32) {
		if err == nil && p.BundleOf(a) == p.BundleOf(b) {
			err = wrong(int(a-from), int(b-to))
		}
	})
	return err
}

// countInputs counts the inputs that the readers' groups wait for.
func (p *Expanded) countInputs(c int) {
	to := p.offset[p.Graph.Connections[c].To]
	_, readers := p.Sizes(c)
	for j := range readers {
		p.Groups[p.groupOf[to+int32(j)]].Inputs++
	}
}

func (p *Expanded) nodeName(x int32) string {
	n := p.Node(x)
	return fmt.Sprintf("stage %q node %d", p.Graph.Stages[n.Stage].Name, n.Index)
}
