package dataflow

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/hamadryad/hamadryad/engine/core/changes"
	"github.com/hamadryad/hamadryad/engine/core/internal/checkpoint"
	"github.com/hamadryad/hamadryad/engine/graph"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// aggregation is the state of a file connection into an aggregating stage. Its nodes are chosen once,
// when all writers have stored their output for the first time. The choice stays when outputs are
// lost and made again. The final readers read the outputs of the chosen nodes, over the connection
// out of the stage, and those of the writers that no node reads, over this one.
type aggregation struct {
	wanted *wire.Aggregate
	out    int32 // the connection out of the aggregating stage
	stage  int   // the aggregating stage
	reads  int   // the stage of the final readers
	nodes  int   // the most aggregating nodes

	chosen bool
	covers [][]int32 // by chosen node: the writers that it reads, ascending
	by     []int32   // by writer: the chosen node that reads it, notCovered; nil before the choice
	direct []int32   // the writers that no node reads, ascending
	have   []int32   // by chosen node: how many of its writers have stored output

	summary changes.Aggregation // says what was chosen
}

// notCovered stands in place of a node for a writer that the final readers read.
const notCovered = -1

// leastCovered is the least number of writers for which a place gets an aggregating node: it could
// combine nothing of one writer's output.
const leastCovered = 2

// writersAt are the writers of one place, and their bytes.
type writersAt struct {
	place   string
	writers []int32
	bytes   int64
}

// choosePlaces returns the places that get a node: those with enough writers and bytes. If there
// are more than nodes, those with most bytes get one. They are in order of name.
func choosePlaces(all []writersAt, least int64, nodes int) []writersAt {
	list := slices.DeleteFunc(all, func(x writersAt) bool { return x.place == "" || len(x.writers) < leastCovered || x.bytes < least })
	if len(list) > nodes {
		slices.SortFunc(list, func(a, b writersAt) int { return cmp.Or(cmp.Compare(b.bytes, a.bytes), cmp.Compare(a.place, b.place)) })
		list = list[:nodes]
	}
	slices.SortFunc(list, func(a, b writersAt) int { return cmp.Compare(a.place, b.place) })
	return list
}

// aggregate makes a connection one into an aggregating stage.
func (in *Inputs) aggregate(conn int32) {
	m := in.plan.Connection(int(conn))
	out, _ := graph.AggregateOut(in.plan.Graph, int(conn)) // a valid graph has it
	a := &aggregation{
		wanted: m.Aggregate, out: int32(out), stage: int(m.ToStage), reads: int(in.plan.Connection(out).ToStage),
		nodes: in.plan.StageNodes(int(m.ToStage)),
	}
	n := &in.conns[conn]
	*n = NewConnection(n.Writers(), in.plan.StageNodes(a.reads), true)
	n.aggregated = a
	in.conns[a.out].afterAggregates = true
	a.describe()
	in.Files.into[a.reads], in.Files.aggregates = append(in.Files.into[a.reads], conn), true
	if n.Writers() == 0 { // nothing will be stored
		a.index(0)
		in.conns[a.out].needed = 0
	}
}

// chooseAggregates chooses the aggregating nodes of a connection all of whose outputs are stored.
// It counts for all readers; aggregatesChosen yields what that opens.
func (in *Inputs) chooseAggregates(conn int32, made Makers) {
	n := &in.conns[conn]
	a := n.aggregated
	places := map[string]*writersAt{}
	for w := range n.Writers() {
		host, rack, _ := made.Made(Key{conn, int32(w)})
		if a.wanted.Level == wire.Level_LEVEL_RACK {
			host = rack
		}
		x := places[host]
		if x == nil {
			x = &writersAt{place: host}
			places[host] = x
		}
		x.writers = append(x.writers, int32(w))
		x.bytes += n.Size(w)
	}
	all := make([]writersAt, 0, len(places))
	for _, name := range slices.Sorted(maps.Keys(places)) {
		all = append(all, *places[name])
	}
	a.summary = changes.Aggregation{Places: uint32(len(all))}
	list := choosePlaces(all, a.wanted.Bytes, a.nodes)
	for _, x := range list {
		a.summary.Bytes += x.bytes
		a.covers = append(a.covers, x.writers)
	}
	a.index(n.Writers())
	// The sizes of the covered writers' partitions were not kept: subtract an even share.
	total := n.total()
	for i := range n.perReader {
		n.perReader[i] -= share(n.perReader[i], a.summary.Bytes, total)
	}
	for g, writers := range a.covers {
		a.have[g] = int32(len(writers))
		for _, w := range writers {
			n.add(made.MadeBy(Key{conn, w}), -n.Size(int(w)))
		}
	}
	n.done, n.needed = len(a.direct), len(a.direct)
	in.conns[a.out].needed = len(a.covers)
}

