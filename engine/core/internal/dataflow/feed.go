package dataflow

import (
	"iter"
	"maps"
	"math/bits"
	"slices"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

const (
	// sourceBytes is the approximate size of a source in a message without its texts.
	sourceBytes = 48
	// feedsAtOnce bounds the sources that one step feeds to readers, in commands' worth. The others
	// come in the next step, so that many readers don't make a long step.
	feedsAtOnce = 4
)

// Source describes the location of a stored output.
type Source func(Key) *wire.Source

// Feed collects a step's sources for readers.
type Feed struct {
	now     scheduler.Time
	command int // bytes of sources that one command holds
	bytes   int // given in this step
	updates map[scheduler.AttemptID]update
}

type update struct {
	reader  *Reader
	message *wire.SourcesUpdate
}

// Begin begins a step and clears the previous one's sources.
func (f *Feed) Begin(now scheduler.Time, commandBytes int) {
	f.now, f.command, f.bytes = now, commandBytes, 0
}

// End yields the sources of each reader in the step, in order of attempt, and clears them.
func (f *Feed) End() iter.Seq2[scheduler.AttemptID, *wire.SourcesUpdate] {
	return func(yield func(scheduler.AttemptID, *wire.SourcesUpdate) bool) {
		ids := slices.AppendSeq(make([]scheduler.AttemptID, 0, len(f.updates)), maps.Keys(f.updates))
		slices.Sort(ids)
		for _, id := range ids {
			u := f.updates[id]
			u.message.Complete = u.reader.misses == 0
			if !yield(id, u.message) {
				break
			}
		}
		clear(f.updates)
	}
}

// Drop clears an attempt's sources in the step.
func (f *Feed) Drop(id scheduler.AttemptID) { delete(f.updates, id) }

// Supply gives a new or restored source to all readers that miss it.
func (f *Feed) Supply(in *Inputs, k Key, source Source) {
	for _, r := range in.waiting[k.Conn] {
		f.SupplyTo(in, r, k, source)
	}
}

// SupplyTo gives a source to a reader, if the reader misses it and is ready for it.
func (f *Feed) SupplyTo(in *Inputs, r *Reader, k Key, source Source) {
	if r.IsMissing(k) && r.ready() && in.There(k) {
		f.give(r, k, source(k))
	}
}

// give moves a missing source into the reader's update of this step.
func (f *Feed) give(r *Reader, k Key, s *wire.Source) {
	r.missingOf(k.Conn)[k.From/64] &^= 1 << (k.From % 64)
	r.misses--
	u, there := f.updates[r.id]
	if !there {
		if f.updates == nil {
			f.updates = map[scheduler.AttemptID]update{}
		}
		u = update{r, &wire.SourcesUpdate{Attempt: uint64(r.id)}}
		f.updates[r.id] = u
	}
	u.message.Sources = append(u.message.Sources, s)
	r.given = append(r.given, k)
	n := sizeOf(s)
	r.givenBytes += n
	f.bytes += n
	if r.givenBytes >= f.command {
		r.awaits, u.message.Confirm = f.now, uint64(f.now)
	}
}

func sizeOf(s *wire.Source) int {
	return sourceBytes + len(s.Address) + len(s.Host) + len(s.Rack) + len(s.LauncherName)
}

// Fill gives a reader the available ones of its missing sources, at most an update's worth. It
// returns false when the step's share is used up, so that the reader has to wait for the next step.
func (f *Feed) Fill(in *Inputs, r *Reader, source Source) bool {
	if r.misses == 0 || !r.ready() {
		return true
	}
	if f.bytes >= feedsAtOnce*f.command {
		return false
	}
	for _, m := range r.missing {
		n := &in.conns[m.conn]
		for w, word := range m.bits {
			for ; word != 0; word &= word - 1 {
				from := w*64 + bits.TrailingZeros64(word)
				if !n.There(from) {
					continue
				}
				k := Key{m.conn, int32(from)}
				f.give(r, k, source(k))
				if r.awaits != 0 {
					return true
				}
			}
		}
	}
	return true
}

// Taken records that a reader confirmed an update. It returns false if no such confirmation was
// due.
func (r *Reader) Taken(update uint64) bool {
	if r.awaits == 0 || uint64(r.awaits) != update {
		return false
	}
	r.given, r.givenBytes, r.awaits = nil, 0, 0
	return true
}

// MissUnconfirmed marks the unconfirmed sources of a reader as missing again, after its launcher's
// stream broke. It reports whether there were any.
func (in *Inputs) MissUnconfirmed(r *Reader) bool {
	some := len(r.given) > 0
	for _, k := range r.given {
		in.Miss(r, r.id, k)
	}
	r.given, r.givenBytes, r.awaits = nil, 0, 0
	return some
}

// Listed is the list of sources that an attempt starts with.
type Listed struct {
	Sources []*wire.Source
	Looked  int  // the number of writers examined
	Missed  bool // it misses sources of a connection of which it missed none before
}

// listing builds the list of the sources that an attempt starts with.
type listing struct {
	Listed
	in     *Inputs
	r      *Reader
	id     scheduler.AttemptID
	source Source
	left   int // bytes left in the command

	conn   int32
	missed []uint64           // the attempt's missing sources of conn; nil: none
	listed map[int32][]uint64 // listed writers by connection; nil for a group of one node, which meets no writer twice
}

// List lists the sources with which an attempt at a group of nodes starts. Its reader misses the
// outputs that are not stored yet, and those beyond one command of so many bytes. With a million
// writers most are missed, so they are recorded sixty-four at a time.
func (in *Inputs) List(r *Reader, id scheduler.AttemptID, nodes []int32, commandBytes int, source Source) Listed {
	l := listing{in: in, r: r, id: id, source: source, left: commandBytes}
	if len(nodes) > 1 {
		l.listed = map[int32][]uint64{}
	}
	for _, x := range nodes {
		n := in.plan.Node(x)
		for _, conn := range in.Files.into[n.Stage] {
			l.conn, l.missed = conn, r.missingOf(conn)
			writers, some := in.writersOf(conn, n)
			if l.listed == nil {
				l.Sources = slices.Grow(l.Sources, min(in.conns[conn].Done(), max(l.left, 0)/sourceBytes))
			}
			for from := writers.Low; from < writers.High; {
				end := min((from/64+1)*64, writers.High)
				l.word(from/64, ^uint64(0)<<(from%64)&(^uint64(0)>>(64-uint(end-1)%64-1)))
				from = end
			}
			for _, from := range some {
				l.word(int(from)/64, 1<<(from%64))
			}
		}
	}
	return l.Listed
}

// word lists, or records as missed, the wanted ones of 64 writers.
func (l *listing) word(w int, wanted uint64) {
	if l.missed != nil {
		wanted &^= l.missed[w]
	}
	if listed := l.listed[l.conn]; listed != nil {
		wanted &^= listed[w]
	}
	n := &l.in.conns[l.conn]
	for ; wanted != 0 && l.left > 0; wanted &= wanted - 1 {
		from := w*64 + bits.TrailingZeros64(wanted)
		l.Looked++
		if !n.There(from) {
			l.miss(w, wanted&-wanted)
			continue
		}
		s := l.source(Key{l.conn, int32(from)})
		l.Sources = append(l.Sources, s)
		l.left -= sizeOf(s)
		if l.listed != nil {
			if l.listed[l.conn] == nil {
				l.listed[l.conn] = make([]uint64, (n.Writers()+63)/64)
			}
			l.listed[l.conn][w] |= wanted & -wanted
		}
	}
	if wanted != 0 {
		l.miss(w, wanted)
	}
}

// miss records further writers as missed.
func (l *listing) miss(w int, which uint64) {
	if l.missed == nil {
		l.missed = l.in.missingFor(l.r, l.id, l.conn)
		l.Missed = true
	}
	l.missed[w] |= which
	l.r.misses += bits.OnesCount64(which)
}
