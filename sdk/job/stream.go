package job

import "context"

// BatchReader yields the batches of one stream in order. Next returns io.EOF only after the
// writer's explicit end: a writer that died is an error. The caller owns the batch. One goroutine
// at a time.
type BatchReader interface {
	Next(ctx context.Context) (*Batch, error)
}

// Source is one producer's share of an input port: one channel. Close discards what is unread. It
// may be called at any time, and more than once.
type Source interface {
	BatchReader
	// From is the index of the producing node within its stage.
	From() int
	// Bytes is the size of all that it yields, in bytes, or -1 if unknown.
	Bytes() int64
	Close() error
}

// Input is an input port of a running node.
type Input interface {
	// BatchReader merges all sources as batches come, in no fixed order.
	BatchReader
	// Sources is the number of incoming channels.
	Sources() int
	// NextSource returns the next source that can be read, in no fixed order, and io.EOF after the
	// last. It blocks while producers still run. Use either Next or NextSource on an Input, not
	// both.
	NextSource(ctx context.Context) (Source, error)
}

// Output is an output port of a running node. Partition i goes to the i-th channel that leaves the
// node by that port, in order of the consumers' index. Writes block while the reader is behind (tcp
// and shm), and fail after the node has returned. If the node returns no error, the engine ends the
// streams. Safe for use by one goroutine at a time.
type Output interface {
	Partitions() int
	// Write copies the record.
	Write(ctx context.Context, partition int, record []byte) error
	// WriteBatch takes ownership of the batch. An empty batch is dropped.
	WriteBatch(ctx context.Context, partition int, b *Batch) error
}
