package job

import (
	"fmt"
	"iter"
	"sync"
)

// Batch is a sequence of records: their bytes end to end, and the end of each. A record is a byte
// string; the programs that write and read it give it its meaning. The zero Batch is empty and
// ready to use. A Batch is not safe for concurrent use. Output.WriteBatch and Input.Next hand over
// its ownership.
type Batch struct {
	Data []byte
	Ends []uint32 // Ends[i] is the offset in Data at which record i ends; ascending
}

// BatchBytes is the size at which a writer passes a batch on, in bytes. A larger record travels in
// a batch of its own.
const BatchBytes = 64 << 10

// RecordBytesMax is the largest record: 1 GiB. A Batch holds at most twice that.
const RecordBytesMax = 1 << 30

// RecordLimit is the largest record, in bytes, that a node with this memory takes: a quarter of it,
// and at most RecordBytesMax. A node holds several copies of a record at once: as it was read, in a
// batch, and packed. A memory of 0 is unknown.
func RecordLimit(memory int64) int {
	if memory <= 0 {
		return RecordBytesMax
	}
	return int(min(memory/recordShare, RecordBytesMax))
}

// CheckRecord returns an error for a record of more bytes than RecordLimit; it names
// the limit and the remedy, and is Permanent.
func CheckRecord(size, memory int64) error {
	limit := int64(RecordLimit(memory))
	switch {
	case size <= limit:
		return nil
	case size > RecordBytesMax:
		return Permanent(fmt.Errorf("a record of %d bytes is larger than the limit of %d: split it", size, RecordBytesMax))
	}
	// The node's own framing, such as a key, must fit too.
	enough := recordShare * (size + recordFrame)
	return Permanent(fmt.Errorf("a record of %d bytes is larger than %d, which is a quarter of the %d bytes that the task may use: give the task a Memory of %d or more (--memory %dMiB), or split the record", size, limit, memory, enough, (enough+1<<20-1)>>20))
}

// recordFrame is room for what a node adds to a record, such as a key, in bytes.
const recordFrame = 4 << 10

// recordShare is the divisor of a node's memory that gives the largest record.
const recordShare = 4

// batchKeepMax is the largest batch, by its allocated memory in bytes, that PutBatch keeps: a rare
// large batch must not hold its memory for ever.
const batchKeepMax = 2 * BatchBytes

var batches = sync.Pool{New: func() any { return new(Batch) }}

// GetBatch returns an empty batch, and reuses the memory of one that was put back if there is one.
// GetBatch and PutBatch are safe for concurrent use.
func GetBatch() *Batch { return batches.Get().(*Batch) }

// PutBatch recycles a batch. The caller must own it, and nothing may refer to it or its records any
// more: not a batch that was handed on. Recycling batches of Input.Next saves allocations; it is
// optional.
func PutBatch(b *Batch) {
	if cap(b.Data)+4*cap(b.Ends) > batchKeepMax {
		return
	}
	b.Reset()
	batches.Put(b)
}

// Len returns the number of records.
func (b *Batch) Len() int { return len(b.Ends) }

// Record returns record i. It shares the batch's memory.
func (b *Batch) Record(i int) []byte {
	start := uint32(0)
	if i > 0 {
		start = b.Ends[i-1]
	}
	return b.Data[start:b.Ends[i]:b.Ends[i]]
}

// Append adds a copy of record.
func (b *Batch) Append(record []byte) {
	b.Data = append(b.Data, record...)
	b.Ends = append(b.Ends, uint32(len(b.Data)))
}

// Seal ends a record whose bytes the caller appended to Data itself.
func (b *Batch) Seal() { b.Ends = append(b.Ends, uint32(len(b.Data))) }

// Reset empties the batch and keeps its memory.
func (b *Batch) Reset() { b.Data, b.Ends = b.Data[:0], b.Ends[:0] }

// All ranges over the records in order.
func (b *Batch) All() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		start := uint32(0)
		for _, end := range b.Ends {
			if !yield(b.Data[start:end:end]) {
				return
			}
			start = end
		}
	}
}
