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
	// sourceBytes is about what a source takes in a message beside its texts.
	sourceBytes = 48
	// feedsAtOnce is how many commands' worth of sources one step feeds to readers; the
	// others come in the next, so that many readers don't make a long step.
	feedsAtOnce = 4
)

// Source describes where a writer's output is that is there.
type Source func(Key) *wire.Source

// Feed collects the sources that a step gives to readers.
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

// Begin begins a step. Nothing is left of the one before.
func (f *Feed) Begin(now scheduler.Time, commandBytes int) {
	f.now, f.command, f.bytes = now, commandBytes, 0
}

// End yields what each reader was given in the step, in order of attempt, and forgets it.
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

// Drop forgets what an attempt was given in the step.
func (f *Feed) Drop(id scheduler.AttemptID) { delete(f.updates, id) }

// Supply gives a source that came, or came back, to all readers that miss it.
func (f *Feed) Supply(in *Inputs, k Key, source Source) {
	for _, r := range in.waiting[k.Conn] {
		f.SupplyTo(in, r, k, source)
	}
}

// SupplyTo gives a source to a reader, if that misses it and can take it.
func (f *Feed) SupplyTo(in *Inputs, r *Reader, k Key, source Source) {
	if r.IsMissing(k) && r.ready() && in.There(k) {
		f.give(r, k, source(k))
	}
}

// give puts a source that a reader misses into its update of this step.
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

// Fill gives a reader what is there of what it misses, as much as it takes at once. It is
// false when the step has given so much that this has to wait for the next.
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

// Taken notes that a reader confirmed an update. It returns false if it was not asked to.
func (r *Reader) Taken(update uint64) bool {
	if r.awaits == 0 || uint64(r.awaits) != update {
		return false
	}
	r.given, r.givenBytes, r.awaits = nil, 0, 0
	return true
}

// MissUnconfirmed has a reader miss what was on its way to a launcher whose stream broke. It says
// whether there was something.
func (in *Inputs) MissUnconfirmed(r *Reader) bool {
	some := len(r.given) > 0
	for _, k := range r.given {
		in.Miss(r, r.id, k)
	}
	r.given, r.givenBytes, r.awaits = nil, 0, 0
	return some
}

// Listed is the sources that an attempt starts with.
type Listed struct {
	Sources []*wire.Source
	Looked  int  // at so many writers
	Missed  bool // it misses sources of a connection of which it missed none before
}

// listing makes the list of the sources that an attempt starts with.
type listing struct {
	Listed
	in     *Inputs
	r      *Reader
	id     scheduler.AttemptID
	source Source
	left   int // bytes that the command still holds

	conn   int32
	missed []uint64           // what the attempt misses of conn; nil: nothing
	listed map[int32][]uint64 // by connection what is in the list; nil for a group of one node, which meets no writer twice
}

// List lists the sources that an attempt starts with, whose group has some nodes. Its
// reader misses those that are not there, and what is more than one command of so many
// bytes holds: of a million writers that is most, so they are noted sixty-four at a time.
func (in *Inputs) List(r *Reader, id scheduler.AttemptID, nodes []int32, commandBytes int, source Source) Listed {
	l := listing{in: in, r: r, id: id, source: source, left: commandBytes}
	if len(nodes) > 1 {
		l.listed = map[int32][]uint64{}
	}
	for _, x := range nodes {
		n := in.plan.Node(x)
		for _, conn := range in.Files.into[n.Stage] {
			l.conn, l.missed = conn, r.missingOf(conn)
			writers, some := in.plan.Writers(int(conn), n.Index)
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

// word lists, or notes as missed, those of 64 writers that are wanted.
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

// miss notes writers as missed that were not.
func (l *listing) miss(w int, which uint64) {
	if l.missed == nil {
		l.missed = l.in.missingFor(l.r, l.id, l.conn)
		l.Missed = true
	}
	l.missed[w] |= which
	l.r.misses += bits.OnesCount64(which)
}
