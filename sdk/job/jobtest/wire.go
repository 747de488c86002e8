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

// unused reports whether a node is a consumer of an adapted connection without a partition. Here each
// partition has a consumer of its own.
func (r *run) unused(n expand.Node) bool {
	for _, c := range r.graph.Connections() {
		if a := c.Channel.Adapt; c.To.Stage.Spec().ID == n.Stage && a != (job.Adapt{}) && n.Index >= a.Partitions {
			return true
		}
	}
	return false
}

// join joins the nodes of one connection. It takes each writer's readers in order, so that each
// reader has its writers in order.
func (r *run) join(all *expand.Expanded, i int) {
	c := r.graph.Connections()[i]
	from, to := c.From.Stage.Spec(), c.To.Stage.Spec()
	node := func(stage, index int) int32 { return all.Number(expand.Node{Stage: stage, Index: index}) }
	for index := range to.Nodes {
		r.nodes[node(to.ID, index)].in(c.To.Name)
	}
	for index := range from.Nodes {
		writer := node(from.ID, index)
		out := r.nodes[writer].out(c.From.Name)
		joined := connection{id: i}
		readers, list := all.Readers(i, index)
		expand.Each(readers, list, func(at int) {
			if c.Channel.Adapt != (job.Adapt{}) && at >= c.Channel.Adapt.Partitions {
				return
			}
			reader := node(to.ID, at)
			joined.streams = append(joined.streams, r.nodes[reader].in(c.To.Name).add(index, c.Channel.Kind == job.File))
			before, b := r.bundles[all.BundleOf(writer)], r.bundles[all.BundleOf(reader)]
			if c.Channel.Kind == job.File && !slices.Contains(b.after, before) {
				b.after = append(b.after, before)
			}
		})
		out.connections = append(out.connections, joined)
	}
}
