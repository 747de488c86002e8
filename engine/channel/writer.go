package channel

import (
	"context"

	"github.com/hamadryad/hamadryad/sdk/job"
)

// Writer is the writing end of one channel. One goroutine at a time, except
// Abort, which may come from any.
type Writer interface {
	// WriteBatch takes the batch over. It blocks while the reader is behind. When
	// the reader gave up on purpose, batches are dropped and it returns nil.
	WriteBatch(ctx context.Context, b *job.Batch) error
	// Close writes the explicit end and waits until the reader's side has it. When
	// it fails the stream counts as aborted.
	Close(ctx context.Context) error
	// Abort ends the stream without its end: the reader gets an error that holds
	// cause. After Close it does nothing.
	Abort(cause error)
}

// Port is an output port that the engine ends: Close once the node returned
// without an error, else Abort. After either, writes fail with ErrClosed.
type Port interface {
	job.Output
	// Close passes on what is gathered and ends all streams.
	Close(ctx context.Context) error
	// Abort ends all streams as failed and leaves nothing behind.
	Abort(cause error)
}
