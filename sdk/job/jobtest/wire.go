package jobtest

import (
	"slices"

	"github.com/hamadryad/hamadryad/internal/expand"
	"github.com/hamadryad/hamadryad/internal/process"
	"github.com/hamadryad/hamadryad/sdk/job"
)

// wire makes the nodes, joins them, and finds the bundles and their order.
func (r *run) wire() error {
	all, err := expand.Expand(expand.Of(r.graph), r.options.Memory, expand.Limits{})
	if err != nil {
		return err
	}
	for _, s := range r.graph.Stages() {
		spec := s.Spec()
		if spec.Command != nil {
			spec.Program = process.Program(spec.Command)
		}
		for index := range spec.Nodes {
			r.nodes = append(r.nodes, newNode(r, spec, index))
		}
	}
	for _, x := range all.Bundles {
		if r.unused(all.Node(all.Groups[x.Groups[0]].Nodes[0])) {
			r.bundles = append(r.bundles, &bundle{done: make(chan struct{})})
			continue
		}
		b := &bundle{done: make(chan struct{})}
		for _, group := range x.Groups {
			for _, n := range all.Groups[group].Nodes {
				b.nodes = append(b.nodes, r.nodes[n])
			}
		}
		r.bundles = append(r.bundles, b)
	}
	for i := range r.graph.Connections() {
		r.join(all, i)
	}
	return nil
}

// unused reports whether a node is a consumer of an adapted connection without a partition, or one of
// an aggregating stage that reads nothing. Here each partition has a consumer of its own, and one node
// aggregates.
func (r *run) unused(n expand.Node) bool {
	for _, c := range r.graph.Connections() {
		if c.Channel.Aggregate != (job.Aggregate{}) && c.To.Stage.Spec().ID == n.Stage && (n.Index > 0 || aggregatedHere(c) == 0) {
			return true
		}
		if a := c.Channel.Adapt; c.To.Stage.Spec().ID == n.Stage && a != (job.Adapt{}) && n.Index >= a.Partitions {
			return true
		}
	}
	return false
}

// aggregatedHere is how many writers of a connection into an aggregating stage its first node reads.
// The final consumers read the others. So a test sees both.
func aggregatedHere(c job.Connection) int {
	if n := c.From.Stage.Spec().Nodes; n >= leastAggregated {
		return (n + 1) / leastAggregated
	}
	return 0
}

const leastAggregated = 2

// join joins the nodes of one connection. It takes each writer's readers in order, so that each
// reader has its writers in order.
func (r *run) join(all *expand.Expanded, i int) {
	c := r.graph.Connections()[i]
	from, to := c.From.Stage.Spec(), c.To.Stage.Spec()
	for index := range to.Nodes {
		r.nodes[all.Number(expand.Node{Stage: to.ID, Index: index})].in(c.To.Name)
	}
	for index := range from.Nodes {
		writer := all.Number(expand.Node{Stage: from.ID, Index: index})
		out := r.nodes[writer].out(c.From.Name)
		joined := connection{id: i}
		for _, at := range r.readers(all, i, index) {
			reader := all.Number(at.node)
			joined.streams = append(joined.streams, r.nodes[reader].in(at.port).add(index, c.Channel.Kind == job.File))
			before, b := r.bundles[all.BundleOf(writer)], r.bundles[all.BundleOf(reader)]
			if c.Channel.Kind == job.File && !slices.Contains(b.after, before) {
				b.after = append(b.after, before)
			}
		}
		out.connections = append(out.connections, joined)
	}
}

// portAt is an input port of a node.
type portAt struct {
	node expand.Node
	port string
}

// readers lists the readers of a writer's partitions over a connection, in order of partition.
func (r *run) readers(all *expand.Expanded, i, from int) (list []portAt) {
	c := r.graph.Connections()[i]
	writer := expand.Node{Stage: c.From.Stage.Spec().ID, Index: from}
	if r.unused(writer) {
		return nil
	}
	to, port := c.To.Stage.Spec().ID, c.To.Name
	out, aggregates := r.graph.AggregateOut(c)
	if aggregates && from < aggregatedHere(c) {
		for range out.To.Stage.Spec().Nodes {
			list = append(list, portAt{expand.Node{Stage: to}, port})
		}
		return list
	}
	if aggregates {
		for p := range out.To.Stage.Spec().Nodes {
			list = append(list, portAt{expand.Node{Stage: out.To.Stage.Spec().ID, Index: p}, out.To.Name})
		}
		return list
	}
	readers, some := all.Readers(i, from)
	expand.Each(readers, some, func(at int) {
		if c.Channel.Adapt == (job.Adapt{}) || at < c.Channel.Adapt.Partitions {
			list = append(list, portAt{expand.Node{Stage: to, Index: at}, port})
		}
	})
	return list
}
