// Package tcp is the streamed channel between two workers of a bundle.
package tcp

import (
	"context"
	"log/slog"
	"net"
	"time"

	"github.com/hamadryad/hamadryad/engine/channel"
	"github.com/hamadryad/hamadryad/engine/channel/block"
	"github.com/hamadryad/hamadryad/sdk/job"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Key names one streamed channel of one try at running a bundle.
type Key struct {
	Job     scheduler.JobID
	Bundle  scheduler.BundleID
	Try     uint32 // which try at running the bundle
	Channel string // the edge, as the engine names it; at most NameMax bytes
	From    int    // index of the writing node in its stage
	To      int    // index of the reading node in its stage
}

// Options of a Listener and of Dial. The zero value is ready to use.
type Options struct {
	// Codec compresses batches on the wire; the writer's counts.
	Codec block.Codec
	// Window is the most bytes in flight on one channel; 0 means WindowDefault.
	Window int
	// Tick is the period of heartbeats; 0 means TickDefault (1 s). A peer that is
	// silent for SilentTicks of them is lost.
	Tick time.Duration
	// Log gets a line for each refused connection; nil means slog.Default().
	Log *slog.Logger
	// Dial opens the connection; nil means TCP.
	Dial func(ctx context.Context, addr string) (net.Conn, error)
}

// Listener takes the connections of all streamed channels that a worker reads.
type Listener struct{}

// Listen serves on l until Close.
func Listen(l net.Listener, o Options) *Listener { panic(0) }

func (l *Listener) Addr() net.Addr { panic(0) }

// Expect returns the source of one channel, whose writer may have dialled already
// or dials later. Until then Next waits.
func (l *Listener) Expect(k Key, token string) (job.Source, error) { panic(0) }

// Close ends every channel and waits for the goroutines.
func (l *Listener) Close() error { panic(0) }

// Dial connects the writing end. It waits until the reader expects the channel,
// for at most RendezvousMax.
func Dial(ctx context.Context, addr string, k Key, token string, o Options) (channel.Writer, error) {
	panic(0)
}
