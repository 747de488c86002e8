package sorting

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"

	"github.com/hamadryad/hamadryad/sdk/job"
)

// Fold adds a value to the accumulated value of a key and returns the sum, which may use the memory
// of acc, beyond its length too. It must be associative and commutative, and must not keep its
// arguments.
type Fold func(acc, value []byte) []byte

// Table folds the values of each key. The zero Table is not ready: use NewTable.
//
// Cache misses dominate the cost of a large table. So a short key and a short value lie in their
// slot: one miss for a look-up. Longer ones lie in the arena. Short pairs also wait until there are
// touchAhead of them, whose slots are then fetched from memory at once.
type Table struct {
	fold    Fold
	salt    uint64 // of the hash; see gathererSalt
	slots   []slot // open addressing, by the low bits of the hash; a power of two
	keys    int
	arena   []byte
	waiting int // how many of wait are in use
	wait    [touchAhead]short
	touched uint8
	err     error // the first error; the table is unusable after it
}

// short is a pair that waits to be added.
type short struct {
	hash   uint32
	key    uint8 // as in a slot
	value  uint8 // length
	lo, hi uint64
	bytes  [valueInline]byte // of the value
}

// slot is half a cache line.
type slot struct {
	hash  uint32
	key   uint8 // 0: free; 1 + the length of a key that lies in the slot; or outside
	value uint8 // length of a value that lies in the slot, or outside
	// keyBytes is the key, then zeros. For a key outside the slot it is the place in the arena and
	// the length, eight bytes each.
	keyBytes [keyInline]byte
	// valueBytes is the value. For a value outside the slot it is the place in the arena, where
	// length and capacity, four bytes each, come first.
	valueBytes [valueInline]byte
}

const (
	keyInline   = 16
	valueInline = 8
	outside     = math.MaxUint8

	slotBytes = 32
	slotsMin  = 1 << 8
	// sizeMax is the longest value: a longer one could not be sent, and its length and twice that
	// fit in 32 bits.
	sizeMax = job.RecordBytesMax
)

// NewTable makes an empty table.
func NewTable(fold Fold) *Table {
	return &Table{fold: fold, slots: make([]slot, slotsMin)}
}

// Len is the number of keys, without waiting pairs.
func (t *Table) Len() int { return t.keys }

// full reports whether the next new key makes the table grow.
func (t *Table) full() bool { return t.keys >= len(t.slots)/4*3 }

// Bytes is the memory that the table takes when its keys are sorted, including its next growth if
// that is due. Waiting pairs do not count.
func (t *Table) Bytes() int64 {
	slots := int64(len(t.slots)) * slotBytes
	if t.full() {
		slots *= 3 // the old slots and twice as many new ones
	}
	return slots + int64(len(t.arena)) + int64(t.keys)*refBytes
}

// Add folds a value into its key's. An error means that a sum is longer than job.RecordBytesMax. A
// later Add may report it, and it is permanent.
func (t *Table) Add(key, value []byte) error {
	if len(key) > keyInline || len(value) > valueInline {
		return t.addLong(key, value)
	}
	if t.waiting == touchAhead {
		if err := t.settle(); err != nil {
			return err
		}
	}
	w := &t.wait[t.waiting]
	t.waiting++
	w.set(key, t.salt)
	w.value = uint8(len(value))
	if len(value) == valueInline {
		w.bytes = [valueInline]byte(value) // one move; the common case
	} else {
		copy(w.bytes[:], value)
	}
	return nil
}

func (w *short) set(key []byte, salt uint64) {
	w.lo, w.hi = load(key)
	w.hash = mix(w.lo^salt, w.hi, len(key))
	w.key = uint8(len(key) + 1)
}

// errFold is set while a fold runs, and stays if the fold panics: then the table's content is
// incomplete, even if the caller recovers.
var errFold = errors.New("the combiner panicked before: what it gathered is lost")

// settle adds the waiting pairs.
func (t *Table) settle() error {
	if t.err != nil {
		return t.err
	}
	t.err = errFold
	// Independent memory reads overlap their waits.
	mask := uint32(len(t.slots) - 1)
	for i := range t.waiting {
		t.touched += t.slots[t.wait[i].hash&mask].key
	}
	for i := range t.waiting {
		w := &t.wait[i]
		t.addShort(w, w.bytes[:w.value])
	}
	t.waiting = 0
	return t.folded()
}