// index fills what follows from the chosen nodes, except what they have.
func (a *aggregation) index(writers int) {
	a.chosen, a.by, a.direct = true, make([]int32, writers), nil
	a.have = make([]int32, len(a.covers))
	for w := range a.by {
		a.by[w] = notCovered
	}
	for g, list := range a.covers {
		for _, w := range list {
			a.by[w] = int32(g)
		}
	}
	for w, g := range a.by {
		if g == notCovered {
			a.direct = append(a.direct, int32(w))
		}
	}
	a.summary.Nodes, a.summary.Covered, a.summary.Direct = uint32(len(a.covers)), uint32(writers-len(a.direct)), uint32(len(a.direct))
	a.describe()
}

// describe completes the summary.
func (a *aggregation) describe() {
	a.summary.Chosen, a.summary.Least, a.summary.Level = a.chosen, a.wanted.Bytes, a.wanted.Level
}

// aggregatesChosen yields the changes of gates by a choice. Final readers are updated one after the
// other; one without any input of a connection left has it open, too.
func (in *Inputs) aggregatesChosen(conn int32) iter.Seq[GateChange] {
	n := &in.conns[conn]
	a := n.aggregated
	in.openAll(n)
	if out := &in.conns[a.out]; out.needed == 0 {
		in.openAll(out)
	}
	return func(yield func(GateChange) bool) {
		for g, have := range a.have {
			yield(GateChange{int(conn), a.stage, g, int(have), int(have) - 1, int(have)})
		}
	}
}

// openAll begins an update of all readers of a connection that has all that they need.
func (in *Inputs) openAll(n *Connection) {
	n.updating, n.updated, n.before = true, 0, n.done-1
	in.updating++
}

// covered returns the node that reads a writer's output in place of the final readers; false: these
// read it, or the nodes are not chosen.
func (n *Connection) covered(from int) (node int, is bool) {
	if n.aggregated == nil || !n.aggregated.chosen {
		return 0, false
	}
	g := n.aggregated.by[from]
	return int(g), g != notCovered
}

// countCovered adds or removes a writer for the node that covers it.
func (in *Inputs) countCovered(k Key, node, delta int) iter.Seq[GateChange] {
	a := in.conns[k.Conn].aggregated
	old := int(a.have[node])
	a.have[node] += int32(delta)
	return func(yield func(GateChange) bool) {
		yield(GateChange{int(k.Conn), a.stage, node, len(a.covers[node]), old, old + delta})
	}
}

// aggregator returns the aggregation of a connection if a node is of the aggregating stage, else nil.
func (in *Inputs) aggregator(conn int32, n graph.Node) *aggregation {
	if a := in.conns[conn].aggregated; a != nil && a.stage == n.Stage {
		return a
	}
	return nil
}

// complete reports whether all chosen nodes have the outputs that they read.
func (a *aggregation) complete() bool {
	for g, have := range a.have {
		if int(have) < len(a.covers[g]) {
			return false
		}
	}
	return a.chosen
}

// cover returns the writers that an aggregating node reads; nil: it is not chosen.
func (a *aggregation) cover(node int) []int32 {
	if node >= len(a.covers) {
		return nil
	}
	return a.covers[node]
}

// known returns how many writers an aggregating node has, and how many it needs. A node that is not
// chosen never has what it needs.
func (a *aggregation) known(node int) (have, needs int) {
	if node >= len(a.covers) {
		return 0, 1
	}
	return int(a.have[node]), len(a.covers[node])
}

// Aggregates returns the connection into an aggregating stage, and whether the stage is one.
func (f *FileGraph) Aggregates(stage int) (conn int32, is bool) {
	if !f.aggregates {
		return 0, false
	}
	for _, c := range f.into[stage] {
		if m := f.plan.Connection(int(c)); m.Aggregate != nil && int(m.ToStage) == stage {
			return c, true
		}
	}
	return 0, false
}

// AggregatedBy returns the node of the aggregating stage that reads an output; false: none does.
func (in *Inputs) AggregatedBy(k Key) (graph.Node, bool) {
	node, is := in.conns[k.Conn].covered(int(k.From))
	if !is {
		return graph.Node{}, false
	}
	return graph.Node{Stage: in.conns[k.Conn].aggregated.stage, Index: node}, true
}

