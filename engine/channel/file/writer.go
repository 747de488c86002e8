package file

import (
	"bufio"
	"context"
	"errors"
	"fmt"

	"github.com/hamadryad/hamadryad/engine/channel"
	"github.com/hamadryad/hamadryad/engine/channel/block"
	"github.com/hamadryad/hamadryad/sdk/job"
	"github.com/hamadryad/hamadryad/sdk/storage"
)

// Options of a Writer. The zero value is ready to use.
type Options struct {
	// Codec compresses the blocks.
	Codec block.Codec
	// Budget is the most memory held in buffers, in bytes, whatever the number of
	// partitions; 0 means BudgetDefault. Less is used where partitions are few. A
	// single record may exceed it.
	Budget int64
	// Sync makes Close return only when the file is on stable storage. Without it a power cut can
	// lose a file that was complete. Only for Create.
	Sync bool
}

// BudgetDefault is the memory a Writer uses when Options say nothing: 64 MiB.
const BudgetDefault = 64 << 20

const (
	// partitionBudget is the most memory used for a partition. Runs of about a megabyte are read as
	// fast as longer ones. Memory that is reused soon is in the cache, and costs no page faults.
	// budgetEnough is for a few partitions.
	partitionBudget = 1 << 20
	budgetEnough    = 8 << 20

	// gatherFrom is how many partitions there are at least where records are gathered in order of arrival.
	gatherFrom = 64

	outBytes = 64 << 10 // gathers small blocks into larger writes
	// directBytes is the size from which a block is written at once instead of being held back: it
	// makes a long run by itself.
	directBytes = 1 << 20
	// batchRecordsMax ends a batch of tiny records before its list of ends outgrows
	// its data.
	batchRecordsMax = job.BatchBytes / 4
	recordCost      = 4 // bytes of an entry in a batch's list of ends
)

// Info describes a complete file.
type Info struct {
	Bytes          int64   // size of the file
	Records        int64   // over all partitions
	PartitionBytes []int64 // stored bytes of each partition's blocks
}

// Writer is an output port that writes one stored channel file. After an error it removes the file,
// and every further call returns that error.
type Writer struct {
	sink   storage.File
	path   string
	out    *bufio.Writer
	at     int64 // offset of the next write
	enc    *block.Encoder
	packed []byte // scratch for a block's head, and the block where it is compressed
	parts  []part
	runs   []run // in the order they were written

	// rawHeld and packedHeld are the memory of all open batches, by capacity, and
	// of all blocks held back.
	rawHeld, packedHeld, budget int64
	pooled                      bool // full batches for all partitions fit half the budget

	gathered *gathered // records of all partitions, if they have no batches; nil: they have

	counts channel.Counts
	info   Info
	err    error // why nothing more can be written
}

// part is a Writer's state of one partition.
type part struct {
	open    *job.Batch // being filled; nil when empty
	blocks  [][]byte   // encoded and held back
	bytes   int64      // stored so far, blocks included
	records int64
}

var _ channel.Port = (*Writer)(nil)

// Create starts a local file. It appears at path when Close returns nil; until then its name is
// path with ".tmp" behind it. The folder must exist, the file must not.
func Create(path string, partitions int, o Options) (*Writer, error) {
	if err := checkPartitions(path, partitions); err != nil {
		return nil, err
	}
	sink, err := createLocal(path, o.Sync)
	if err != nil {
		return nil, err
	}
	return New(sink, path, partitions, o)
}

// New writes through f, for a channel that is kept on the job's storage. Close commits f, and Abort
// aborts it. path is for errors.
func New(f storage.File, path string, partitions int, o Options) (*Writer, error) {
	if err := checkPartitions(path, partitions); err != nil {
		return nil, errors.Join(err, f.Abort())
	}
	if o.Budget <= 0 {
		o.Budget = BudgetDefault
	}
	o.Budget = min(o.Budget, max(int64(partitions)*partitionBudget, budgetEnough))
	w := &Writer{
		sink: f, path: path, out: bufio.NewWriterSize(f, outBytes), enc: block.NewEncoder(o.Codec),
		parts: make([]part, partitions), budget: o.Budget,
		pooled: int64(partitions)*2*job.BatchBytes <= o.Budget/2,
	}
	if !w.pooled && partitions >= gatherFrom {
		w.gathered = gatheredMemory.Get().(*gathered)
	}
	return w, w.emit(header())
}

