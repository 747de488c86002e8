package channel

import (
	"sync"

	"github.com/hamadryad/hamadryad/sdk/job"
)

// keepBytesMax is the largest batch, by capacity, whose memory is kept for the
// next one. Those who budget for full batches count on it.
const keepBytesMax = 2 * job.BatchBytes

var batches = sync.Pool{New: func() any { return new(job.Batch) }}

// GetBatch returns an empty batch, with memory from one that was put back if
// there is one.
func GetBatch() *job.Batch { return batches.Get().(*job.Batch) }

// PutBatch gives back a batch that nobody refers to any more: one that was
// written out, never one that was handed on.
func PutBatch(b *job.Batch) {
	if cap(b.Data)+recordCost*cap(b.Ends) > keepBytesMax {
		return
	}
	b.Reset()
	batches.Put(b)
}

// CloneBatch returns a copy that shares nothing with b.
func CloneBatch(b *job.Batch) *job.Batch {
	c := GetBatch()
	c.Data = append(c.Data, b.Data...)
	c.Ends = append(c.Ends, b.Ends...)
	return c
}