// folded clears errFold after a fold returned.
func (t *Table) folded() error {
	if t.err == errFold { //nolint:errorlint // set here and never wrapped
		t.err = nil
	}
	return t.err
}

// addLong adds a pair that does not fit into a slot.
func (t *Table) addLong(key, value []byte) error {
	if err := t.settle(); err != nil {
		return err
	}
	t.err = errFold
	if len(key) <= keyInline {
		var w short
		w.set(key, t.salt)
		t.addShort(&w, value)
	} else {
		t.addLongKey(key, value)
	}
	return t.folded()
}

func (t *Table) addShort(w *short, value []byte) {
	mask := uint32(len(t.slots) - 1)
	for i := w.hash & mask; ; i = (i + 1) & mask {
		s := &t.slots[i]
		if s.key == w.key && binary.LittleEndian.Uint64(s.keyBytes[:]) == w.lo && binary.LittleEndian.Uint64(s.keyBytes[8:]) == w.hi {
			t.update(s, value)
			return
		}
		if s.key == 0 {
			s = t.insert(i, w.hash, value)
			s.key = w.key
			binary.LittleEndian.PutUint64(s.keyBytes[:], w.lo)
			binary.LittleEndian.PutUint64(s.keyBytes[8:], w.hi)
			return
		}
	}
}

// load returns a key of up to 16 bytes, padded with zeros, as two numbers.
func load(key []byte) (lo, hi uint64) {
	le := binary.LittleEndian
	switch n := len(key); {
	case n >= 8:
		return le.Uint64(key), le.Uint64(key[n-8:]) >> (8 * (16 - uint(n)))
	case n >= 4:
		return uint64(le.Uint32(key)) | uint64(le.Uint32(key[n-4:]))<<(8*uint(n-4)), 0
	case n > 0:
		return uint64(key[0]) | uint64(key[n/2])<<(8*uint(n/2)) | uint64(key[n-1])<<(8*uint(n-1)), 0
	}
	return 0, 0
}

// gathererSalt is the salt of a table that gathers from other tables, which yield keys in order of
// their hashes. With the same salt those keys would fill a smaller table from one end, and each new
// key would probe past all earlier ones.
const gathererSalt = 0x8ebc6af09c88c6e3

// mix hashes a short key. Partitions use another hash, job.Hash: the keys of one partition must not
// share the bits that index a table.
func mix(lo, hi uint64, n int) uint32 {
	a, b := bits.Mul64(lo^0x9e3779b97f4a7c15, hi^0xe7037ed1a0b428db^uint64(n))
	a, b = bits.Mul64(a^b, 0xa0761d6478bd642f)
	return uint32(a ^ b)
}

func (t *Table) addLongKey(key, value []byte) {
	hash := mix(job.Hash(key)^t.salt, 0, len(key))
	mask := uint32(len(t.slots) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		s := &t.slots[i]
		if s.key == outside && s.hash == hash && string(t.key(s)) == string(key) {
			t.update(s, value)
			return
		}
		if s.key == 0 {
			s = t.insert(i, hash, value)
			s.key = outside
			binary.LittleEndian.PutUint64(s.keyBytes[:], uint64(len(t.arena)))
			binary.LittleEndian.PutUint64(s.keyBytes[8:], uint64(len(key)))
			t.arena = append(t.arena, key...)
			return
		}
	}
}

// insert takes the free slot i, or another one if the table must grow first, and stores the value;
// the caller stores the key.
func (t *Table) insert(i, hash uint32, value []byte) *slot {
	if t.full() {
		t.grow()
		i = t.free(hash)
	}
	t.keys++
	s := &t.slots[i]
	s.hash = hash
	t.put(s, value, len(value))
	return s
}

// free finds a slot for a key that is not in the table.
func (t *Table) free(hash uint32) uint32 {
	mask := uint32(len(t.slots) - 1)
	i := hash & mask
	for t.slots[i].key != 0 {
		i = (i + 1) & mask
	}
	return i
}

