package dataflow

import (
	"fmt"
	"math"
	"slices"

	"github.com/hamadryad/hamadryad/engine/core/changes"
	"github.com/hamadryad/hamadryad/engine/core/internal/checkpoint"
	"github.com/hamadryad/hamadryad/engine/graph"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// adaptation is the state of an adapted file connection, whose readers are chosen by the sizes of
// its partitions. They are chosen once, when all writers have stored their output for the first
// time. The choice stays when outputs are lost and made again: some readers may have begun.
type adaptation struct {
	wanted   *wire.Adapt
	readers  int        // the most that there may be
	portions []Portion  // by reader; nil: not chosen yet
	sizes    [][]uint32 // by writer: bytes of its partitions; nil: not stored, or no longer needed
	median   int64      // bytes of the median partition, when they were chosen

	spread *changes.Spread // says how they were chosen; made of the above, and never changed
}

// put keeps the sizes of a writer's partitions, as long as they matter. A partition of 4 GiB or more
// of one writer counts as that.
func (a *adaptation) put(from int, partitions []int64) {
	if a.portions != nil {
		return
	}
	sizes := make([]uint32, a.wanted.Partitions)
	for i, b := range partitions[:min(len(partitions), len(sizes))] {
		sizes[i] = uint32(min(max(b, 0), math.MaxUint32))
	}
	a.sizes[from] = sizes // a new list: a clone may have the one before
}

// lose forgets the sizes of a writer's partitions.
func (a *adaptation) lose(from int) {
	if a.portions == nil {
		a.sizes[from] = nil
	}
}

// choose chooses the portions.
func (a *adaptation) choose() {
	p := portioning{
		sizes: make([]int64, a.wanted.Partitions), writers: len(a.sizes), readers: a.readers, bytes: a.wanted.Bytes, split: a.wanted.Split,
		of: func(partition, w int) int64 { return int64(a.sizes[w][partition]) },
	}
	for _, of := range a.sizes {
		for i, b := range of {
			p.sizes[i] += int64(b)
		}
	}
	a.portions, a.sizes, a.median = p.choose(), nil, medianOf(p.sizes)
	a.describe()
}

// describe makes the spread of what was chosen.
func (a *adaptation) describe() {
	s := spreadOf(a.portions)
	s.Median, s.Bytes = a.median, a.wanted.Bytes
	a.spread = &s
}

// width returns how many readers there are: the least number before they are chosen.
func (a *adaptation) width() int { return max(len(a.portions), LeastWidth) }

// LeastWidth is the number of an adapted connection's readers before they are chosen.
const LeastWidth = 1

// clone returns an independent copy. The lists of sizes are shared: they never change.
func (a *adaptation) clone() *adaptation {
	if a == nil {
		return nil
	}
	f := *a
	f.sizes = slices.Clone(a.sizes)
	return &f
}

func (a *adaptation) code(w *checkpoint.Codec) {
	checkpoint.List(w, &a.portions, func(w *checkpoint.Codec, x *Portion) {
		for _, n := range []*int32{&x.Low, &x.High, &x.First, &x.End} {
			checkpoint.Num(w, n)
		}
		checkpoint.Num(w, &x.Bytes)
	})
	checkpoint.List(w, &a.sizes, func(w *checkpoint.Codec, x *[]uint32) { checkpoint.Nums(w, x) })
	if w.Format > 7 {
		checkpoint.Num(w, &a.median)
	}
	if w.Reading && a.portions != nil {
		a.describe()
	}
}

// check checks that the portions cover each pair of a partition and a writer once.
func (a *adaptation) check(writers int) error {
	at := Portion{High: 0, First: 0, End: int32(writers)}
	for i, x := range a.portions {
		next := at.End == int32(writers) && x.Low == at.High && x.First == 0 // after all writers of the partitions before
		more := x.Low == at.Low && x.High == at.High && x.First == at.End    // after some of their writers
		if !next && !more || x.High <= x.Low || x.End < x.First || int(x.End) > writers {
			return fmt.Errorf("reader %d reads %+v, after %+v", i, x, at)
		}
		at = x
	}
	if n := len(a.portions); n > 0 && (int(at.High) != int(a.wanted.Partitions) || int(at.End) != writers || n > a.readers) {
		return fmt.Errorf("%d of %d readers read up to %+v, of %d partitions and %d writers", n, a.readers, at, a.wanted.Partitions, writers)
	}
	return nil
}

// adapt makes a connection an adapted one.
func (n *Connection) adapt(wanted *wire.Adapt, readers int) {
	n.adapted = &adaptation{wanted: wanted, readers: readers, sizes: make([][]uint32, n.Writers())}
	n.perReader = nil
	if n.Writers() == 0 {
		n.adapted.choose() // nothing will be stored
	}
}

// Adapted returns the adapted connection into a stage, and whether there is one.
func (f *FileGraph) Adapted(stage int) (conn int32, is bool) {
	for _, c := range f.into[stage] {
		if f.plan.Connection(int(c)).Adapt != nil {
			return c, true
		}
	}
	return 0, false
}

// Chosen returns the connection into a stage by which the stage's nodes are chosen, and whether
// there is one: it is adapted, or the stage is an aggregating one.
func (f *FileGraph) Chosen(stage int) (conn int32, is bool) {
	if conn, is = f.Adapted(stage); is {
		return conn, true
	}
	return f.Aggregates(stage)
}

// Width returns how many nodes are chosen by a connection: those of LeastWidth before the choice. It
// never becomes less.
func (in *Inputs) Width(conn int32) int {
	if a := in.conns[conn].aggregated; a != nil {
		return len(a.covers)
	}
	return in.conns[conn].adapted.width()
}

// LeastWidth returns how many nodes there are before the choice by a connection.
func (in *Inputs) LeastWidth(conn int32) int {
	if in.conns[conn].aggregated != nil {
		return 0
	}
	return LeastWidth
}

// NodesChosen reports whether nodes were chosen by a connection.
func (in *Inputs) NodesChosen(conn int32) bool {
	n := &in.conns[conn]
	return n.adapted != nil && n.adapted.portions != nil || n.aggregated != nil && n.aggregated.chosen
}

// Spread returns how the partitions of an adapted connection were given to readers; false: it is
// not adapted, or they were not yet.
func (in *Inputs) Spread(conn int32) (changes.Spread, bool) {
	a := in.conns[conn].adapted
	if a == nil || a.spread == nil {
		return changes.Spread{}, false
	}
	return *a.spread, true
}

// PortionOf returns what a reader of a connection reads; false: the connection is not adapted, or
// its readers are not chosen.
func (in *Inputs) PortionOf(conn int32, reader int) (Portion, bool) {
	a := in.conns[conn].adapted
	if a == nil || reader >= len(a.portions) {
		return Portion{}, false
	}
	return a.portions[reader], true
}

// writersOf returns the writers whose output a node reads, as a range and an ascending list.
func (in *Inputs) writersOf(conn int32, n graph.Node) (graph.Range, []int32) {
	c := &in.conns[conn]
	if x, is := in.PortionOf(conn, n.Index); is {
		return graph.Range{Low: int(x.First), High: int(x.End)}, nil
	}
	switch a := c.aggregated; {
	case c.afterAggregates:
		return graph.Range{High: c.needed}, nil
	case a == nil:
		return in.plan.Writers(int(conn), n.Index)
	case a.stage == n.Stage:
		return graph.Range{}, a.cover(n.Index)
	case len(a.covers) > 0:
		return graph.Range{}, a.direct
	}
	return graph.Range{High: c.Writers()}, nil // all, as far as it is known
}
