package channel

import (
	"context"

	"github.com/hamadryad/hamadryad/sdk/job"
)

// Writer is the writing end of one channel. Its methods are for one goroutine at a time, except
// Abort, which any goroutine may call.
type Writer interface {
	// WriteBatch takes over the batch. It blocks while the reader is behind (backpressure). If the
	// reader closed its end on purpose, it drops batches and returns nil.
	WriteBatch(ctx context.Context, b *job.Batch) error
	// Close writes the explicit end and waits until the reader's side has it. If it fails, the
	// stream counts as aborted.
	Close(ctx context.Context) error
	// Abort ends the stream without an end: the reader gets an error that holds cause. After Close
	// it does nothing.
	Abort(cause error)
}

// Port is an output port that the engine ends. It calls Close if the node returned without an
// error, else Abort. After either, writes fail with ErrClosed.
type Port interface {
	job.Output
	// Close passes on gathered records and ends all streams.
	Close(ctx context.Context) error
	// Abort ends all streams as failed and leaves nothing behind.
	Abort(cause error)
}
