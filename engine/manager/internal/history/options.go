package history

import (
	"cmp"
	"log/slog"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hamadryad/hamadryad/engine/manager/internal/history/logarchive"
	"github.com/hamadryad/hamadryad/engine/manager/internal/history/timeseries"
	"github.com/hamadryad/hamadryad/internal/atomicfile"
)

// Defaults of Options.
const (
	KeepForDefault     = 30 * 24 * time.Hour
	JobsMaxDefault     = 100_000
	BytesMaxDefault    = 10 << 30
	AttemptsMaxDefault = 1_000_000
)

// Options say where history is, and how much of it is kept.
type Options struct {
	Folder      string
	KeepFor     time.Duration      // after a job's end; 0: KeepForDefault
	JobsMax     int                // of jobs that ended; 0: JobsMaxDefault
	BytesMax    int64              // of their files and ends of logs; 0: BytesMaxDefault
	AttemptsMax int                // of a job; beyond it only failures and the slowest are kept; 0: AttemptsMaxDefault
	Store       string             // URL of a copy on another store; "": none is kept
	Tails       logarchive.Options // of the ends of attempts' logs; Folder, BytesMax, Changed and Log are history's
	Log         *slog.Logger       // nil: slog.Default
	Now         func() time.Time
	// Pools returns what the policy last reported of its pools: Told, Held, Own, Demand and Share, each name once.
	// It must not block. Nil: none are sampled.
	Pools func(slots uint64) []timeseries.Pool

	write  func(path string, content []byte) error      // nil: atomicfile.Replace; tests let it fail
	statfs func(path string, disk *unix.Statfs_t) error // nil: unix.Statfs
}

func (o *Options) fill() {
	o.KeepFor = cmp.Or(o.KeepFor, KeepForDefault)
	o.JobsMax = cmp.Or(o.JobsMax, JobsMaxDefault)
	o.BytesMax = cmp.Or(o.BytesMax, BytesMaxDefault)
	o.AttemptsMax = cmp.Or(o.AttemptsMax, AttemptsMaxDefault)
	o.Log = cmp.Or(o.Log, slog.Default())
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.write == nil {
		o.write = atomicfile.Replace
	}
	if o.statfs == nil {
		o.statfs = unix.Statfs
	}
}

const (
	// queueRowsMax bounds the rows in the queue; rows beyond it are dropped and counted.
	queueRowsMax = 300_000
	// pendingRowsMax is how many ended attempts are in memory before a part is written. heldRowsMax is how many may
	// be in memory while no part can be written.
	pendingRowsMax = 50_000
	heldRowsMax    = 500_000
	// Ended jobs are sealed when there are sealsMax of them, or after sealWait. heldEndsMax is how many may wait while
	// no file can be written.
	sealsMax    = 256
	sealWait    = time.Second
	heldEndsMax = 10_000
	// writesMax is how many files of jobs are written at once, and so how many of them are in memory.
	writesMax = 16
	// slowestMax is how many of the slowest attempts beyond AttemptsMax are kept.
	slowestMax = 1000
	// waitsMax bounds how many waiting reasons of a job are kept.
	waitsMax = 200
)
