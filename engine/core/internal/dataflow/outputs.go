package dataflow

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/hamadryad/hamadryad/engine/core/internal/checkpoint"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Connection is a file connection: its writers' outputs, each reader's share of them, their places,
// and the number of writers that each reader knows. An output is stored or not, and counts once for
// each of its readers.
//
// All readers of an all-to-all connection have the same writers, so they share one count. Readers
// cost nothing until the count reaches the number that opens or closes their input. Then they are
// updated one after the other; until its turn, a reader knows the previous count.
//
// The zero value is a connection of another kind, without writers. Not safe for concurrent use.
type Connection struct {
	bytes  []int64 // of each writer's output, -1 without one
	all    bool    // it joins all to all
	done   int     // stored outputs that its readers need, of an all-to-all connection
	needed int     // outputs that each of its readers needs, of an all-to-all connection
	have   []int32 // by reader: stored outputs, of a connection of another kind

	perReader []int64         // sizes of each reader's partition, of an all-to-all that is not adapted
	where     []launcherBytes // of an all-to-all, in order of launcher
	largest   largestPlaces   // of where

	adapted         *adaptation  // nil: each reader reads one partition
	aggregated      *aggregation // nil: its reading stage is no aggregating one
	afterAggregates bool         // its writers are the nodes of an aggregating stage

	updating        bool // readers below updated know done, the others before
	updated, before int
}

type launcherBytes struct {
	launcher scheduler.LauncherID
	bytes    int64
}

// NewConnection returns a connection without stored outputs.
func NewConnection(writers, readers int, all bool) Connection {
	n := Connection{bytes: make([]int64, writers), all: all, needed: writers}
	for i := range n.bytes {
		n.bytes[i] = -1
	}
	if all {
		n.perReader = make([]int64, readers)
	} else {
		n.have = make([]int32, readers)
	}
	return n
}

// All says whether the connection is all-to-all.
func (n *Connection) All() bool { return n.all }

// Writers returns the number of writers.
func (n *Connection) Writers() int { return len(n.bytes) }

// Readers is the number of readers of an all-to-all connection.
func (n *Connection) Readers() int {
	if n.adapted != nil {
		return n.adapted.width()
	}
	return len(n.perReader)
}

// There reports whether a writer's output is stored.
func (n *Connection) There(from int) bool { return n.bytes[from] >= 0 }

// Size is the size of a writer's output, bytes; -1 without one.
func (n *Connection) Size(from int) int64 { return n.bytes[from] }

// Complete reports whether all outputs of an all-to-all connection that readers need are stored.
func (n *Connection) Complete() bool {
	return n.all && n.done == n.needed && (n.aggregated == nil || n.aggregated.complete())
}

// Done returns how many writers of an all-to-all connection are available.
func (n *Connection) Done() int { return n.done }

// KnownWriters is the number of a reader's stored writers that it was updated on.
func (n *Connection) KnownWriters(reader int) int {
	switch {
	case !n.all:
		return int(n.have[reader])
	case n.updating && reader >= n.updated:
		return n.before
	}
	return n.done
}

// Put records a writer's stored output: its size, the sizes of the readers' partitions, and its
// launcher; old is the launcher of an earlier one. It returns false for a replacement, which
// changes no reader's count.
func (n *Connection) Put(from int, size int64, perReader []int64, where, old scheduler.LauncherID) bool {
	there := n.There(from)
	if there {
		n.Lose(from, old)
	}
	n.bytes[from] = size
	if _, covered := n.covered(from); n.all && !covered {
		n.add(where, size)
		if n.adapted != nil {
			n.adapted.put(from, perReader)
		}
		for i, b := range perReader[:min(len(perReader), len(n.perReader))] {
			n.perReader[i] += max(b, 0)
		}
	}
	return !there
}

