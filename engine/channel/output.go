package channel

import (
	"context"
	"errors"
	"fmt"

	"github.com/hamadryad/hamadryad/sdk/job"
)

// OutputBudget is the default bound on the bytes that a port holds in batches that are not full
// yet, over all its partitions: 64 MiB.
const OutputBudget = 64 << 20

// smallBatch is the size below which WriteBatch copies a batch's records into the
// one being filled instead of passing it on: many tiny batches cost more than a copy.
const smallBatch = job.BatchBytes / 4

// Output is an output port over one Writer for each partition. It gathers
// records into batches of job.BatchBytes.
type Output struct {
	writers []Writer
	open    []*job.Batch // open[i] is being filled for writers[i]; nil when empty
	held    int64        // bytes of data in open
	budget  int64
	pooled  bool // all partitions' full batches fit the budget: take whole ones from the pool
	counts  Counts
	err     error // why nothing more can be written; nil while open
}

// Counts are the records and bytes that passed a port so far. Bytes counts only the records' own
// bytes.
type Counts struct{ Records, Bytes int64 }

var _ Port = (*Output)(nil)

// NewOutput makes a port with one writer for each partition. budget bounds the bytes held in
// batches that are not full, over all partitions; 0 means OutputBudget.
func NewOutput(writers []Writer, budget int64) *Output {
	if budget <= 0 {
		budget = OutputBudget
	}
	return &Output{
		writers: writers, open: make([]*job.Batch, len(writers)), budget: budget,
		pooled: int64(len(writers))*2*job.BatchBytes <= budget,
	}
}

// fresh returns an empty batch. With many partitions it starts without memory and
// grows, since most batches are passed on long before they are full.
func (o *Output) fresh(partition int) *job.Batch {
	b := &job.Batch{}
	if o.pooled {
		b = job.GetBatch()
	}
	o.open[partition] = b
	return b
}

// Partitions returns the number of writers.
func (o *Output) Partitions() int { return len(o.writers) }

// Counts returns the records and bytes written so far. Call it from the writing goroutine.
func (o *Output) Counts() Counts { return o.counts }

// Write copies the record into its partition's batch and passes on the batch
// when it is full.
func (o *Output) Write(ctx context.Context, partition int, record []byte) error {
	if o.err != nil || uint(partition) >= uint(len(o.writers)) || len(record) > job.RecordBytesMax {
		return o.refuse(partition, len(record))
	}
	b := o.open[partition]
	if b == nil {
		b = o.fresh(partition)
	}
	if n := len(b.Data); n > 0 && n+len(record) > job.BatchBytes {
		if err := o.flush(ctx, partition); err != nil {
			return err
		}
		b = o.fresh(partition)
	}
	b.Append(record)
	o.counts.Records++
	o.counts.Bytes += int64(len(record))
	o.held += recordCost + int64(len(record))
	if len(b.Data)+recordCost*len(b.Ends) >= 2*job.BatchBytes || len(b.Data) >= job.BatchBytes {
		return o.flush(ctx, partition)
	}
	if o.held > o.budget {
		return o.flushLarge(ctx)
	}
	return nil
}

// recordCost is the cost of a record in a batch beside its bytes.
const recordCost = 4

// WriteBatch passes the batch on after the records that its partition already holds. Small batches
// are gathered like records.
func (o *Output) WriteBatch(ctx context.Context, partition int, b *job.Batch) error {
	if o.err != nil || uint(partition) >= uint(len(o.writers)) {
		return o.refuse(partition, 0)
	}
	if b.Len() == 0 {
		return nil
	}
	if err := CheckBatch(b); err != nil {
		return err
	}
	if len(b.Data)+recordCost*len(b.Ends) < smallBatch {
		for r := range b.All() {
			if err := o.Write(ctx, partition, r); err != nil {
				return err
			}
		}
		job.PutBatch(b)
		return nil
	}
	if err := o.flush(ctx, partition); err != nil {
		return err
	}
	o.counts.Records += int64(b.Len())
	o.counts.Bytes += int64(len(b.Data))
	return o.pass(ctx, partition, b)
}

// Close passes on the gathered records and ends every stream. The first error aborts the remaining
// streams.
func (o *Output) Close(ctx context.Context) error {
	if o.err != nil {
		return o.err
	}
	for i := range o.writers {
		err := o.flush(ctx, i)
		if err == nil {
			err = o.writers[i].Close(ctx)
		}
		if err != nil {
			o.Abort(err)
			return err
		}
	}
	o.err = ErrClosed
	return nil
}

// Abort ends every stream as failed. Streams that were closed already stay ended.
func (o *Output) Abort(cause error) {
	if errors.Is(o.err, ErrClosed) {
		return
	}
	o.err = fmt.Errorf("%w: aborted: %w", ErrClosed, cause)
	clear(o.open)
	for _, w := range o.writers {
		w.Abort(cause)
	}
}

// flush passes on the open batch of a partition, if there is one.
func (o *Output) flush(ctx context.Context, partition int) error {
	b := o.open[partition]
	if b == nil {
		return nil
	}
	o.open[partition] = nil
	o.held -= int64(len(b.Data) + recordCost*len(b.Ends))
	if b.Len() == 0 {
		return nil
	}
	return o.pass(ctx, partition, b)
}

func (o *Output) pass(ctx context.Context, partition int, b *job.Batch) error {
	if err := o.writers[partition].WriteBatch(ctx, b); err != nil {
		// The batch is gone: a later Close must not make the stream look whole.
		o.err = err
		return err
	}
	return nil
}

// flushLarge passes on every batch of at least the mean size. So one pass over all partitions frees
// most of the held bytes.
func (o *Output) flushLarge(ctx context.Context) error {
	filled := int64(0)
	for _, b := range o.open {
		if b != nil {
			filled++
		}
	}
	mean := o.held / max(filled, 1)
	for i, b := range o.open {
		if b != nil && int64(len(b.Data)+recordCost*len(b.Ends)) >= mean {
			if err := o.flush(ctx, i); err != nil {
				return err
			}
		}
	}
	return nil
}

// refuse returns why a write is refused.
func (o *Output) refuse(partition, size int) error {
	if o.err != nil {
		return o.err
	}
	return RefuseWrite(partition, len(o.writers), size)
}

// RefuseWrite is the error for a write to a partition that does not exist, or of
// a record that is too large.
func RefuseWrite(partition, partitions, size int) error {
	if partition < 0 || partition >= partitions {
		return fmt.Errorf("partition %d does not exist: this port has %d, numbered from 0; check the partitioner", partition, partitions)
	}
	return job.Permanent(fmt.Errorf("record of %d bytes is larger than the limit of %d: split it", size, job.RecordBytesMax))
}

// CheckBatch returns an error unless the batch is consistent: ascending ends, the last of them at
// the end of the data, and no record over the limit.
func CheckBatch(b *job.Batch) error {
	at := uint32(0)
	for i, end := range b.Ends {
		if end < at || end-at > job.RecordBytesMax {
			return fmt.Errorf("bad batch: record %d goes from byte %d to %d (at most %d bytes a record, ends ascending)", i, at, end, job.RecordBytesMax)
		}
		at = end
	}
	if int64(at) != int64(len(b.Data)) || len(b.Data) > 2*job.RecordBytesMax {
		return fmt.Errorf("bad batch: its records end at byte %d and it holds %d bytes (at most %d): was a Seal forgotten?", at, len(b.Data), 2*job.RecordBytesMax)
	}
	return nil
}