// put stores a slot's first value, or a value that has outgrown its place.
func (t *Table) put(s *slot, value []byte, room int) {
	if len(value) <= valueInline {
		s.value = uint8(copy(s.valueBytes[:], value))
		return
	}
	s.value = outside
	binary.LittleEndian.PutUint64(s.valueBytes[:], uint64(len(t.arena)))
	t.arena = binary.LittleEndian.AppendUint32(t.arena, uint32(len(value)))
	t.arena = binary.LittleEndian.AppendUint32(t.arena, uint32(room))
	t.arena = append(t.arena, value...)
	for rest := room - len(value); rest > 0; { // content is irrelevant: a fold writes before it reads
		part := value[:min(rest, len(value))]
		t.arena = append(t.arena, part...)
		rest -= len(part)
	}
}

// update folds a value into a slot: in place if the sum fits, else at the arena's end.
func (t *Table) update(s *slot, value []byte) {
	if s.value != outside {
		sum := t.fold(s.valueBytes[:s.value], value)
		if len(sum) <= valueInline {
			s.value = uint8(copy(s.valueBytes[:], sum)) // nothing is copied if the fold used the memory of acc
			return
		}
		t.outgrow(s, sum)
		return
	}
	head, acc := t.outsideValue(s)
	sum := t.fold(acc, value)
	if len(sum) <= cap(acc) {
		copy(acc[:cap(acc)], sum)
		binary.LittleEndian.PutUint32(head, uint32(len(sum)))
		return
	}
	t.outgrow(s, sum)
}

// outgrow gives a value twice the room, so that a value that grows each time costs linear, not
// quadratic, time.
func (t *Table) outgrow(s *slot, sum []byte) {
	if len(sum) > sizeMax {
		t.err = job.Permanent(fmt.Errorf("the combined value of key %q has %d bytes, and a record at most %d: leave the combiner out", shorten(t.key(s)), len(sum), sizeMax))
		return
	}
	t.put(s, sum, 2*len(sum))
}

// outsideValue returns the header and the value of a slot whose value is in the arena; the value's
// capacity is its room.
func (t *Table) outsideValue(s *slot) (head, value []byte) {
	at := binary.LittleEndian.Uint64(s.valueBytes[:])
	head = t.arena[at:]
	size, room := binary.LittleEndian.Uint32(head), binary.LittleEndian.Uint32(head[4:])
	return head[:8], head[8 : 8+uint64(size) : 8+uint64(room)]
}

func (t *Table) key(s *slot) []byte {
	if s.key != outside {
		return s.keyBytes[: s.key-1 : s.key-1]
	}
	at, size := binary.LittleEndian.Uint64(s.keyBytes[:]), binary.LittleEndian.Uint64(s.keyBytes[8:])
	return t.arena[at : at+size : at+size]
}

func (t *Table) value(s *slot) []byte {
	if s.value != outside {
		return s.valueBytes[:s.value:s.value]
	}
	_, v := t.outsideValue(s)
	return v[:len(v):len(v)]
}

func (t *Table) grow() {
	old := t.slots
	t.slots = hugeSlice[slot](2 * len(old))
	for i := range old {
		if old[i].key != 0 {
			t.slots[t.free(old[i].hash)] = old[i]
		}
	}
}

// All calls each with every key, its job.Hash and its value. The order depends only on what was
// added. The slices belong to the table.
func (t *Table) All(each func(hash uint64, key, value []byte) error) error {
	if err := t.settle(); err != nil {
		return err
	}
	for i := range t.slots {
		s := &t.slots[i]
		if s.key == 0 {
			continue
		}
		key := t.key(s)
		if err := each(job.Hash(key), key, t.value(s)); err != nil {
			return err
		}
	}
	return nil
}

// sorted returns refs to the slots in order of key, without waiting pairs.
func (t *Table) sorted(o order) [][]ref {
	refs := hugeSlice[ref](t.keys)[:0]
	for i := range t.slots {
		if s := &t.slots[i]; s.key != 0 {
			prefix, more := prefixes(t.key(s))
			refs = append(refs, ref{prefix: prefix, more: more, chunk: uint32(i)})
		}
	}
	return sortRefs(refs, o, func(f ref) []byte { return t.key(&t.slots[f.chunk]) })
}

// Reset empties the table and keeps its memory.
func (t *Table) Reset() {
	clear(t.slots)
	t.keys, t.waiting, t.arena = 0, 0, t.arena[:0]
}
