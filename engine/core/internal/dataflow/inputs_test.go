package dataflow

import (
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/hamadryad/hamadryad/engine/core/internal/checkpoint"
	"github.com/hamadryad/hamadryad/engine/core/internal/checkpoint/codectest"
	"github.com/hamadryad/hamadryad/engine/graph"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// game is the inputs of a random job, with a simple model: the existing outputs, and what each
// reader was sent.
type game struct {
	t       *rapid.T
	plan    *graph.Expanded
	in      *Inputs
	gates   []Gate
	feed    Feed
	now     scheduler.Time
	there   map[Key]scheduler.LauncherID
	readers []*told

	aggregates bool          // a's outputs go to d where that pays, and to b
	least      int           // writers' outputs of one launcher for which it gets a node of d
	covers     [][]int32     // by node of d; nil: not chosen
	cover      map[int32]int // by writer: the node of d that reads it
}

// The connections of a game with an aggregating stage, which is d.
const (
	toAggregate    = 3
	fromAggregate  = 4
	aggregateStage = 3
)

// told is the reader of an attempt, with what it received.
type told struct {
	Reader
	id   scheduler.AttemptID
	node int32
	has  map[Key]int // how often it received each source
	last uint64      // the update that it has to confirm
}

const command = 3 * (sourceBytes + 1) // the size of three sources

func newGame(t *rapid.T) *game {
	aggregates, writers := rapid.Bool().Draw(t, "aggregates"), 70
	if aggregates {
		writers = 8 // few, so that all are there at some time
	}
	g := &wire.Graph{Stages: []*wire.Stage{
		{Name: "a", Nodes: uint32(rapid.IntRange(1, writers).Draw(t, "writers"))},
		{Name: "b", Nodes: uint32(rapid.IntRange(1, 4).Draw(t, "readers"))},
		{Name: "c", Nodes: 1},
	}}
	join := func(from, to uint32, p wire.Pattern) *wire.Connection {
		return &wire.Connection{
			FromStage: from, FromPort: fmt.Sprint("out", to), ToStage: to, ToPort: fmt.Sprint("in", from), Pattern: p, Kind: wire.ChannelKind_CHANNEL_KIND_FILE,
			SlowStart: rapid.SampledFrom([]float64{0, 0.3, 0.9}).Draw(t, "slow-start"),
		}
	}
	some := join(0, 2, wire.Pattern_PATTERN_EDGES)
	for from := range g.Stages[0].Nodes {
		if from%3 == 0 {
			some.Edges = append(some.Edges, &wire.Edge{From: from, To: 0})
		}
	}
	g.Connections = []*wire.Connection{join(0, 1, wire.Pattern_PATTERN_ALL_TO_ALL), join(1, 2, wire.Pattern_PATTERN_MERGE), some}
	w := &game{t: t, there: map[Key]scheduler.LauncherID{}, aggregates: aggregates, least: rapid.IntRange(1, 4).Draw(t, "least")}
	if w.aggregates {
		g.Stages = append(g.Stages, &wire.Stage{Name: "d", Nodes: uint32(rapid.IntRange(1, 4).Draw(t, "aggregating nodes"))})
		g.Connections = append(g.Connections, join(0, 3, wire.Pattern_PATTERN_ALL_TO_ALL), join(3, 1, wire.Pattern_PATTERN_ALL_TO_ALL))
		g.Connections[toAggregate].SlowStart, g.Connections[fromAggregate].SlowStart = 0, 0
		g.Connections[toAggregate].Aggregate = &wire.Aggregate{Level: wire.Level_LEVEL_MACHINE, Bytes: int64(10 * w.least)}
	}
	plan, err := graph.Expand(g, 1, graph.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	in := New(plan)
	w.plan, w.in, w.gates = plan, &in, make([]Gate, len(plan.Bundles))
	for b := range w.gates {
		w.in.Recount(&w.gates[b], w.nodes(b))
	}
	return w
}

func (w *game) nodes(bundle int) iter.Seq[int32] {
	return slices.Values(w.plan.Groups[w.plan.Bundles[bundle].Groups[0]].Nodes)
}

// keys lists all outputs that a node reads.
func (w *game) keys(node int32) (list []Key) {
	n := w.plan.Node(node)
	for c, m := range w.plan.Graph.Connections {
		switch {
		case c == toAggregate && (n.Stage == 1 || n.Stage == aggregateStage):
			writers, _ := w.plan.Sizes(c)
			for from := range int32(writers) {
				node, covered := w.cover[from]
				if n.Stage == 1 && !covered || n.Stage == aggregateStage && covered && node == n.Index {
					list = append(list, Key{int32(c), from})
				}
			}
		case c == fromAggregate && n.Stage == 1 && w.covers != nil:
			for g := range w.covers {
				list = append(list, Key{int32(c), int32(g)})
			}
		case int(m.ToStage) == n.Stage:
			r, some := w.plan.Writers(c, n.Index)
			graph.Each(r, some, func(from int) { list = append(list, Key{int32(c), int32(from)}) })
		}
	}
	return list
}

func (w *game) source(k Key) *wire.Source {
	if w.there[k] == 0 {
		w.t.Fatalf("%v is asked for and not there", k)
	}
	return &wire.Source{Connection: uint32(k.Conn), From: uint32(k.From), Address: "h"}
}

func (w *game) hear(r *told, list []*wire.Source) {
	for _, s := range list {
		r.has[Key{int32(s.Connection), int32(s.From)}]++
	}
}

// step makes one event happen, and what follows from it.
func (w *game) step() {
	w.now++
	w.feed.Begin(w.now, command)
	switch rapid.IntRange(0, 9).Draw(w.t, "do") {
	case 0, 1, 2, 3, 4:
		w.write()
	case 5:
		w.start()
	case 6:
		w.readBack()
	case 7: // a reader reports an input that it can't read
		if r := w.some(); r != nil {
			k := rapid.SampledFrom(w.keys(r.node)).Draw(w.t, "lost")
			if r.has[k] > 0 && !r.IsMissing(k) && !slices.Contains(r.given, k) {
				r.has[k] = 0
				w.in.Miss(&r.Reader, r.id, k)
				w.feed.SupplyTo(w.in, &r.Reader, k, w.source)
			}
		}
	case 8: // its launcher's stream breaks: what was in flight is sent again
		if r := w.some(); r != nil {
			for _, k := range r.given {
				r.has[k]--
			}
			w.in.MissUnconfirmed(&r.Reader)
			w.feed.Fill(w.in, &r.Reader, w.source)
		}
	case 9:
		if r := w.some(); r != nil && rapid.Bool().Draw(w.t, "ends") {
			w.in.End(&r.Reader)
			w.feed.Drop(r.id)
			w.readers = slices.DeleteFunc(w.readers, func(x *told) bool { return x == r })
		}
	}
	w.deliver()
}

func (w *game) some() *told {
	if len(w.readers) == 0 {
		return nil
	}
	return rapid.SampledFrom(w.readers).Draw(w.t, "reader")
}

// write makes an output appear, appear again or disappear.
func (w *game) write() {
	c := min(rapid.IntRange(0, 8).Draw(w.t, "connection"), len(w.plan.Graph.Connections)-1)
	if w.aggregates && w.covers == nil {
		c = toAggregate // most of what is tested comes after the choice
	}
	writers, _ := w.plan.Sizes(c)
	k := Key{int32(c), int32(rapid.IntRange(0, writers-1).Draw(w.t, "writer"))}
	if c == fromAggregate && int(k.From) >= len(w.covers) {
		return // that node does not run
	}
	var list iter.Seq[GateChange]
	if old := w.there[k]; old != 0 && rapid.IntRange(0, 2).Draw(w.t, "lose") == 0 {
		delete(w.there, k)
		list = w.in.Lose(k, old)
	} else {
		w.there[k] = scheduler.LauncherID(rapid.IntRange(1, 3).Draw(w.t, "where"))
		list = w.in.PutOutput(k, 10, nil, w.there[k], old, w)
		w.choose()
	}
	for x := range list {
		w.in.ApplyGateChange(&w.gates[w.in.Files.Bundle(x)], x)
	}
	for range rapid.IntRange(0, 3).Draw(w.t, "told") {
		w.tell(k.Conn)
	}
	if w.there[k] != 0 {
		w.feed.Supply(w.in, k, w.source)
	}
}

// choose chooses the nodes of d once all of a have written: by launcher, up to the number of nodes,
// those with most writers first.
func (w *game) choose() {
	if !w.aggregates || w.covers != nil {
		return
	}
	writers, nodes := w.plan.Sizes(toAggregate)
	at := map[scheduler.LauncherID][]int32{}
	for from := range int32(writers) {
		l := w.there[Key{toAggregate, from}]
		if l == 0 {
			return
		}
		at[l] = append(at[l], from)
	}
	w.covers, w.cover = [][]int32{}, map[int32]int{}
	for _, l := range slices.Sorted(maps.Keys(at)) {
		larger := 0
		for other, list := range at {
			if len(list) > len(at[l]) || len(list) == len(at[l]) && other < l {
				larger++
			}
		}
		if len(at[l]) >= max(w.least, 2) && larger < nodes {
			for _, from := range at[l] {
				w.cover[from] = len(w.covers)
			}
			w.covers = append(w.covers, at[l])
		}
	}
	if got := w.in.Width(toAggregate); got != len(w.covers) {
		w.t.Fatalf("%d aggregating nodes, want %v", got, w.covers)
	}
}

// Made and MadeBy are Makers'.
func (w *game) Made(k Key) (host, rack string, keeps bool) {
	return fmt.Sprint("h", w.there[k]), "", true
}

func (w *game) MadeBy(k Key) scheduler.LauncherID { return w.there[k] }

func (w *game) tell(conn int32) {
	if !w.in.UpdatingReadersOf(conn) {
		return
	}
	if x, yes := w.in.UpdateNextReader(conn); yes {
		w.in.ApplyGateChange(&w.gates[w.in.Files.Bundle(x)], x)
	}
}

// start starts an attempt with inputs.
func (w *game) start() {
	n := graph.Node{Stage: rapid.IntRange(1, len(w.plan.Graph.Stages)-1).Draw(w.t, "stage")}
	switch {
	case w.aggregates && w.covers == nil && n.Stage != 2 || n.Stage == aggregateStage && len(w.covers) == 0:
		return // none of them is ready before the choice
	case n.Stage == aggregateStage:
		n.Index = rapid.IntRange(0, len(w.covers)-1).Draw(w.t, "node")
	}
	node := w.plan.Number(n)
	r := &told{id: scheduler.AttemptID(w.now), node: node, has: map[Key]int{}}
	for range rapid.IntRange(1, 2).Draw(w.t, "times") { // the start command may get lost
		clear(r.has)
		w.hear(r, w.in.List(&r.Reader, r.id, []int32{node}, command, w.source).Sources)
	}
	r.Start()
	w.readers = append(w.readers, r)
	w.feed.Fill(w.in, &r.Reader, w.source)
}

// deliver gives the step's commands to the readers, some of which confirm at once.
func (w *game) deliver() {
	for id, m := range w.feed.End() {
		i := slices.IndexFunc(w.readers, func(r *told) bool { return r.id == id })
		r := w.readers[i]
		w.hear(r, m.Sources)
		r.last = m.Confirm
		if len(m.Sources) > 3 {
			w.t.Fatalf("%d sources are in one command of 3", len(m.Sources))
		}
		if m.Complete != (r.Misses() == 0) {
			w.t.Fatalf("the update is complete: %t, and %d are missing", m.Complete, r.Misses())
		}
	}
}

// settle runs until all readers have everything and have confirmed it.
func (w *game) settle() {
	for c := range w.plan.Graph.Connections {
		for w.in.UpdatingReadersOf(int32(c)) {
			w.tell(int32(c))
		}
	}
	for busy := true; busy; {
		busy = false
		w.now++
		w.feed.Begin(w.now, command)
		for _, r := range w.readers {
			if r.awaits != 0 {
				r.Taken(r.last)
				busy = true
			}
			// A reader that has to confirm an update gets the rest after that.
			busy = !w.feed.Fill(w.in, &r.Reader, w.source) || r.awaits != 0 || busy
		}
		w.deliver()
	}
}

// check compares the state with the model.
func (w *game) check() {
	if err := w.in.Check(func(k Key) error {
		if w.there[k] == 0 {
			return fmt.Errorf("%v is there", k)
		}
		return nil
	}); err != nil {
		w.t.Fatal(err)
	}
	for b := range w.gates {
		if got, want := w.gates[b].Unmet(), w.unmet(b); got != want {
			w.t.Fatalf("bundle %d: %d inputs are unmet, want %d", b, got, want)
		}
	}
	for _, r := range w.readers {
		for _, k := range w.keys(r.node) {
			if has, there := r.has[k], w.there[k] != 0; has > 1 || has == 0 && there || (has == 1) == r.IsMissing(k) {
				w.t.Fatalf("attempt %d was given %v %d times; it is there: %t, it misses it: %t", r.id, k, has, there, r.IsMissing(k))
			}
		}
	}
}

func (w *game) unmet(bundle int) (unmet int) {
	for node := range w.nodes(bundle) {
		if n := w.plan.Node(node); n.Stage == aggregateStage && n.Index >= len(w.covers) {
			return 1 // not chosen
		}
		counts, fanIns := map[int32]int{}, map[int32]int{}
		for _, k := range w.keys(node) {
			fanIns[k.Conn]++
			if w.there[k] != 0 {
				counts[k.Conn]++
			}
		}
		for c, fanIn := range fanIns {
			opens := fanIn
			if s := w.plan.Connection(int(c)).SlowStart; s > 0 {
				opens = max(int(math.Ceil(s*float64(fanIn))), 1)
			}
			if counts[c] < opens {
				unmet++
			}
		}
	}
	return unmet
}

// readBack continues with a state restored from a checkpoint.
func (w *game) readBack() {
	in := New(w.plan)
	clone := w.in.Clone()
	codectest.Read(w.t, codectest.Bytes(w.t, clone.Code), in.Code)
	w.in = &in
	for b := range w.gates {
		old, back := w.gates[b], Gate{}
		code := func(g *Gate) func(*checkpoint.Codec) {
			return func(x *checkpoint.Codec) { g.CodeLate(x); g.CodeUnmet(x) }
		}
		codectest.Read(w.t, codectest.Bytes(w.t, code(&old)), code(&back))
		w.gates[b] = back
	}
	for _, r := range w.readers {
		old := r.Clone()
		r.Reader = Reader{}
		codectest.Read(w.t, codectest.Bytes(w.t, old.Code), r.Code)
		r.Start()
		if err := w.in.Adopt(&r.Reader, r.id); err != nil {
			w.t.Fatal(err)
		}
	}
}

// However outputs come and go, and however slowly updates are sent: a gate opens at its number of
// writers, and each reader gets each existing source once.
func TestReadersAreGivenEachSourceOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newGame(t)
		for range rapid.IntRange(1, 120).Draw(t, "steps") {
			w.step()
			if rapid.IntRange(0, 19).Draw(t, "settle") == 0 {
				w.settle()
				w.check()
			}
		}
		w.settle()
		w.check()
	})
}

