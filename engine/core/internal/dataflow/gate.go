package dataflow

import (
	"fmt"
	"iter"

	"github.com/hamadryad/hamadryad/engine/core/internal/checkpoint"
	"github.com/hamadryad/hamadryad/engine/graph"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Gate keeps a bundle from starting until its inputs are open.
type Gate struct {
	late  bool  // it opens when all inputs are complete, regardless of slow-start
	unmet int32 // inputs that are not open
}

// Open reports whether all inputs are open.
func (g *Gate) Open() bool { return g.unmet == 0 }

// Unmet returns how many inputs are not open.
func (g *Gate) Unmet() int { return int(g.unmet) }

// Recount recounts the unopened inputs of a bundle's gate, from the bundle's nodes.
func (in *Inputs) Recount(g *Gate, nodes iter.Seq[int32]) {
	g.unmet = 0
	for x := range nodes {
		n := in.plan.Node(x)
		for _, c := range in.Files.into[n.Stage] {
			if in.knownWriters(c, n) < in.opensAt(int(c), in.fanIn(c, n), g.late) {
				g.unmet++
			}
		}
	}
}

// SetLate makes a bundle start only when all its inputs are complete, regardless of the
// connections' slow-start.
func (in *Inputs) SetLate(g *Gate, nodes iter.Seq[int32]) {
	g.late = true
	in.Recount(g, nodes)
}

// CheckGate recounts a gate.
func (in *Inputs) CheckGate(g *Gate, nodes iter.Seq[int32]) error {
	recount := *g
	if in.Recount(&recount, nodes); recount.unmet != g.unmet {
		return fmt.Errorf("%d inputs are unmet, counted as %d", recount.unmet, g.unmet)
	}
	return nil
}

// CodeLate codes whether a gate opens late.
func (g *Gate) CodeLate(w *checkpoint.Codec) { checkpoint.Flag(w, &g.late) }

// CodeUnmet codes the count of unopened inputs.
func (g *Gate) CodeUnmet(w *checkpoint.Codec) { checkpoint.Num(w, &g.unmet) }

// opensAt returns how many writers must have stored before a reader's input opens.
func (in *Inputs) opensAt(c, fanIn int, late bool) int {
	share := in.plan.Connection(c).SlowStart
	if share == 0 || late || fanIn == 0 {
		return fanIn
	}
	n := int(float64(share * float64(fanIn)))
	if float64(n) < float64(share*float64(fanIn)) {
		n++
	}
	return min(max(n, 1), fanIn)
}

// GateChange is one more writer, or one less, for a reader.
type GateChange struct {
	conn, stage, reader, fanIn, old, now int
}

// Bundle returns the index of the reader's bundle.
func (f *FileGraph) Bundle(x GateChange) int {
	return f.plan.BundleOf(f.plan.Number(graph.Node{Stage: x.stage, Index: x.reader}))
}

// ApplyGateChange opens or closes an input of a reader's bundle, and reports whether it did.
func (in *Inputs) ApplyGateChange(g *Gate, x GateChange) bool {
	mark := in.opensAt(x.conn, x.fanIn, g.late)
	switch {
	case x.old < mark && x.now >= mark:
		g.unmet--
	case x.old >= mark && x.now < mark:
		g.unmet++
	default:
		return false
	}
	return true
}

// PutOutput records a writer's stored output on a launcher; it replaces an earlier one on the
// launcher before if that is not 0. It yields the readers' gate changes, and counts as it goes:
// iterate at once, and to the end. Readers of an all-to-all connection are updated one after the
// other: see UpdateNextReader. made has all outputs, this one too.
func (in *Inputs) PutOutput(k Key, size int64, perReader []int64, where, before scheduler.LauncherID, made Makers) iter.Seq[GateChange] {
	in.dropSourceMessage(k)
	n := &in.conns[k.Conn]
	switch {
	case !n.Put(int(k.From), size, perReader, where, before):
		return none
	case n.aggregated != nil && !n.aggregated.chosen && n.done+1 == n.Writers():
		in.chooseAggregates(k.Conn, made)
		return in.aggregatesChosen(k.Conn)
	}
	return in.count(k, +1)
}

// Lose records the loss of a writer's output on a launcher. It yields as PutOutput.
func (in *Inputs) Lose(k Key, where scheduler.LauncherID) iter.Seq[GateChange] {
	in.dropSourceMessage(k)
	in.conns[k.Conn].Lose(int(k.From), where)
	return in.count(k, -1)
}

func none(func(GateChange) bool) {}

// count adds or removes a writer.
func (in *Inputs) count(k Key, delta int) iter.Seq[GateChange] {
	conn, n := int(k.Conn), &in.conns[k.Conn]
	if !n.All() {
		return func(yield func(GateChange) bool) {
			r, list := in.plan.Readers(conn, int(k.From))
			graph.Each(r, list, func(reader int) {
				old, now := n.Count(reader, delta)
				yield(GateChange{conn, in.ReaderStage(k.Conn), reader, in.plan.FanIn(conn, reader), old, now})
			})
		}
	}
	if node, covered := n.covered(int(k.From)); covered {
		return in.countCovered(k, node, delta)
	}
	early, full := in.opensAt(conn, n.needed, false), in.opensAt(conn, n.needed, true)
	if n.adapted != nil && n.adapted.portions == nil && n.Done()+delta == n.Writers() {
		n.adapted.choose()
	}
	if high := max(n.Done(), n.Done()+delta); high != early && high != full {
		n.CountAll(delta, false)
		return none // no input opens or closes at this count
	}
	return func(yield func(GateChange) bool) {
		for n.Updating() { // of an earlier change
			if x, yes := in.UpdateNextReader(k.Conn); yes {
				yield(x)
			}
		}
		n.CountAll(delta, true)
		in.updating++
	}
}

// NoReaderUpdated reports whether an update of a connection's readers has begun, and has updated
// none yet.
func (in *Inputs) NoReaderUpdated(conn int32) bool {
	return in.conns[conn].Updating() && in.conns[conn].Updated() == 0
}

// Updating reports whether readers of any connection are being updated.
func (in *Inputs) Updating() bool { return in.updating > 0 }

// UpdatingReadersOf reports whether readers of a connection are being updated.
func (in *Inputs) UpdatingReadersOf(conn int32) bool { return in.conns[conn].Updating() }

// AllReadersUpdated reports whether all readers of a connection were updated. The next call of
// UpdateNextReader then ends the update.
func (in *Inputs) AllReadersUpdated(conn int32) bool {
	return in.conns[conn].Updated() == in.conns[conn].Readers()
}

// UpdateNextReader updates the next reader of a connection. It returns false and ends the update
// when all were updated.
func (in *Inputs) UpdateNextReader(conn int32) (GateChange, bool) {
	n := &in.conns[conn]
	reader, old, now, yes := n.UpdateNext()
	if !yes {
		in.updating--
		return GateChange{}, false
	}
	return GateChange{int(conn), in.ReaderStage(conn), reader, n.needed, old, now}, true
}

// Connections returns how many connections there are.
func (in *Inputs) Connections() int { return len(in.conns) }
