package file

import (
	"context"

	"github.com/hamadryad/hamadryad/sdk/job"
)

// memory is what a batch takes.
func memory(b *job.Batch) int64 { return int64(cap(b.Data) + recordCost*cap(b.Ends)) }

// fresh returns an empty batch and accounts for its memory. With many partitions
// a batch is spilled long before it is full: it starts small, since memory of
// full size for each would use up the budget with next to nothing in it.
func (w *Writer) fresh() *job.Batch {
	b := &job.Batch{}
	if w.pooled {
		b = job.GetBatch()
	}
	w.rawHeld += memory(b)
	return b
}

// release gives up a partition's open batch after its records were encoded.
func (w *Writer) release(p *part) {
	b := p.open
	p.open = nil
	w.rawHeld -= memory(b)
	job.PutBatch(b)
}

// encode turns a partition's open batch into a block in w.packed.
func (w *Writer) encode(ctx context.Context, p *part) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, w.fail(err)
	}
	packed, err := w.enc.Append(w.packed[:0], p.open)
	if err != nil {
		return nil, w.fail(err)
	}
	p.bytes += int64(len(packed))
	p.records += int64(p.open.Len())
	w.packed = packed
	if cap(packed) > directBytes {
		w.packed = nil
	}
	w.release(p)
	return packed, nil
}

// pack encodes a partition's open batch, if there is one, and holds the block
// back so that the partition's next blocks can lie beside it.
func (w *Writer) pack(ctx context.Context, partition int) error {
	p := &w.parts[partition]
	if p.open == nil {
		return nil
	}
	packed, err := w.encode(ctx, p)
	if err != nil {
		return err
	}
	if len(packed) >= directBytes {
		if err := w.emitHeld(partition); err != nil {
			return err
		}
		return w.emitBlock(partition, packed)
	}
	p.blocks = append(p.blocks, append(make([]byte, 0, len(packed)), packed...))
	w.packedHeld += int64(len(packed))
	return w.relieve(ctx)
}

// relieve spills when the budget is used up. If it is mostly open batches that
// use it, they have to go too.
func (w *Writer) relieve(ctx context.Context) error {
	if w.rawHeld+w.packedHeld <= w.budget {
		return nil
	}
	return w.spill(ctx, w.rawHeld > w.budget/2)
}

// spill writes what is held back, partition by partition; with open also the
// batches that are not full.
func (w *Writer) spill(ctx context.Context, open bool) error {
	for i := range w.parts {
		if err := w.emitHeld(i); err != nil {
			return err
		}
		p := &w.parts[i]
		if !open || p.open == nil {
			continue
		}
		packed, err := w.encode(ctx, p)
		if err != nil {
			return err
		}
		if err := w.emitBlock(i, packed); err != nil {
			return err
		}
	}
	return nil
}

// emitHeld writes a partition's blocks.
func (w *Writer) emitHeld(partition int) error {
	p := &w.parts[partition]
	for _, b := range p.blocks {
		if err := w.emitBlock(partition, b); err != nil {
			return err
		}
		w.packedHeld -= int64(len(b))
	}
	p.blocks = nil
	return nil
}

// emitBlock writes one block and puts it on the list of runs.
func (w *Writer) emitBlock(partition int, b []byte) error {
	n := len(w.runs)
	if n > 0 && w.runs[n-1].partition == uint32(partition) {
		w.runs[n-1].length += int64(len(b)) // written last, so it ends where this one begins
	} else {
		w.runs = append(w.runs, run{uint32(partition), w.at, int64(len(b))})
	}
	return w.emit(b)
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
	lists := make([][]byte, len(w.parts))
	for _, r := range w.runs {
		lists[r.partition] = appendRun(lists[r.partition], r)
	}
	var table []byte
	w.info = Info{PartitionBytes: make([]int64, len(w.parts))}
	for i := range w.parts {
		p := &w.parts[i]
		e := entry{runsAt: w.at, runs: uint32(len(lists[i]) / runBytes), bytes: p.bytes, records: p.records}
		table = e.put(table, i, lists[i])
		w.info.PartitionBytes[i] = p.bytes
		w.info.Records += p.records
		if err := w.emit(lists[i]); err != nil {
			return err
		}
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
