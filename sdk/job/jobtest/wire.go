package jobtest

import (
	"fmt"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/job"
	"github.com/hamadryad/hamadryad/sdk/job/process"
)

// wire makes the nodes, joins them, and finds the bundles and their order.
func (r *run) wire() error {
	first := make([]int, len(r.graph.Stages())) // the stage's first node among all
	for i, s := range r.graph.Stages() {
		first[i] = len(r.nodes)
		spec := s.Spec()
		if spec.Command != nil {
			spec.Program = process.Program(spec.Command)
		}
		for index := range spec.Nodes {
			r.nodes = append(r.nodes, newNode(r, spec, index))
		}
	}
	set := newSets(len(r.nodes))
	type edge struct{ from, to int }
	var files []edge
	for i, c := range r.graph.Connections() {
		from, to := c.From.Stage.Spec(), c.To.Stage.Spec()
		for _, n := range r.nodes[first[from.ID] : first[from.ID]+from.Nodes] {
			n.out(c.From.Name).connections = append(n.out(c.From.Name).connections, connection{id: i})
		}
		for _, n := range r.nodes[first[to.ID] : first[to.ID]+to.Nodes] {
			n.in(c.To.Name)
		}
		for _, e := range edges(c, from.Nodes, to.Nodes) {
			a, b := first[from.ID]+e.From, first[to.ID]+e.To
			s := r.nodes[b].in(c.To.Name).add(e.From)
			out := r.nodes[a].out(c.From.Name)
			last := &out.connections[len(out.connections)-1]
			last.streams = append(last.streams, s)
			if c.Channel.Kind == job.File {
				files = append(files, edge{a, b})
			} else {
				set.join(a, b)
			}
		}
	}
	byRoot := map[int]*bundle{}
	for i, n := range r.nodes {
		root := set.find(i)
		b := byRoot[root]
		if b == nil {
			b = &bundle{done: make(chan struct{})}
			byRoot[root] = b
			r.bundles = append(r.bundles, b)
		}
		b.nodes = append(b.nodes, n)
	}
	for _, e := range files {
		reader, writer := byRoot[set.find(e.to)], byRoot[set.find(e.from)]
		if reader == writer {
			return fmt.Errorf("a file channel from stage %q to stage %q lies inside a bundle", r.nodes[e.from].spec.Name, r.nodes[e.to].spec.Name)
		}
		if !slices.Contains(reader.after, writer) {
			reader.after = append(reader.after, writer)
		}
	}
	return r.checkOrder()
}

// checkOrder refuses bundles that wait for each other in a ring.
func (r *run) checkOrder() error {
	const visiting, visited = 1, 2
	state := map[*bundle]int{}
	var visit func(b *bundle) error
	visit = func(b *bundle) error {
		switch state[b] {
		case visited:
			return nil
		case visiting:
			return fmt.Errorf("the graph has a cycle through stage %q", b.nodes[0].spec.Name)
		}
		state[b] = visiting
		for _, before := range b.after {
			if err := visit(before); err != nil {
				return err
			}
		}
		state[b] = visited
		return nil
	}
	for _, b := range r.bundles {
		if err := visit(b); err != nil {
			return err
		}
	}
	return nil
}

// edges lists a connection's edges, those of each writer in order of the reader.
func edges(c job.Connection, n, m int) []job.Edge {
	var all []job.Edge
	switch c.Pattern {
	case job.OneToOne:
		for i := range n {
			all = append(all, job.Edge{From: i, To: i})
		}
	case job.AllToAll:
		for i := range n {
			for j := range m {
				all = append(all, job.Edge{From: i, To: j})
			}
		}
	case job.Merge:
		for i := range n {
			all = append(all, job.Edge{From: i, To: i * m / n})
		}
	case job.Fork:
		for j := range m {
			all = append(all, job.Edge{From: j * n / m, To: j})
		}
	case job.Edges:
		all = slices.Clone(c.Edges)
		slices.SortStableFunc(all, func(a, b job.Edge) int { return a.To - b.To })
	}
	return all
}

// sets are disjoint sets of nodes.
type sets []int

func newSets(n int) sets {
	s := make(sets, n)
	for i := range s {
		s[i] = i
	}
	return s
}

func (s sets) find(i int) int {
	for s[i] != i {
		s[i] = s[s[i]]
		i = s[i]
	}
	return i
}

func (s sets) join(a, b int) { s[max(s.find(a), s.find(b))] = min(s.find(a), s.find(b)) }
