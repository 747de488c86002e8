package job

import "iter"

// Batch is a run of records: their bytes end to end, and where each ends. A
// record is a byte string; what it means is between the two programs. The zero
// Batch is empty and ready to use. A Batch is not safe for concurrent use; who
// hands one on (Output.WriteBatch, Input.Next) hands over its ownership too.
type Batch struct {
	Data []byte
	Ends []uint32 // Ends[i] is the offset in Data at which record i ends; ascending
}

// BatchBytes is the size at which a writer that fills batches passes one on. A
// record larger than that travels in a batch of its own.
const BatchBytes = 64 << 10

// RecordBytesMax is the largest record: 1 GiB. A Batch holds at most twice that.
const RecordBytesMax = 1 << 30

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