func checkPartitions(path string, n int) error {
	if n < 1 || n > PartitionsMax {
		return fmt.Errorf("channel file %s: %d partitions; a stored channel has 1 to %d", path, n, PartitionsMax)
	}
	return nil
}

// Partitions returns the number of partitions.
func (w *Writer) Partitions() int { return len(w.parts) }

// Counts returns the records and bytes written so far. Call it from the writing goroutine.
func (w *Writer) Counts() channel.Counts { return w.counts }

// Info describes the file once Close returned nil.
func (w *Writer) Info() Info { return w.info }

// Write copies the record.
func (w *Writer) Write(ctx context.Context, partition int, record []byte) error {
	if w.err != nil || uint(partition) >= uint(len(w.parts)) || len(record) > job.RecordBytesMax {
		return w.refuse(partition, len(record))
	}
	if w.gathered != nil {
		if len(record) <= gatheredRecordMax {
			return w.gather(ctx, partition, record)
		}
		if err := w.endGathering(ctx); err != nil {
			return err
		}
	}
	p := &w.parts[partition]
	if p.open != nil && len(p.open.Data) > 0 && len(p.open.Data)+len(record) > job.BatchBytes {
		if err := w.pack(ctx, partition); err != nil {
			return err
		}
	}
	if p.open == nil {
		p.open = w.fresh()
	}
	b := p.open
	before := memory(b)
	b.Append(record)
	w.rawHeld += memory(b) - before
	w.counts.Records++
	w.counts.Bytes += int64(len(record))
	if len(b.Data) >= job.BatchBytes || len(b.Ends) >= batchRecordsMax {
		return w.pack(ctx, partition)
	}
	return w.relieve(ctx)
}

// WriteBatch takes over the batch. Small batches are gathered like records.
func (w *Writer) WriteBatch(ctx context.Context, partition int, b *job.Batch) error {
	if w.err != nil || uint(partition) >= uint(len(w.parts)) {
		return w.refuse(partition, 0)
	}
	if b.Len() == 0 {
		return nil
	}
	if err := channel.CheckBatch(b); err != nil {
		return err
	}
	if len(b.Data)+recordCost*len(b.Ends) < job.BatchBytes/4 {
		for r := range b.All() {
			if err := w.Write(ctx, partition, r); err != nil {
				return err
			}
		}
		job.PutBatch(b)
		return nil
	}
	if err := w.endGathering(ctx); err != nil {
		return err
	}
	if err := w.pack(ctx, partition); err != nil {
		return err
	}
	w.parts[partition].open = b
	w.rawHeld += memory(b)
	w.counts.Records += int64(b.Len())
	w.counts.Bytes += int64(len(b.Data))
	return w.pack(ctx, partition)
}

// Close writes the blocks held back, the index and the footer, and makes the file visible.
func (w *Writer) Close(ctx context.Context) error {
	if w.err != nil {
		return w.err
	}
	var err error
	if w.gathered != nil {
		err = w.packGathered(ctx, true)
	} else {
		err = w.spill(ctx, true)
	}
	if err != nil {
		return err
	}
	w.dropGathered()
	if err := w.finish(); err != nil {
		return err
	}
	w.err = fmt.Errorf("channel file %s: %w", w.path, channel.ErrClosed)
	return nil
}

// Abort removes the file. After Close it does nothing.
func (w *Writer) Abort(cause error) {
	if w.err == nil {
		_ = w.fail(fmt.Errorf("%w: aborted: %w", channel.ErrClosed, cause))
	}
}

func (w *Writer) refuse(partition, size int) error {
	if w.err != nil {
		return w.err
	}
	return channel.RefuseWrite(partition, len(w.parts), size)
}

// fail removes the file. The first error stays.
func (w *Writer) fail(err error) error {
	err = explain(w.path, err)
	if aborted := w.sink.Abort(); aborted != nil {
		err = fmt.Errorf("%w (and what was written could not be removed: %w)", err, aborted)
	}
	w.err = err
	w.parts = make([]part, len(w.parts))
	w.gathered = nil
	return err
}