// A late gate opens when all writers are there, whatever its slow-start share.
func TestALateGateWaitsForAll(t *testing.T) {
	plan, err := graph.Expand(&wire.Graph{
		Stages: []*wire.Stage{{Name: "map", Nodes: 4}, {Name: "reduce", Nodes: 1}},
		Connections: []*wire.Connection{{
			ToStage: 1, FromPort: "out", ToPort: "in", Pattern: wire.Pattern_PATTERN_ALL_TO_ALL, Kind: wire.ChannelKind_CHANNEL_KIND_FILE, SlowStart: 0.5,
		}},
	}, 1, graph.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	in := New(plan)
	var usual, late Gate
	reduce := slices.Values([]int32{4})
	in.Recount(&usual, reduce)
	in.SetLate(&late, reduce)
	opened := map[string]int{}
	for from := range int32(4) {
		for range in.PutOutput(Key{0, from}, 1, nil, 1, 0, nil) {
			t.Error("readers of an all-to-all connection are told by Tell")
		}
		for in.UpdatingReadersOf(0) {
			if x, yes := in.UpdateNextReader(0); yes {
				in.ApplyGateChange(&usual, x)
				in.ApplyGateChange(&late, x)
			}
		}
		for name, g := range map[string]*Gate{"usual": &usual, "late": &late} {
			if g.Open() && opened[name] == 0 {
				opened[name] = int(from) + 1
			}
		}
	}
	if want := map[string]int{"usual": 2, "late": 4}; !maps.Equal(opened, want) {
		t.Errorf("opened at so many writers: %v, want %v", opened, want)
	}
}

// BlockedUpstream finds the writers that a reader misses, and in turn what keeps those from
// starting.
func TestWhatHoldsReadersUp(t *testing.T) {
	one := func(from, to uint32) *wire.Connection {
		return &wire.Connection{
			FromStage: from, FromPort: "out", ToStage: to, ToPort: "in", Pattern: wire.Pattern_PATTERN_ONE_TO_ONE, Kind: wire.ChannelKind_CHANNEL_KIND_FILE,
		}
	}
	plan, err := graph.Expand(&wire.Graph{
		Stages:      []*wire.Stage{{Name: "a", Nodes: 2}, {Name: "b", Nodes: 2}, {Name: "c", Nodes: 2}},
		Connections: []*wire.Connection{one(0, 1), one(1, 2)},
	}, 1, graph.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	in := New(plan)
	var r Reader
	in.List(&r, 1, []int32{5}, 100, nil) // the second of c reads the second of b, which reads the second of a
	waits := func(b int) iter.Seq[int32] { return slices.Values(plan.Groups[plan.Bundles[b].Groups[0]].Nodes) }
	if got, want := in.BlockedUpstream([]*Reader{&r}, waits), []bool{false, true, false, true, false, false}; !slices.Equal(got, want) {
		t.Errorf("held up by bundles %v, want %v", got, want)
	}
	runs := func(int) iter.Seq[int32] { return nil } // nothing waits: the writer is ready
	if got, want := in.BlockedUpstream([]*Reader{&r}, runs), []bool{false, false, false, true, false, false}; !slices.Equal(got, want) {
		t.Errorf("held up by bundles %v, want %v", got, want)
	}
}
