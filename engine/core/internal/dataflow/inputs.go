// Package dataflow tracks the inputs of a job's groups: stored files and, over file channels, the
// outputs of the job's writers. It decides when a bundle may start. It tracks each reader's given
// and missing sources, and the size and places of a group's input. It knows neither jobs nor
// attempts.
//
// # Gates
//
// An input of a bundle is a pair of one of its nodes and a file connection into that node's stage.
// It is open when enough of its writers have stored their output: all of them, or the connection's
// slow-start share. All readers of an all-to-all connection have the same writers and share one
// count. When the count reaches the opening number, readers are updated one after the other, in as
// many steps as the caller likes.
//
// # Sources
//
// A reader may have a million writers. It starts with as many sources as one command holds, and
// misses the others. It is given the available ones of these, a command's worth at a time, and
// confirms each command before the next. Only unconfirmed sources are remembered, for a launcher
// that joins again.
//
// # Adapted connections
//
// The readers of an adapted connection are chosen when all of its writers have stored their output
// for the first time. The choice is made from the sizes in the writers' reports, which the event log
// has, so a replay makes the same. It is kept from then on, even when outputs are lost and made
// again with other sizes: readers may have begun. Before the choice there is one reader, which waits.
// See Portion.
//
// # Aggregating stages
//
// The nodes of an aggregating stage are chosen at the same moment, from the places of the writers and
// their bytes, and kept likewise. Each reads all partitions of its writers. The final readers have two
// inputs. Of the connection out of the stage they need the chosen nodes. Of the one into it they need
// the writers that no node reads. See aggregation.
//
// # Invariants
//
// A gate counts the unopened inputs of its bundle, as far as they were updated. A reader is listed
// as waiting for a connection once it has missed a source of it. It misses as many sources as it
// has bits set. The portions of an adapted connection's readers have each partition of each writer once.
// See Check.
//
// # Locality
//
// A store gives the hosts and racks of a file's bytes (storage.Block), and splits carry them
// (job.Split.Places). The plan's graph carries the eight hosts that hold most of a node's input.
// The core adds the places of the file channels that the node reads. Policies see hosts of
// launchers only: a host name is matched with launcher.host or one of launcher.names. The latter
// default to the addresses of the launcher's interfaces.
//
// Readers of a channel in HDFS are offered near its writers too, because HDFS puts the first
// replica on the writer's machine.
//
// Workers count the bytes that they read by distance. The core counts attempts by the level that
// gave most bytes. The submitting program prints that at the job's end; status and metrics show it.
//
// # Early readers
//
// A reader may start before all of its writers have finished (slow-start). It holds a slot that a
// writer may need. So it is offered without places until its input is whole. Places are not known
// yet, and a policy that prefers locality would start readers before their writers. When a writer
// finds no slot for reclaimAfter, the core ends the job's youngest waiting readers and reserves
// their slots for it (package preemption).
//
// # Feeding
//
// A reader confirms an update when its program has few sources ahead, and then gets the next. So
// neither manager, launcher nor worker holds the whole list. Updates that were not confirmed are
// sent again after a stream breaks. The files to publish are sent in the same way, when the
// publisher asks for the next ones.
package dataflow

import (
	"iter"
	"slices"

	"github.com/hamadryad/hamadryad/engine/core/internal/checkpoint"
	"github.com/hamadryad/hamadryad/engine/graph"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/internal/sortedset"
)

// Key names one writer's output by a file connection and the writing node's index in its stage.
type Key struct{ Conn, From int32 }

// FileGraph maps a plan's nodes to the outputs that they read and store. It is immutable.
type FileGraph struct {
	plan       *graph.Expanded
	into       [][]int32 // by stage: file connections whose outputs its nodes read
	outOf      [][]int32 // by stage: file connections out of it
	hasFiles   bool      // there are file connections
	aggregates bool      // there are aggregating stages
}

// Inputs are the inputs of a job's groups. Not safe for concurrent use.
type Inputs struct {
	Files          FileGraph
	plan           *graph.Expanded
	conns          []Connection     // empty for other than file connections
	waiting        [][]*Reader      // by connection: readers that miss a source, in order of attempt
	updating       int              // connections whose readers are being updated
	sourceMessages [][]*wire.Source // by connection and writer: the message sent to an output's readers; nil: none was sent, or the output was lost or made again since
}

