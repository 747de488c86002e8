package job

import "context"

// BatchReader yields the batches of one stream in order. Next returns io.EOF
// after the writer's explicit end, and only then: a writer that died is an error.
// The batch belongs to the caller. One goroutine at a time.
type BatchReader interface {
	Next(ctx context.Context) (*Batch, error)
}

// Source is one producer's share of an input port: one channel. Close gives up
// what is unread and may be called at any time, more than once.
type Source interface {
	BatchReader
	// From is the index of the producing node within its stage.
	From() int
	// Bytes is the size of what it will yield, or -1 when that is not known.
	Bytes() int64
	Close() error
}

// Input is an input port of a running node.
type Input interface {
	// BatchReader merges all sources as batches come, in no fixed order.
	BatchReader
	// Sources is the number of channels that come in.
	Sources() int
	// NextSource returns the next source that can be read, in no fixed order, and
	// io.EOF after the last. It waits while producers still run. Use either Next
	// or NextSource on an Input, not both.
	NextSource(ctx context.Context) (Source, error)
}

// Output is an output port of a running node. Partition i goes to the i-th
// channel that leaves the node by that port, in order of the consumers' index.
// Writes block while the reader is behind (tcp and shm), and fail once the node
// returned. The engine ends the streams when the node returns without an error.
// Safe for use by one goroutine at a time.
type Output interface {
	Partitions() int
	// Write copies the record.
	Write(ctx context.Context, partition int, record []byte) error
	// WriteBatch takes the batch over. An empty batch is dropped.
	WriteBatch(ctx context.Context, partition int, b *Batch) error
}