// ReaderStage returns the stage whose nodes read a connection's outputs, except those that
// aggregating nodes read.
func (in *Inputs) ReaderStage(conn int32) int {
	if a := in.conns[conn].aggregated; a != nil {
		return a.reads
	}
	return int(in.plan.Connection(int(conn)).ToStage)
}

// Aggregation says what was chosen of an aggregating stage. The zero value is that of another stage.
func (in *Inputs) Aggregation(stage int) changes.Aggregation {
	if conn, is := in.Files.Aggregates(stage); is {
		return in.conns[conn].aggregated.summary
	}
	return changes.Aggregation{}
}

// Counts lists the connections into a group of nodes whose writers were chosen, with the number of
// writers that each node reads.
func (in *Inputs) Counts(nodes []int32) (list []*wire.InputCount) {
	if !in.Files.aggregates {
		return nil
	}
	for i, x := range nodes {
		n := in.plan.Node(x)
		if i > 0 && in.plan.Node(nodes[i-1]).Stage == n.Stage {
			continue // nodes of a stage read as many
		}
		for _, conn := range in.Files.into[n.Stage] {
			if c := &in.conns[conn]; c.aggregated != nil || c.afterAggregates {
				list = append(list, &wire.InputCount{Connection: uint32(conn), Writers: uint32(in.fanIn(conn, n))})
			}
		}
	}
	return list
}

// fanIn returns how many writers a node reads over a connection.
func (in *Inputs) fanIn(conn int32, n graph.Node) int {
	if a := in.aggregator(conn, n); a != nil {
		_, needs := a.known(n.Index)
		return needs
	}
	if c := &in.conns[conn]; c.all {
		return c.needed
	}
	return in.plan.FanIn(int(conn), n.Index)
}

// knownWriters returns how many of them are stored, as far as the node was updated.
func (in *Inputs) knownWriters(conn int32, n graph.Node) int {
	if a := in.aggregator(conn, n); a != nil {
		have, _ := a.known(n.Index)
		return have
	}
	return in.conns[conn].KnownWriters(n.Index)
}

// clone returns an independent copy. What was chosen never changes, except what the nodes have.
func (a *aggregation) clone() *aggregation {
	if a == nil {
		return nil
	}
	f := *a
	f.have = slices.Clone(a.have)
	return &f
}

// code codes the choice.
func (a *aggregation) code(w *checkpoint.Codec, n *Connection) {
	checkpoint.Flag(w, &a.chosen)
	checkpoint.List(w, &a.covers, func(w *checkpoint.Codec, x *[]int32) { checkpoint.Nums(w, x) })
	checkpoint.Num(w, &a.summary.Places)
	checkpoint.Num(w, &a.summary.Bytes)
	if !w.Reading || w.Err != nil || !a.chosen {
		return
	}
	if len(a.covers) > a.nodes {
		w.Fail(fmt.Errorf("%d aggregating nodes are chosen, and there may be %d", len(a.covers), a.nodes))
		return
	}
	read := make([]bool, n.Writers())
	for g, list := range a.covers {
		sorted := slices.IsSorted(list)
		for _, x := range list {
			if !sorted || x < 0 || int(x) >= n.Writers() || read[x] {
				w.Fail(fmt.Errorf("aggregating node %d reads writers %v of %d, or another reads one of them too", g, list, n.Writers()))
				return
			}
			read[x] = true
		}
	}
	a.index(n.Writers())
	n.needed = len(a.direct)
	for w, g := range a.by {
		if g != notCovered && n.There(w) {
			a.have[g]++
		}
	}
}

// check recounts what the chosen nodes have.
func (a *aggregation) check(n *Connection) error {
	if !a.chosen {
		if n.done == n.Writers() {
			return fmt.Errorf("all of %d writers are there, and aggregating nodes are not chosen", n.Writers())
		}
		return nil
	}
	have, covered := make([]int32, len(a.covers)), 0
	for g, list := range a.covers {
		covered += len(list)
		for _, w := range list {
			if n.There(int(w)) {
				have[g]++
			}
		}
	}
	if !slices.Equal(have, a.have) || covered+len(a.direct) != n.Writers() || n.needed != len(a.direct) {
		return fmt.Errorf("aggregating nodes have %v of %v, counted as %v; %d of %d writers are not aggregated, %d needed", have, a.covers, a.have, len(a.direct), n.Writers(), n.needed)
	}
	return nil
}
