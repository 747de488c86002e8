// Package shm hands batches over inside one process.
package shm

import (
	"time"

	"github.com/hamadryad/hamadryad/engine/channel"
	"github.com/hamadryad/hamadryad/sdk/job"
)

// Options of a Queue.
type Options struct {
	// From is what the source's From returns.
	From int
	// Name names the channel in errors.
	Name string
	// Bytes is the most the queue holds in memory; 0 means QueueBytes (256 KiB).
	Bytes int64
	// Scratch is the folder for spill files, needed.
	Scratch string
	// SpillMax is the most bytes on disk; 0 means SpillMaxDefault (64 GiB).
	SpillMax int64
	// Stall is how long a full queue waits for its reader before it spills; 0 means 200 ms.
	Stall time.Duration
}

// New returns the two ends of a channel: use one Writer and one Source goroutine.
func New(o Options) (channel.Writer, job.Source) { panic(0) }
