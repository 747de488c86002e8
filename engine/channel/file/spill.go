package file

import (
	"cmp"
	"context"
	"slices"

	"github.com/hamadryad/hamadryad/engine/channel/block"
	"github.com/hamadryad/hamadryad/sdk/job"
)

// memory is the memory of a batch.
func memory(b *job.Batch) int64 { return int64(cap(b.Data) + recordCost*cap(b.Ends)) }

// smallMax is the memory of a batch up to which a writer of many partitions takes it from those that
// were put back. It takes none that is more than a fourth of a partition's part of the budget.
const smallMax = 8 << 10

// fresh returns an empty batch and accounts for its memory. With many partitions a batch starts
// small, because it is spilled long before it is full. Full-size memory for each partition would
// use up the budget with next to nothing in it. A process that runs one writer after the other uses
// the small batches of the one before.
func (w *Writer) fresh() *job.Batch {
	b := job.GetBatch()
	if !w.pooled && memory(b) > min(smallMax, w.budget/4/int64(len(w.parts))) {
		job.PutBatch(b)
		b = &job.Batch{}
	}
	w.rawHeld += memory(b)
	return b
}

// release gives up a partition's open batch after its block was written or copied.
func (w *Writer) release(p *part) {
	b := p.open
	if b == nil { // the file was dropped
		return
	}
	p.open = nil
	w.rawHeld -= memory(b)
	job.PutBatch(b)
}

// encode turns a batch of a partition into a block, which is valid until the batch is released.
func (w *Writer) encode(ctx context.Context, p *part, batch *job.Batch) (block.Pieces, error) {
	if err := ctx.Err(); err != nil {
		return block.Pieces{}, w.fail(err)
	}
	b, err := w.enc.Encode(w.packed[:0], batch)
	if err != nil {
		return block.Pieces{}, w.fail(err)
	}
	p.bytes += int64(b.Len())
	p.records += int64(batch.Len())
	if w.packed = b.Head; cap(w.packed) > directBytes {
		w.packed = nil
	}
	return b, nil
}

// pack encodes a partition's open batch, if there is one. It holds the block back, so that the
// partition's next blocks can lie beside it. Blocks of the only partition lie side by side anyway.
func (w *Writer) pack(ctx context.Context, partition int) error {
	p := &w.parts[partition]
	if p.open == nil {
		return nil
	}
	b, err := w.encode(ctx, p, p.open)
	if err != nil {
		return err
	}
	if b.Len() >= directBytes || len(w.parts) == 1 {
		if err := w.emitHeld(partition); err != nil {
			return err
		}
		err := w.emitBlock(partition, b)
		w.release(p)
		return err
	}
	w.hold(partition, b)
	w.release(p)
	return w.relieve(ctx)
}

// relieve spills when the budget is used up. It spills open batches, too, if they use most of the
// budget.
func (w *Writer) relieve(ctx context.Context) error {
	if w.rawHeld+w.packedHeld <= w.budget {
		return nil
	}
	return w.spill(ctx, w.rawHeld > w.budget/2)
}

// spill writes the blocks held back, partition by partition; with open, also the batches that are
// not full.
func (w *Writer) spill(ctx context.Context, open bool) error {
	for i := range w.parts {
		if err := w.emitHeld(i); err != nil {
			return err
		}
		p := &w.parts[i]
		if !open || p.open == nil {
			continue
		}
		b, err := w.encode(ctx, p, p.open)
		if err != nil {
			return err
		}
		if err := w.emitBlock(i, b); err != nil {
			return err
		}
		w.release(p)
	}
	return nil
}

// emitHeld writes a partition's blocks.
func (w *Writer) emitHeld(partition int) error {
	p := &w.parts[partition]
	for _, b := range p.blocks {
		if err := w.emitBlock(partition, block.Pieces{Head: b}); err != nil {
			return err
		}
		w.packedHeld -= int64(len(b))
	}
	p.blocks = nil
	return nil
}

// emitBlock writes one block and adds it to the list of runs.
func (w *Writer) emitBlock(partition int, b block.Pieces) error {
	n := len(w.runs)
	if n > 0 && w.runs[n-1].partition == uint32(partition) {
		w.runs[n-1].length += int64(b.Len()) // written last, so it ends where this one begins
	} else {
		w.runs = append(w.runs, run{uint32(partition), w.at, int64(b.Len())})
	}
	for _, piece := range [...][]byte{b.Head, b.Data, b.Lengths} {
		if err := w.emit(piece); err != nil {
			return err
		}
	}
	return nil
}

func (w *Writer) emit(b []byte) error {
	n, err := w.out.Write(b)
	w.at += int64(n)
	if err != nil {
		return w.fail(err)
	}
	return nil
}

// finish writes index and footer and commits.
func (w *Writer) finish() error {
	dataEnd := w.at
	byPartition := func(a, b run) int { return cmp.Compare(a.partition, b.partition) }
	if !slices.IsSortedFunc(w.runs, byPartition) { // it is if nothing was spilled before
		slices.SortStableFunc(w.runs, byPartition)
	}
	lists := make([]byte, 0, len(w.runs)*runBytes)
	table := make([]byte, 0, len(w.parts)*entryBytes+footerBytes)
	w.info = Info{PartitionBytes: make([]int64, len(w.parts))}
	left := w.runs
	for i := range w.parts {
		p, start := &w.parts[i], len(lists)
		for ; len(left) > 0 && left[0].partition == uint32(i); left = left[1:] {
			lists = appendRun(lists, left[0])
		}
		list := lists[start:]
		e := entry{runsAt: w.at + int64(start), runs: uint32(len(list) / runBytes), bytes: p.bytes, records: p.records}
		table = e.put(table, i, list)
		w.info.PartitionBytes[i] = p.bytes
		w.info.Records += p.records
	}
	if err := w.emit(lists); err != nil {
		return err
	}
	foot := footer{tableAt: w.at, dataEnd: dataEnd, records: w.info.Records, partitions: len(w.parts)}
	if err := w.emit(foot.put(table)); err != nil {
		return err
	}
	if err := w.out.Flush(); err != nil {
		return w.fail(err)
	}
	if err := w.sink.Commit(); err != nil {
		return w.fail(err)
	}
	w.info.Bytes = w.at
	return nil
}
