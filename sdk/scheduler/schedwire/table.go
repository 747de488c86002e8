package schedwire

import (
	"errors"
	"fmt"
	"hash/maphash"
)

// ErrBadMessage is wrapped by every error about a message that violates the format.
var ErrBadMessage = errors.New("bad policy message")

// MessageBytesMax bounds one message, in bytes. A round of a hundred thousand groups is a tenth of
// it.
const MessageBytesMax = 256 << 20

// hashSeed only places keys in tables; no output depends on it.
var hashSeed = maphash.MakeSeed()

// numbers assigns numbers from 0 to distinct keys in order of appearance. It is a custom open hash
// table: a large round looks up the same few names tens of thousands of times, which dominates
// encoding.
type numbers[K comparable] struct {
	keys   []K
	hashes []uint64 // of keys
	slots  []uint32 // number+1 of the key there, 0 when free; a power of two, at most half full
}

// numbersFirst is a table's initial size.
const numbersFirst = 16

// number returns the key's number and whether it is new, given the hash of a
// part of the key.
func (n *numbers[K]) number(hash uint64, k K) (uint32, bool) {
	if 2*len(n.keys) >= len(n.slots) {
		n.grow()
	}
	mask := uint64(len(n.slots) - 1)
	at := hash & mask
	for n.slots[at] != 0 {
		if i := n.slots[at] - 1; n.hashes[i] == hash && n.keys[i] == k {
			return i, false
		}
		at = (at + 1) & mask
	}
	n.keys, n.hashes = append(n.keys, k), append(n.hashes, hash)
	n.slots[at] = uint32(len(n.keys))
	return uint32(len(n.keys) - 1), true
}

// grow doubles the table.
func (n *numbers[K]) grow() {
	n.slots = make([]uint32, max(numbersFirst, 2*len(n.slots)))
	mask := uint64(len(n.slots) - 1)
	for i, hash := range n.hashes {
		at := hash & mask
		for n.slots[at] != 0 {
			at = (at + 1) & mask
		}
		n.slots[at] = uint32(i + 1)
	}
}

// writer collects a message's strings, each once.
type writer struct {
	seen numbers[string]
	out  Strings
	err  error
}

// str returns the table's index of s.
func (w *writer) str(s string) uint32 {
	if s == "" {
		return 0
	}
	i, fresh := w.seen.number(maphash.String(hashSeed, s), s)
	if fresh {
		w.out.Text = append(w.out.Text, s...)
		w.out.Length = append(w.out.Length, uint32(len(s)))
	}
	return i + 1
}

// table returns the strings, or nil if there are none.
func (w *writer) table() *Strings {
	if len(w.out.Length) == 0 {
		return nil
	}
	return &w.out
}

// fail keeps the first error.
func (w *writer) fail(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf(format, args...)
	}
}

// reader returns a message's strings and keeps the first error. Its methods are harmless after an
// error, so that callers check only once.
type reader struct {
	strings []string
	err     error
	mem     arenas
	// unknown counts skipped content of a later version. If it is nil, such content is an error.
	unknown *Unknown
}

// newReader reads a message's string table.
func newReader(t *Strings) *reader {
	r := &reader{}
	text := t.GetText()
	r.strings = make([]string, 1, len(t.GetLength())+1)
	for _, n := range t.GetLength() {
		if uint64(n) > uint64(len(text)) {
			r.fail("strings", "a string of %d bytes where %d are left", n, len(text))
			return r
		}
		// Each string is its own copy: a policy that keeps one name does not keep the whole round
		// in memory.
		r.strings = append(r.strings, string(text[:n]))
		text = text[n:]
	}
	if len(text) != 0 {
		r.fail("strings", "%d bytes belong to no string", len(text))
	}
	return r
}

// fail keeps the first error.
func (r *reader) fail(where, format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: %s: %s", ErrBadMessage, where, fmt.Sprintf(format, args...))
	}
}

// str returns the string at an index.
func (r *reader) str(i uint32) string {
	if uint64(i) < uint64(len(r.strings)) {
		return r.strings[i]
	}
	r.fail("strings", "index %d in a table of %d", i, len(r.strings))
	return ""
}

// same checks that all columns of a message have n rows.
func (r *reader) same(where string, n int, columns ...int) bool {
	for _, c := range columns {
		if c != n {
			r.fail(where, "a column has %d rows where %d are needed", c, n)
			return false
		}
	}
	return true
}

// spans checks a column of row counts against the n rows and the columns that it divides, and
// returns a cursor over them.
func (r *reader) spans(where string, n int, rows []uint32, columns ...int) spans {
	total := uint64(0)
	for _, c := range rows {
		total += uint64(c)
	}
	if len(rows) != 0 && len(rows) != n {
		r.fail(where, "row counts for %d rows where there are %d", len(rows), n)
		return spans{}
	}
	for _, c := range columns {
		if uint64(c) != total {
			r.fail(where, "a column has %d elements where the rows claim %d", c, total)
			return spans{}
		}
	}
	return spans{rows: rows}
}

// spans divides flat columns into the elements of each row. The zero value has none for any row.
type spans struct {
	rows []uint32
	row  int
	at   int
}

// next returns the range of the next row's elements.
func (s *spans) next() (from, to int) {
	if s.row >= len(s.rows) {
		return s.at, s.at
	}
	from = s.at
	s.at += int(s.rows[s.row])
	s.row++
	return from, s.at
}

// empty reports whether the next row has no elements.
func (s *spans) empty() bool { return s.row >= len(s.rows) || s.rows[s.row] == 0 }

// rest returns how many elements are left.
func (s *spans) rest(total int) int { return total - s.at }

// count appends the number of elements of one row to a rows column.
func count(rows []uint32, n int) []uint32 { return append(rows, uint32(n)) }

// known checks an enumeration's value, which must be in [low, high]. A later version may have added
// values: a reader that skips unknown content returns 0 for those.
func known[T ~int32](r *reader, where string, v, low, high T) uint8 {
	if v >= low && v <= high {
		return uint8(v)
	}
	if v > high && r.unknown != nil {
		r.unknown.count(where, int32(v))
	} else {
		r.fail(where, "unknown value %d", v)
	}
	return 0
}

// checked is known for values being encoded.
func checked[T ~uint8](w *writer, where string, v, low, high T) int32 {
	if v < low || v > high {
		w.fail("%s: unknown value %d", where, v)
		return 0
	}
	return int32(v)
}
