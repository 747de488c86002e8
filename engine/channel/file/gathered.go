package file

import (
	"context"
	"slices"
	"sync"

	"github.com/hamadryad/hamadryad/engine/channel/block"
	"github.com/hamadryad/hamadryad/sdk/job"
)

const (
	// gatheredRecordMax is the largest record that is gathered. A Writer that gets a larger one gathers no
	// more.
	gatheredRecordMax = job.BatchBytes / 4
	// gatheredShare is the part of the budget that gathered records take. Their lists grow by doubling,
	// so it is a fourth where a half is meant.
	gatheredShare = 4
	// gatheredMax bounds their bytes.
	gatheredMax = 256 << 20
	// gatheredKeepMax bounds the memory that is kept for the next Writer, in bytes.
	gatheredKeepMax = 8 << 20
)

// gathered are records of a Writer of many partitions, in order of arrival. A batch for each partition
// would take a memory access far from the one before for each record, and small batches made and grown.
// Here records are appended, and brought into the order of partitions when they are packed.
type gathered struct {
	data    []byte
	records []gatheredRecord

	// The order of the records by partition, after sort.
	ends  []uint32 // by partition: where its records end in order
	order []uint32 // indexes of records

	batch job.Batch // memory for one block
}

type gatheredRecord struct{ partition, end uint32 } // end in data

var gatheredMemory = sync.Pool{New: func() any { return new(gathered) }}

// used is the memory of the records, in bytes.
func (g *gathered) used() int64 { return int64(len(g.data) + 2*recordCost*len(g.records)) }

func (g *gathered) record(i uint32) []byte {
	start := uint32(0)
	if i > 0 {
		start = g.records[i-1].end
	}
	return g.data[start:g.records[i].end]
}

// sort orders the records by partition. Those of one partition keep their order.
func (g *gathered) sort(partitions int) {
	g.ends = slices.Grow(g.ends[:0], partitions)[:partitions]
	clear(g.ends)
	for _, r := range g.records {
		g.ends[r.partition]++
	}
	at := uint32(0)
	for i, n := range g.ends {
		g.ends[i] = at
		at += n
	}
	g.order = slices.Grow(g.order[:0], len(g.records))[:len(g.records)]
	for i, r := range g.records {
		g.order[g.ends[r.partition]] = uint32(i)
		g.ends[r.partition]++
	}
}

// of returns the indexes of a partition's records, after sort.
func (g *gathered) of(partition int) []uint32 {
	start := uint32(0)
	if partition > 0 {
		start = g.ends[partition-1]
	}
	return g.order[start:g.ends[partition]]
}

// fill makes a batch of the first of the records, and returns the others.
func (g *gathered) fill(records []uint32) (*job.Batch, []uint32) {
	b := &g.batch
	b.Reset()
	for i, n := range records {
		r := g.record(n)
		if i > 0 && len(b.Data)+len(r) > job.BatchBytes || i == batchRecordsMax {
			return b, records[i:]
		}
		b.Append(r)
	}
	return b, nil
}

// reset forgets the records.
func (g *gathered) reset() { g.data, g.records = g.data[:0], g.records[:0] }

// gather appends a record, and packs all where they are many.
func (w *Writer) gather(ctx context.Context, partition int, record []byte) error {
	g := w.gathered
	g.data = append(g.data, record...)
	g.records = append(g.records, gatheredRecord{uint32(partition), uint32(len(g.data))})
	w.counts.Records++
	w.counts.Bytes += int64(len(record))
	if g.used() < min(w.budget/gatheredShare, gatheredMax) {
		return nil
	}
	return w.packGathered(ctx, w.packedHeld+g.used() > w.budget/2)
}

// packGathered makes blocks of all gathered records. It writes them behind the blocks held back of their
// partitions, or holds them back, too.
func (w *Writer) packGathered(ctx context.Context, write bool) error {
	g := w.gathered
	g.sort(len(w.parts))
	for i := range w.parts {
		if write {
			if err := w.emitHeld(i); err != nil {
				return err
			}
		}
		for left := g.of(i); len(left) > 0; {
			var batch *job.Batch
			batch, left = g.fill(left)
			b, err := w.encode(ctx, &w.parts[i], batch)
			if err != nil {
				return err
			}
			if !write {
				w.hold(i, b)
			} else if err := w.emitBlock(i, b); err != nil {
				return err
			}
		}
	}
	g.reset()
	return nil
}

// hold holds a block back.
func (w *Writer) hold(partition int, b block.Pieces) {
	held := append(append(append(make([]byte, 0, b.Len()), b.Head...), b.Data...), b.Lengths...)
	p := &w.parts[partition]
	p.blocks = append(p.blocks, held)
	w.packedHeld += int64(len(held))
}

// endGathering packs what was gathered. From then on each partition has a batch.
func (w *Writer) endGathering(ctx context.Context) error {
	if w.gathered == nil {
		return nil
	}
	if err := w.packGathered(ctx, false); err != nil {
		return err
	}
	w.dropGathered()
	return w.relieve(ctx)
}

// dropGathered gives up the memory of gathered records.
func (w *Writer) dropGathered() {
	g := w.gathered
	if w.gathered = nil; g == nil {
		return
	}
	if g.reset(); cap(g.data)+2*recordCost*cap(g.records)+recordCost*cap(g.order) <= gatheredKeepMax {
		gatheredMemory.Put(g)
	}
}