// New returns the inputs of a plan, without any output.
func New(p *graph.Expanded) Inputs {
	stages, conns := len(p.Graph.Stages), len(p.Graph.Connections)
	in := Inputs{
		Files: FileGraph{plan: p, into: make([][]int32, stages), outOf: make([][]int32, stages)}, plan: p,
		conns: make([]Connection, conns), waiting: make([][]*Reader, conns), sourceMessages: make([][]*wire.Source, conns),
	}
	for c, m := range p.Graph.Connections {
		if m.Kind != wire.ChannelKind_CHANNEL_KIND_FILE {
			continue
		}
		f := &in.Files
		f.into[m.ToStage] = append(f.into[m.ToStage], int32(c))
		f.outOf[m.FromStage] = append(f.outOf[m.FromStage], int32(c))
		writers, readers := p.Sizes(c)
		in.conns[c] = NewConnection(writers, readers, m.Pattern == wire.Pattern_PATTERN_ALL_TO_ALL)
		if m.Adapt != nil {
			in.conns[c].adapt(m.Adapt, readers)
		}
		f.hasFiles = true
	}
	for c, m := range p.Graph.Connections {
		if m.Aggregate != nil {
			in.aggregate(int32(c))
		}
	}
	return in
}

// HasConnections reports whether there are file connections.
func (f *FileGraph) HasConnections() bool { return f.hasFiles }

// OutOf lists the file connections out of a stage.
func (f *FileGraph) OutOf(stage int) []int32 { return f.outOf[stage] }

// There reports whether a writer's output is stored.
func (in *Inputs) There(k Key) bool { return in.conns[k.Conn].There(int(k.From)) }

// SourceMessage is the message with an output's location; nil: no reader got one yet. All readers
// of the output share it, and it is never changed.
func (in *Inputs) SourceMessage(k Key) *wire.Source {
	if said := in.sourceMessages[k.Conn]; said != nil {
		return said[k.From]
	}
	return nil
}

// SetSourceMessage sets that message.
func (in *Inputs) SetSourceMessage(k Key, s *wire.Source) {
	said := &in.sourceMessages[k.Conn]
	if *said == nil {
		*said = make([]*wire.Source, in.conns[k.Conn].Writers())
	}
	(*said)[k.From] = s
}

// dropSourceMessage drops it: the output has moved, or is lost.
func (in *Inputs) dropSourceMessage(k Key) {
	if said := in.sourceMessages[k.Conn]; said != nil {
		said[k.From] = nil
	}
}

// All reports whether a connection joins all to all.
func (in *Inputs) All(conn int32) bool { return in.conns[conn].All() }

// Writer returns the node that writes an output.
func (f *FileGraph) Writer(k Key) graph.Node {
	return graph.Node{Stage: int(f.plan.Connection(int(k.Conn)).FromStage), Index: int(k.From)}
}

// EachReader calls each for the nodes that read an output of a connection that is not all-to-all.
func (f *FileGraph) EachReader(k Key, each func(graph.Node)) {
	to := int(f.plan.Connection(int(k.Conn)).ToStage)
	r, list := f.plan.Readers(int(k.Conn), int(k.From))
	graph.Each(r, list, func(reader int) { each(graph.Node{Stage: to, Index: reader}) })
}

// Each calls each once for every output that a group of nodes reads.
func (in *Inputs) Each(nodes []int32, each func(k Key)) {
	var seen map[Key]bool
	if len(nodes) > 1 {
		seen = map[Key]bool{} // nodes of one stage may share writers
	}
	for _, x := range nodes {
		n := in.plan.Node(x)
		for _, conn := range in.Files.into[n.Stage] {
			r, list := in.writersOf(conn, n)
			graph.Each(r, list, func(from int) {
				k := Key{conn, int32(from)}
				if seen == nil || !seen[k] {
					each(k)
				}
				if seen != nil {
					seen[k] = true
				}
			})
		}
	}
}

