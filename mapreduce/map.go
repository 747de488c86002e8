package mapreduce

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/hamadryad/hamadryad/mapreduce/internal/sorting"
	"github.com/hamadryad/hamadryad/sdk/job"
)

func lineEnd(block []byte) int {
	if i := bytes.IndexByte(block, '\n'); i >= 0 {
		return i + 1
	}
	return len(block)
}

// memoryUnknown is the memory assumed for a node whose memory is unknown, in bytes.
const memoryUnknown = 64 << 20

func memoryOf(n *job.Node) int64 {
	if m := n.Info().Memory; m > 0 {
		return m
	}
	return memoryUnknown
}

// Emitter takes the pairs of a map task. It is for one goroutine, and panics if it finds another
// one using it.
type Emitter struct {
	single    // checks calls of the typed form's emit
	ctx       context.Context
	out       job.Output
	partition func(key []byte, n int) int // nil: by hash
	table     *sorting.Table              // with a combiner
	tableMax  int64                       // bytes
	batches   []*job.Batch                // by partition, being filled
	batchMax  int                         // bytes
	memory    int64                       // of the task, in bytes; 0 when unknown
	pairMax   int                         // bytes of key and value
	records   int64
	bytes     int64
	sent      int64
	over      bool
	direct    *Writer // for a map-only job: its output
	err       error   // the first error; later pairs are dropped
}

func (j Bytes) newEmitter(ctx context.Context, n *job.Node) (*Emitter, error) {
	out, err := n.Output(port)
	if err != nil {
		return nil, err
	}
	memory := memoryOf(n)
	e := &Emitter{
		memory: n.Info().Memory, pairMax: job.RecordLimit(n.Info().Memory) - pairFrame,
		ctx: ctx, out: out, partition: j.Partition, batches: make([]*job.Batch, out.Partitions()),
		// Batches take at most a quarter of the memory, even with many reducers.
		batchMax: int(min(max(memory/4/int64(max(out.Partitions(), 1)), batchMin), job.BatchBytes)),
	}
	if j.Combine != nil {
		e.table, e.tableMax = sorting.NewTable(j.Combine), memory/tableShare
	}
	return e, nil
}

// tableShare is the divisor of a task's memory that gives a table's share: while a table grows, its
// old and its new memory are both allocated.
const tableShare = 3

// batchMin is the least size of a batch, in bytes: below it the channel's cost per batch would
// matter.
const batchMin = 2 << 10

// errOver is the error of an emit after Map or Reduce returned.
var errOver = errors.New("mapreduce: a pair was emitted after the function had returned")

// Pair emits a pair. Key and value are copied. An error ends the task after Map returns; Err
// reports it earlier.
func (e *Emitter) Pair(key, value []byte) {
	if e.over {
		panic(errOver)
	}
	if e.err != nil {
		return
	}
	if e.direct != nil {
		e.direct.Pair(key, value)
		e.err = e.direct.err
		return
	}
	// The typed form finds every overlap by an atomic addition, which would be too slow here. This
	// check misses only calls that begin at the same moment.
	e.records++
	call := e.records
	e.pair(key, value)
	if e.records != call {
		e.clash()
	}
}

// encoded is Pair for the typed form, inside enter and leave.
func (e *Emitter) encoded(key, value []byte) {
	if e.direct != nil { // a sampling run
		e.direct.Pair(key, value)
		e.err = e.direct.err
		return
	}
	if e.over {
		panic(errOver)
	}
	if e.err == nil {
		e.records++
		e.pair(key, value)
	}
}

// pair takes a pair that is already counted.
func (e *Emitter) pair(key, value []byte) {
	e.bytes += int64(len(key) + len(value))
	if size := len(key) + len(value); size > e.pairMax {
		e.err = job.CheckRecord(int64(size)+pairFrame, e.memory)
		return
	}
	if e.table == nil {
		e.err = e.send(job.Hash(key), key, value)
		return
	}
	if e.err = e.table.Add(key, value); e.err != nil {
		return
	}
	if e.table.Bytes() > e.tableMax {
		e.err = e.flush()
	}
}

// pairFrame is more than the framing of a pair's record, in bytes.
const pairFrame = 16

// Err returns the error that will end the task, if there is one already.
func (e *Emitter) Err() error { return e.err }

// flush sends the table's pairs.
func (e *Emitter) flush() error {
	if err := e.table.All(e.send); err != nil {
		return err
	}
	e.table.Reset()
	return nil
}

// send puts a pair into its partition's batch.
func (e *Emitter) send(hash uint64, key, value []byte) error {
	p := 0
	if e.partition == nil {
		p = job.PartitionOfHash(hash, len(e.batches))
	} else if p = e.partition(key, len(e.batches)); p < 0 || p >= len(e.batches) {
		return fmt.Errorf("the partition function gave %d for key %q: it must give 0 to %d", p, shorten(key), len(e.batches)-1)
	}
	if size := len(key) + len(value); size > e.pairMax { // a combiner may have made it too large
		return job.CheckRecord(int64(size)+pairFrame, e.memory)
	}
	e.sent++
	b := e.batches[p]
	if b == nil {
		b = e.fresh()
		e.batches[p] = b
	}
	b.Data = sorting.AppendPair(b.Data, key, value)
	b.Seal()
	if len(b.Data) < e.batchMax {
		return nil
	}
	e.batches[p] = nil
	return e.out.WriteBatch(e.ctx, p, b)
}

// fresh returns an empty batch. A reused batch may be of full size, so if batches must be small, it
// allocates one.
func (e *Emitter) fresh() *job.Batch {
	if e.batchMax == job.BatchBytes {
		return job.GetBatch()
	}
	return &job.Batch{Data: make([]byte, 0, e.batchMax+e.batchMax/8), Ends: make([]uint32, 0, e.batchMax/32)}
}

// shorten cuts a key for a message.
func shorten(key []byte) []byte { return key[:min(len(key), 100)] }

// close sends the remaining pairs.
func (e *Emitter) close() error {
	e.over = true
	if e.err == nil && e.table != nil {
		e.err = e.flush()
	}
	for p, b := range e.batches {
		if e.err == nil && b != nil {
			e.err = e.out.WriteBatch(e.ctx, p, b)
		}
	}
	return e.err
}

// mapProgram is a map task.
func (j Bytes) mapProgram(ctx context.Context, n *job.Node, out job.Folder, mapper mapFunc) error {
	if j.Reducers == MapOnly {
		return j.mapOnly(ctx, n, out, mapper)
	}
	e, err := j.newEmitter(ctx, n)
	if err != nil {
		return err
	}
	n.Executing()
	t := j.newTask(ctx, n, out, 'm')
	if err = t.begin(); err == nil {
		err = mapper(t, e)
	}
	if e.err == nil {
		e.err = e.single.err()
	}
	if e.err != nil {
		err = e.err // the emitter's error takes precedence over the map's
	}
	if err != nil {
		e.over = true
		return err
	}
	if err := e.close(); err != nil {
		return err
	}
	t.countInput()
	n.Count(MapOutputRecords, e.records)
	n.Count(MapOutputBytes, e.bytes)
	if j.Combine != nil {
		n.Count(CombineInputRecords, e.records)
		n.Count(CombineOutputRecords, e.sent)
	}
	return t.finish()
}
