package dataflow

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"

	"github.com/hamadryad/hamadryad/engine/core/internal/checkpoint"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Reader is an attempt's given and missing sources. The zero value has none of either.
type Reader struct {
	id         scheduler.AttemptID // set once it misses a source
	takes      bool                // it has started and is not being stopped
	missing    []missing           // sources it was not given
	misses     int                 // how many
	given      []Key               // in unconfirmed updates
	givenBytes int                 // of those
	awaits     scheduler.Time      // the update to be confirmed before the next one; 0: none
}

// missing are a connection's writers whose output a reader was not given.
type missing struct {
	conn int32
	bits []uint64
}

// Misses returns how many sources a reader does not have.
func (r *Reader) Misses() int { return r.misses }

// Start lets a reader receive sources: its attempt has started, so a repeated start command does
// not list fewer.
func (r *Reader) Start() { r.takes = true }

// Stop lets it receive none: its attempt is being stopped.
func (r *Reader) Stop() { r.takes = false }

// ready reports whether it can receive sources: no update is unconfirmed.
func (r *Reader) ready() bool { return r.takes && r.awaits == 0 }

func (r *Reader) missingOf(conn int32) []uint64 {
	for _, m := range r.missing {
		if m.conn == conn {
			return m.bits
		}
	}
	return nil
}

// IsMissing reports whether a reader misses a source.
func (r *Reader) IsMissing(k Key) bool {
	m := r.missingOf(k.Conn)
	return m != nil && m[k.From/64]>>(k.From%64)&1 == 1
}

// Miss records that an attempt's reader has to be given a source once it is stored.
func (in *Inputs) Miss(r *Reader, id scheduler.AttemptID, k Key) {
	m := in.missingFor(r, id, k.Conn)
	if m[k.From/64]>>(k.From%64)&1 == 0 {
		m[k.From/64] |= 1 << (k.From % 64)
		r.misses++
	}
}

// missingFor returns a reader's missing sources of a connection, for additions.
func (in *Inputs) missingFor(r *Reader, id scheduler.AttemptID, conn int32) []uint64 {
	if m := r.missingOf(conn); m != nil {
		return m
	}
	r.id = id
	m := make([]uint64, (in.conns[conn].Writers()+63)/64)
	r.missing = append(r.missing, missing{conn, m})
	waiting := &in.waiting[conn]
	i, _ := slices.BinarySearchFunc(*waiting, id, func(x *Reader, id scheduler.AttemptID) int { return cmp.Compare(x.id, id) })
	*waiting = slices.Insert(*waiting, i, r)
	return m
}

// End removes an ended attempt's reader from the lists of readers that miss sources.
func (in *Inputs) End(r *Reader) {
	for _, m := range r.missing {
		waiting := &in.waiting[m.conn]
		*waiting = slices.DeleteFunc(*waiting, func(x *Reader) bool { return x == r })
	}
	*r = Reader{}
}

// Waits reports whether an output that a reader misses is not stored.
func (in *Inputs) Waits(r *Reader) bool {
	for _, m := range r.missing {
		n := &in.conns[m.conn]
		if n.Complete() {
			continue
		}
		for w, word := range m.bits {
			for ; word != 0; word &= word - 1 {
				if !n.There(w*64 + bits.TrailingZeros64(word)) {
					return true
				}
			}
		}
	}
	return false
}

// missedBy joins the readers' missing sources, so that each connection is searched once.
func missedBy(readers []*Reader) (list []missing) {
	for _, r := range readers {
		for _, m := range r.missing {
			i := slices.IndexFunc(list, func(x missing) bool { return x.conn == m.conn })
			if i < 0 {
				list = append(list, missing{m.conn, slices.Clone(m.bits)})
				continue
			}
			for w, bits := range m.bits {
				list[i].bits[w] |= bits
			}
		}
	}
	return list
}

// Clone returns an independent copy.
func (r *Reader) Clone() Reader {
	f := *r
	f.given, f.missing = slices.Clone(r.given), slices.Clone(r.missing)
	for i := range f.missing {
		f.missing[i].bits = slices.Clone(f.missing[i].bits)
	}
	return f
}

// Code codes a reader's given and missing sources.
func (r *Reader) Code(w *checkpoint.Codec) {
	checkpoint.List(w, &r.missing, func(w *checkpoint.Codec, m *missing) { checkpoint.Num(w, &m.conn); checkpoint.Nums(w, &m.bits) })
	checkpoint.Num(w, &r.misses)
	checkpoint.List(w, &r.given, func(w *checkpoint.Codec, k *Key) { checkpoint.Num(w, &k.Conn); checkpoint.Num(w, &k.From) })
	if w.Format > 1 {
		checkpoint.Num(w, &r.givenBytes)
		checkpoint.Num(w, &r.awaits)
	}
}

// Adopt lists a decoded reader of an attempt with its missing sources. Readers are adopted in order
// of attempt.
func (in *Inputs) Adopt(r *Reader, id scheduler.AttemptID) error {
	r.id = id
	for _, m := range r.missing {
		if m.conn < 0 || int(m.conn) >= len(in.conns) || len(m.bits) != (in.conns[m.conn].Writers()+63)/64 {
			return fmt.Errorf("attempt-%d misses sources of connection %d, which are not there", id, m.conn)
		}
		in.waiting[m.conn] = append(in.waiting[m.conn], r)
	}
	return nil
}

// checkWaiting recounts the readers' missing sources.
func (in *Inputs) checkWaiting() error {
	for conn, waiting := range in.waiting {
		for i, r := range waiting {
			misses := 0
			for _, m := range r.missing {
				for _, word := range m.bits {
					misses += bits.OnesCount64(word)
				}
			}
			switch {
			case i > 0 && waiting[i-1].id >= r.id:
				return fmt.Errorf("connection %d: attempt-%d waits behind attempt-%d", conn, r.id, waiting[i-1].id)
			case r.missingOf(int32(conn)) == nil:
				return fmt.Errorf("connection %d: attempt-%d waits and misses nothing of it", conn, r.id)
			case misses != r.misses:
				return fmt.Errorf("attempt-%d misses %d sources, counted as %d", r.id, misses, r.misses)
			}
		}
	}
	return nil
}
