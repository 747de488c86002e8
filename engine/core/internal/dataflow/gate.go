package dataflow

import (
	"fmt"
	"iter"

	"github.com/hamadryad/hamadryad/engine/core/internal/checkpoint"
	"github.com/hamadryad/hamadryad/engine/graph"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Gate keeps a bundle from starting while inputs of it are not open.
type Gate struct {
	late  bool // it opens when all inputs are complete, whatever slow-start says
	unmet int  // inputs that are not open
}

// Open says whether all inputs are.
func (g *Gate) Open() bool { return g.unmet == 0 }

// Unmet returns how many inputs are not open.
func (g *Gate) Unmet() int { return g.unmet }

// Recount counts a gate's inputs that are not open, of a bundle of some nodes.
func (in *Inputs) Recount(g *Gate, nodes iter.Seq[int32]) {
	g.unmet = 0
	for x := range nodes {
		n := in.plan.Node(x)
		for _, c := range in.Files.into[n.Stage] {
			fanIn := in.plan.FanIn(int(c), n.Index)
			if in.conns[c].KnownWriters(n.Index) < in.opensAt(int(c), fanIn, g.late) {
				g.unmet++
			}
		}
	}
}

// SetLate has a bundle start only when all its inputs are complete, whatever the
// connections' slow-start says.
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

// CodeUnmet codes its count.
func (g *Gate) CodeUnmet(w *checkpoint.Codec) { checkpoint.Num(w, &g.unmet) }

// opensAt returns how many of a reader's writers open its input.
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

// GateChange is one writer more, or one less, for a reader.
type GateChange struct {
	conn, reader, fanIn, old, now int
}

// Bundle returns the index of the reader's bundle.
func (f *FileGraph) Bundle(x GateChange) int {
	return f.plan.BundleOf(f.plan.Number(graph.Node{Stage: int(f.plan.Connection(x.conn).ToStage), Index: x.reader}))
}

// ApplyGateChange opens or closes an input of a reader's bundle, and says whether it did.
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

// PutOutput notes that a writer's output is there, on a launcher, in the place of an earlier
// one on another if before is not 0. It yields the readers that are to cross, and counts
// as it does: it is to be walked at once, and whole. Readers of an all-to-all connection
// are updated one after the other: see UpdateNextReader.
func (in *Inputs) PutOutput(k Key, size int64, perReader []int64, where, before scheduler.LauncherID) iter.Seq[GateChange] {
	in.dropSourceMessage(k)
	if in.conns[k.Conn].Put(int(k.From), size, perReader, where, before) {
		return in.count(k, +1)
	}
	return none
}

// Lose notes that a writer's output, which was on a launcher, is gone. It yields as Put.
func (in *Inputs) Lose(k Key, where scheduler.LauncherID) iter.Seq[GateChange] {
	in.dropSourceMessage(k)
	in.conns[k.Conn].Lose(int(k.From), where)
	return in.count(k, -1)
}

func none(func(GateChange) bool) {}

// count adds a writer, or takes one away.
func (in *Inputs) count(k Key, delta int) iter.Seq[GateChange] {
	conn, n := int(k.Conn), &in.conns[k.Conn]
	if !n.All() {
		return func(yield func(GateChange) bool) {
			r, list := in.plan.Readers(conn, int(k.From))
			graph.Each(r, list, func(reader int) {
				old, now := n.Count(reader, delta)
				yield(GateChange{conn, reader, in.plan.FanIn(conn, reader), old, now})
			})
		}
	}
	early, full := in.opensAt(conn, n.Writers(), false), in.opensAt(conn, n.Writers(), true)
	if high := max(n.Done(), n.Done()+delta); high != early && high != full {
		n.CountAll(delta, false)
		return none // no input opens or closes at this count
	}
	return func(yield func(GateChange) bool) {
		for n.Updating() { // of a crossing before this one
			if x, yes := in.UpdateNextReader(k.Conn); yes {
				yield(x)
			}
		}
		n.CountAll(delta, true)
		in.updating++
	}
}

// NoReaderUpdated says whether readers of a connection are to be updated, and none was yet.
func (in *Inputs) NoReaderUpdated(conn int32) bool {
	return in.conns[conn].Updating() && in.conns[conn].Updated() == 0
}

// Updating says whether readers of some connection are being updated.
func (in *Inputs) Updating() bool { return in.updating > 0 }

// UpdatingReadersOf says whether readers of a connection are being updated.
func (in *Inputs) UpdatingReadersOf(conn int32) bool { return in.conns[conn].Updating() }

// AllReadersUpdated says whether all readers of a connection were updated. The next call of
// UpdateNextReader then ends the update.
func (in *Inputs) AllReadersUpdated(conn int32) bool {
	return in.conns[conn].Updated() == in.conns[conn].Readers()
}

// UpdateNextReader updates the next reader of a connection. It returns false when all were updated,
// which ends the update.
func (in *Inputs) UpdateNextReader(conn int32) (GateChange, bool) {
	n := &in.conns[conn]
	reader, old, now, yes := n.UpdateNext()
	if !yes {
		in.updating--
		return GateChange{}, false
	}
	return GateChange{int(conn), reader, n.Writers(), old, now}, true
}

// Connections returns how many connections there are.
func (in *Inputs) Connections() int { return len(in.conns) }
