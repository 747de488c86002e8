// Package store serves stored channel files to other machines, and fetches from there.
package store

import (
	"context"
	"log/slog"
	"net"

	"github.com/hamadryad/hamadryad/sdk/job"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Key names a stored channel file.
type Key struct {
	Job     scheduler.JobID
	Attempt scheduler.AttemptID
	Channel string // the output port, as the engine names it; at most NameMax bytes
}

// Stored is where a file lies and the token that its readers show.
type Stored struct{ Path, Token string }

// Server serves the files that Lookup finds.
type Server struct {
	// Lookup finds a file. It is called from many goroutines.
	Lookup func(Key) (Stored, bool)
	// Log gets a line for each refused connection; nil means slog.Default().
	Log *slog.Logger
}

// Serve accepts connections until ctx ends or l fails; it closes l and every
// connection and waits for their goroutines. The error is nil after ctx ended.
func (s *Server) Serve(ctx context.Context, l net.Listener) error { panic(0) }

// Sent returns the bytes of stored data sent so far (for metrics).
func (s *Server) Sent() int64 { panic(0) }

// Want names one partition to fetch and where it is.
type Want struct {
	Key
	Addr      string // host:port of the store that has it
	Token     string
	Partition int
	From      int   // index of the producing node in its stage
	Bytes     int64 // its stored size, or -1
	// Path is the file on this machine, if it is on this machine: it is then
	// opened directly and Addr may be empty.
	Path string
}

// Fetcher fetches partitions over a bounded number of connections. One for each
// process; safe for concurrent use.
type Fetcher struct{}

// Options of a Fetcher. The zero value is ready to use.
type Options struct {
	// Dial opens connections; nil means TCP.
	Dial func(ctx context.Context, addr string) (net.Conn, error)
	// Budget is the memory that all open sources together hold in fetched bytes
	// that were not decoded yet; 0 means BudgetDefault (64 MiB).
	Budget int64
}

func NewFetcher(o Options) *Fetcher { panic(0) }

// Source returns the partition as a source. Nothing is opened before the first
// Next. Its errors are channel.ErrUnreachable, ErrLost, ErrDamaged, ErrRefused.
func (f *Fetcher) Source(w Want) job.Source { panic(0) }

// Close closes the connections. Sources that are still open fail.
func (f *Fetcher) Close() error { panic(0) }
