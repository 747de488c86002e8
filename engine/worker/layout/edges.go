package layout

import (
	"math"

	"github.com/hamadryad/hamadryad/engine/graph"
)

// anySize are limits that refuse nothing: the manager has checked the graph against the site's
// limits.
var anySize = graph.Limits{
	Stages: math.MaxInt, Nodes: math.MaxInt, Connections: math.MaxInt, Edges: math.MaxInt,
	GroupNodes: math.MaxInt, BundleGroups: math.MaxInt, Slots: math.MaxInt, Memory: math.MaxInt64,
	NameBytes: math.MaxInt, Places: math.MaxInt, AdaptPairs: math.MaxInt,
}

// Readers lists the nodes that read the output of node from over a connection, in order. Partition
// i of the writer belongs to reader i of the list.
func (l *Layout) Readers(connection, from int) []int {
	r, list := l.plan.Readers(connection, from)
	return indexes(r, list)
}

// Partitions is how many partitions node from writes over a connection.
func (l *Layout) Partitions(connection, from int) int { return l.plan.Partitions(connection, from) }

// Writers lists the nodes whose output node to reads over a connection, in order.
func (l *Layout) Writers(connection, to int) []int {
	r, list := l.plan.Writers(connection, to)
	return indexes(r, list)
}

// WriterRange is Writers as a range from low to high, excluding high, and a list.
func (l *Layout) WriterRange(connection, to int) (low, high int, list []int32) {
	r, list := l.plan.Writers(connection, to)
	return r.Low, r.High, list
}

func indexes(r graph.Range, list []int32) []int {
	all := make([]int, 0, r.High-r.Low+len(list))
	graph.Each(r, list, func(i int) { all = append(all, i) })
	return all
}

// Partition is the position of node to among the readers of node from.
func (l *Layout) Partition(connection, from, to int) int {
	r, list := l.plan.Readers(connection, from)
	for i, reader := range list {
		if int(reader) == to {
			return i
		}
	}
	return to - r.Low
}