// Lose subtracts a writer's output on a launcher from the sums.
func (n *Connection) Lose(from int, where scheduler.LauncherID) {
	size := n.bytes[from]
	n.bytes[from] = -1
	if _, covered := n.covered(from); !n.all || covered {
		return
	}
	if n.adapted != nil {
		n.adapted.lose(from)
	}
	total := n.total()
	n.add(where, -size)
	// The sizes of its partitions were not kept: subtract an even share.
	for i := range n.perReader {
		n.perReader[i] -= share(n.perReader[i], size, total)
	}
}

// Count adds or removes a writer for a reader of a connection that is not all-to-all. It returns
// the old and the new count.
func (n *Connection) Count(reader, delta int) (old, now int) {
	old = int(n.have[reader])
	n.have[reader] += int32(delta)
	return old, old + delta
}

// CountAll adds or removes a writer for all readers of an all-to-all connection. With update set
// they don't know it yet: UpdateNext updates one after the other. No update may be under way.
func (n *Connection) CountAll(delta int, update bool) {
	if update {
		n.updating, n.updated, n.before = true, 0, n.done
	}
	n.done += delta
}

// Updating reports whether readers are being updated.
func (n *Connection) Updating() bool { return n.updating }

// Updated returns how many readers the current update has reached.
func (n *Connection) Updated() int { return n.updated }

// UpdateNext updates the next reader. It returns the reader, and its old and new number of writers.
// It returns false and ends the update when all were updated.
func (n *Connection) UpdateNext() (reader, old, now int, yes bool) {
	if n.updated == n.Readers() {
		n.updating = false
		return 0, 0, 0, false
	}
	n.updated++
	return n.updated - 1, n.before, n.done, true
}

// Input is the size of a reader's input over an all-to-all connection, from stored outputs, bytes.
func (n *Connection) Input(reader int) int64 {
	switch a := n.adapted; {
	case a == nil:
		return n.perReader[reader]
	case reader < len(a.portions):
		return a.portions[reader].Bytes
	}
	return 0
}

func (n *Connection) add(where scheduler.LauncherID, size int64) {
	i, found := slices.BinarySearchFunc(n.where, where, func(a launcherBytes, id scheduler.LauncherID) int { return cmp.Compare(a.launcher, id) })
	if !found {
		n.where = slices.Insert(n.where, i, launcherBytes{launcher: where})
	}
	n.where[i].bytes = max(n.where[i].bytes+size, 0)
	n.largest = largestPlaces{}
}

func (n *Connection) total() (total int64) {
	for _, w := range n.where {
		total += w.bytes
	}
	return total
}

// share returns x*part/whole without overflow; 0 when the whole is 0.
func share(x, part, whole int64) int64 {
	if whole <= 0 || part <= 0 || x <= 0 {
		return 0
	}
	part = min(part, whole)
	high, low := bits.Mul64(uint64(x), uint64(part))
	q, _ := bits.Div64(high, low, uint64(whole)) // part <= whole, so it fits
	return int64(q)
}

// Code codes the state that the plan lacks.
func (n *Connection) Code(w *checkpoint.Codec) {
	checkpoint.Nums(w, &n.bytes)
	checkpoint.Num(w, &n.done)
	checkpoint.Nums(w, &n.have)
	checkpoint.Nums(w, &n.perReader)
	if w.Format > 1 {
		checkpoint.Flag(w, &n.updating)
		checkpoint.Num(w, &n.updated)
		checkpoint.Num(w, &n.before)
	}
	checkpoint.List(w, &n.where, func(w *checkpoint.Codec, x *launcherBytes) {
		checkpoint.Num(w, &x.launcher)
		checkpoint.Num(w, &x.bytes)
	})
	if n.adapted != nil {
		n.adapted.code(w)
	}
	if n.aggregated != nil {
		n.aggregated.code(w, n)
	}
}

// Clone returns an independent copy.
func (n *Connection) Clone() Connection {
	f := *n
	f.bytes, f.have, f.perReader, f.where = slices.Clone(n.bytes), slices.Clone(n.have), slices.Clone(n.perReader), slices.Clone(n.where)
	f.adapted, f.aggregated = n.adapted.clone(), n.aggregated.clone()
	return f
}
