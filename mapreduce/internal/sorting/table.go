package sorting

import (
	"math"

	"github.com/hamadryad/hamadryad/sdk/job"
)

// Fold adds a value to what was gathered for a key and returns the sum, for which
// it may use the memory of acc, beyond its length too. It must be associative and
// commutative, and must not keep its arguments.
type Fold func(acc, value []byte) []byte

// Table folds the values of each key. The zero Table is not ready: use NewTable.
type Table struct {
	fold  Fold
	slots []uint64 // low half: 1 + index in entries, 0 for free; high half: of the hash
	list  []entry
	arena []byte
}

type entry struct {
	hash      uint64
	key       uint32 // offsets in the arena; the value begins where the key ends
	keyLen    uint32
	value     uint32 // offset
	valueLen  uint32
	valueRoom uint32
}

const (
	entryBytes = 32 + 16 // and its ref when the table is sorted
	slotsMin   = 1 << 10
	// arenaMax keeps offsets within 32 bits. A larger pair is passed on unfolded.
	arenaMax = math.MaxUint32
)

// NewTable makes an empty table.
func NewTable(fold Fold) *Table {
	return &Table{fold: fold, slots: make([]uint64, slotsMin)}
}

// Len is the number of keys.
func (t *Table) Len() int { return len(t.list) }

// Bytes is the memory the table takes, and what its next growth may add.
func (t *Table) Bytes() int64 {
	return int64(len(t.arena)) + int64(len(t.list))*entryBytes + int64(len(t.slots))*8
}

// Add folds a value into its key's. It reports false, and does nothing, when the
// pair does not fit into a table at all, or not before Reset.
func (t *Table) Add(key, value []byte) bool { return t.AddHash(job.Hash(key), key, value) }

// AddHash is Add for a key whose job.Hash is known.
func (t *Table) AddHash(hash uint64, key, value []byte) bool {
	mask := uint64(len(t.slots) - 1)
	i := hash & mask
	for ; ; i = (i + 1) & mask {
		slot := t.slots[i]
		if slot == 0 {
			break
		}
		if slot>>32 != hash>>32 {
			continue
		}
		e := &t.list[uint32(slot)-1]
		if e.hash == hash && string(t.arena[e.key:e.key+e.keyLen]) == string(key) {
			return t.update(e, value)
		}
	}
	if len(t.arena)+len(key)+len(value) > arenaMax || len(t.list) == math.MaxInt32 {
		return false
	}
	at := uint32(len(t.arena))
	t.arena = append(append(t.arena, key...), value...)
	t.list = append(t.list, entry{
		hash: hash, key: at, keyLen: uint32(len(key)),
		value: at + uint32(len(key)), valueLen: uint32(len(value)), valueRoom: uint32(len(value)),
	})
	t.slots[i] = hash>>32<<32 | uint64(len(t.list))
	if 2*len(t.list) > len(t.slots) {
		t.grow()
	}
	return true
}

// update folds into an entry: in place where the sum fits, else at the arena's end.
func (t *Table) update(e *entry, value []byte) bool {
	sum := t.fold(t.arena[e.value:e.value+e.valueLen:e.value+e.valueRoom], value)
	if uint64(len(sum)) <= uint64(e.valueRoom) {
		copy(t.arena[e.value:], sum) // nothing moves when the fold used the memory of acc
		e.valueLen = uint32(len(sum))
		return true
	}
	if len(t.arena)+2*len(sum) > arenaMax {
		return false
	}
	// Twice the room: a value that grows each time must not cost its square.
	e.value, e.valueLen, e.valueRoom = uint32(len(t.arena)), uint32(len(sum)), uint32(2*len(sum))
	t.arena = append(t.arena, sum...)
	t.arena = append(t.arena, sum...)
	return true
}

func (t *Table) grow() {
	t.slots = make([]uint64, 4*len(t.slots))
	mask := uint64(len(t.slots) - 1)
	for n, e := range t.list {
		i := e.hash & mask
		for t.slots[i] != 0 {
			i = (i + 1) & mask
		}
		t.slots[i] = e.hash>>32<<32 | uint64(n+1)
	}
}

// All calls each with every key, its hash and its value, in order of first
// appearance. The slices are the table's.
func (t *Table) All(each func(hash uint64, key, value []byte) error) error {
	for i := range t.list {
		e := &t.list[i]
		if err := each(e.hash, t.key(e), t.value(e)); err != nil {
			return err
		}
	}
	return nil
}

func (t *Table) key(e *entry) []byte { return t.arena[e.key : e.key+e.keyLen : e.key+e.keyLen] }
func (t *Table) value(e *entry) []byte {
	return t.arena[e.value : e.value+e.valueLen : e.value+e.valueLen]
}

// sorted returns the entries in order of key.
func (t *Table) sorted(compare Compare) []ref {
	refs := make([]ref, len(t.list))
	for i := range t.list {
		refs[i] = ref{prefix(t.key(&t.list[i])), uint64(i)}
	}
	sortRefs(refs, compare, func(at uint64) []byte { return t.key(&t.list[at]) })
	return refs
}

// Reset empties the table and keeps its memory, save what one burst made large.
func (t *Table) Reset() {
	clear(t.slots)
	t.list, t.arena = t.list[:0], t.arena[:0]
}