// Reads reports whether a group of nodes reads an output.
func (in *Inputs) Reads(nodes []int32, k Key) bool {
	for _, x := range nodes {
		n := in.plan.Node(x)
		if !slices.Contains(in.Files.into[n.Stage], k.Conn) {
			continue
		}
		r, list := in.writersOf(k.Conn, n)
		if int(k.From) >= r.Low && int(k.From) < r.High || sortedset.Has(list, k.From) {
			return true
		}
	}
	return false
}

// Misses reports whether a reader waits for an output of one of the nodes.
func (in *Inputs) Misses(readers []*Reader, nodes iter.Seq[int32]) bool {
	for x := range nodes {
		n := in.plan.Node(x)
		for _, conn := range in.Files.outOf[n.Stage] {
			k := Key{conn, int32(n.Index)}
			if !in.There(k) && slices.ContainsFunc(readers, func(r *Reader) bool { return r.IsMissing(k) }) {
				return true
			}
		}
	}
	return false
}

// BlockedUpstream marks the bundles, by index, that readers wait for: the writers of missing
// outputs, and the bundles that these need in turn before they can start. waits returns the nodes
// of a bundle that waits for its inputs, and nil for another.
func (in *Inputs) BlockedUpstream(readers []*Reader, waits func(bundle int) iter.Seq[int32]) []bool {
	marked := make([]bool, len(in.plan.Bundles))
	var work []int
	mark := func(k Key) {
		if in.There(k) {
			return
		}
		b := in.plan.BundleOf(in.plan.Number(in.Files.Writer(k)))
		if !marked[b] {
			marked[b] = true
			work = append(work, b)
		}
	}
	for _, m := range missedBy(readers) {
		for from := range in.conns[m.conn].Writers() {
			if m.bits[from/64]>>(from%64)&1 == 1 {
				mark(Key{m.conn, int32(from)})
			}
		}
	}
	done := make([]bool, len(in.conns)) // all readers of an all-to-all have the same writers
	for len(work) > 0 {
		b := work[len(work)-1]
		work = work[:len(work)-1]
		if nodes := waits(b); nodes != nil {
			in.eachNeeded(nodes, done, mark)
		}
	}
	return marked
}

// eachNeeded calls f for every input of the nodes. It skips all-to-all connections in done, and
// adds those that it visits.
func (in *Inputs) eachNeeded(nodes iter.Seq[int32], done []bool, f func(Key)) {
	for x := range nodes {
		n := in.plan.Node(x)
		for _, conn := range in.Files.into[n.Stage] {
			if in.aggregator(conn, n) == nil { // the readers at the end share their writers
				if done[conn] {
					continue
				}
				done[conn] = in.conns[conn].All()
			}
			r, list := in.writersOf(conn, n)
			graph.Each(r, list, func(from int) { f(Key{conn, int32(from)}) })
		}
	}
}

// Check recounts the outputs. made is called for each stored output.
func (in *Inputs) Check(made func(Key) error) error {
	for i := range in.conns {
		n := &in.conns[i]
		for from := range n.Writers() {
			if !n.There(from) {
				continue
			}
			if err := made(Key{int32(i), int32(from)}); err != nil {
				return err
			}
		}
		if err := n.Check(func(from int, each func(reader int)) {
			r, list := in.plan.Readers(i, from)
			graph.Each(r, list, each)
		}); err != nil {
			return err
		}
	}
	return in.checkWaiting()
}

// Clone returns an independent copy. It lists no waiting readers: these are cloned with their
// attempts.
func (in *Inputs) Clone() Inputs {
	f := *in
	f.conns, f.waiting, f.sourceMessages = make([]Connection, len(in.conns)), nil, nil
	for i := range f.conns {
		f.conns[i] = in.conns[i].Clone()
	}
	return f
}

// Code codes the state that the plan lacks. Readers are coded with their attempts.
func (in *Inputs) Code(w *checkpoint.Codec) {
	for i := range in.conns {
		in.conns[i].Code(w)
		if w.Reading && in.conns[i].Updating() {
			in.updating++
		}
	}
	for i := range in.conns {
		if a := in.conns[i].aggregated; w.Reading && a != nil && a.chosen {
			in.conns[a.out].needed = len(a.covers)
		}
	}
}
