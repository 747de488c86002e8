package sorting

import (
	"encoding/binary"

	"github.com/hamadryad/hamadryad/sdk/job"
)

// ref represents a pair in sorting. The first bytes of the key decide most comparisons without the
// cache miss of reading the pair.
type ref struct {
	prefix uint64 // the key's first eight bytes, and
	more   uint32 // four more
	chunk  uint32 // location of the pair; for a table, of its slot
	start  uint32
	size   uint32
}

// refBytes is the size of a ref.
const refBytes = 24

// prefixes returns the first twelve bytes of a key as numbers. Where these differ, they compare as
// the keys do.
func prefixes(key []byte) (uint64, uint32) {
	if len(key) >= 12 {
		return binary.BigEndian.Uint64(key), binary.BigEndian.Uint32(key[8:])
	}
	var b [12]byte
	copy(b[:], key)
	return binary.BigEndian.Uint64(b[:]), binary.BigEndian.Uint32(b[8:])
}

// records holds records of pairs and a ref for each, within a budget, in a few large chunks of
// memory that are reused.
type records struct {
	max    int64 // bytes
	refs   []ref
	chunks [][]byte // up to their length in use
	now    int      // the chunk being filled
	taken  int64    // bytes of all chunks, used or not
	data   int64    // bytes of all records
}

const (
	chunkMin, chunkMax = 64 << 10, 32 << 20 // bytes
	chunkShare         = 8                  // a chunk is at most the budget divided by this
	// chunkFirst is the first chunk, in bytes. Each further one has chunkGrowth times as many as all
	// before it: new memory costs time, and a reduce task may have few pairs.
	chunkFirst  = 1 << 20
	chunkGrowth = 4
	// refsFirst is the initial room for refs. When it is used up, it grows by refsGrowth, and to no more
	// than the budget will hold: the mean size of the pairs predicts how many these are.
	refsFirst  = 4096
	refsGrowth = 8
)

func newRecords(memory int64) records { return records{max: memory} }

// full reports whether a record of this size does not fit any more. The first record always fits.
func (r *records) full(size int) bool {
	if len(r.refs) == 0 {
		return false
	}
	more := int64(0)
	if len(r.refs) == cap(r.refs) {
		more += int64(r.refsWanted()-cap(r.refs)) * refBytes
	}
	if !r.hasRoom(size) {
		more += r.chunkWanted(size)
	}
	return more > 0 && r.taken+int64(cap(r.refs))*refBytes+more > r.max
}

// hasRoom reports whether the record fits into the existing chunks.
func (r *records) hasRoom(size int) bool {
	for i := r.now; i < len(r.chunks); i++ {
		if cap(r.chunks[i])-len(r.chunks[i]) >= size {
			return true
		}
	}
	return false
}

func (r *records) refsWanted() int {
	n := len(r.refs)
	if n < refsFirst {
		return refsFirst
	}
	mean := r.data/int64(n) + 1 + refBytes
	return max(int(min(r.max/mean, 1<<31, refsGrowth*int64(n))), n+n/4)
}

// chunkLargest is the size of a chunk, unless one record is larger.
func (r *records) chunkLargest() int64 { return min(max(r.max/chunkShare, chunkMin), chunkMax) }

func (r *records) chunkWanted(size int) int64 {
	return max(int64(size), min(r.chunkLargest(), max(chunkGrowth*r.taken, chunkFirst)))
}

// add copies a record; key is its key.
func (r *records) add(record, key []byte) {
	if len(r.refs) == cap(r.refs) {
		grown := hugeSlice[ref](r.refsWanted())[:len(r.refs)]
		copy(grown, r.refs)
		r.refs = grown
	}
	if !r.hasRoom(len(record)) {
		chunk := hugeSlice[byte](int(r.chunkWanted(len(record))))[:0]
		r.chunks, r.taken = append(r.chunks, chunk), r.taken+int64(cap(chunk))
	}
	for cap(r.chunks[r.now])-len(r.chunks[r.now]) < len(record) {
		r.now++
	}
	chunk := r.chunks[r.now]
	prefix, more := prefixes(key)
	r.refs = append(r.refs, ref{prefix, more, uint32(r.now), uint32(len(chunk)), uint32(len(record))})
	r.chunks[r.now] = append(chunk, record...)
	r.data += int64(len(record))
}

// addBatch copies a batch's records from the i-th on until one does not fit, and returns the index
// of that record.
func (r *records) addBatch(b *job.Batch, i int) (int, error) {
	for ; i < len(b.Ends); i++ {
		record := b.Record(i)
		if r.full(len(record)) {
			break
		}
		key, _, err := Split(record)
		if err != nil {
			return i, err
		}
		r.add(record, key)
	}
	return i, nil
}

func (r *records) record(f *ref) []byte {
	return r.chunks[f.chunk][f.start : f.start+f.size : f.start+f.size]
}

// key returns the key of an added record; it was valid then, so Split succeeds.
func (r *records) key(f ref) []byte {
	key, _, _ := Split(r.record(&f))
	return key
}

// bytes is the memory in use.
func (r *records) bytes() int64 { return r.data + int64(len(r.refs))*refBytes }

// reset empties it and keeps the memory, except that of a single large record.
func (r *records) reset() {
	kept := r.chunks[:0]
	r.taken = 0
	for _, c := range r.chunks {
		if int64(cap(c)) <= r.chunkLargest() {
			kept, r.taken = append(kept, c[:0]), r.taken+int64(cap(c))
		}
	}
	clear(r.chunks[len(kept):])
	r.chunks, r.refs, r.now, r.data = kept, r.refs[:0], 0, 0
}
