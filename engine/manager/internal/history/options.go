package history

import (
	"cmp"
	"log/slog"
	"time"

	"github.com/hamadryad/hamadryad/engine/manager/internal/history/logarchive"
	"github.com/hamadryad/hamadryad/engine/manager/internal/history/timeseries"
)

// Defaults of Options.
const (
	KeepForDefault     = 30 * 24 * time.Hour
	JobsMaxDefault     = 100_000
	BytesMaxDefault    = 10 << 30
	AttemptsMaxDefault = 1_000_000
)

// Options say where history is and how much of it is kept.
type Options struct {
	Folder      string
	KeepFor     time.Duration      // after a job's end; 0: KeepForDefault
	JobsMax     int                // that ended; 0: JobsMaxDefault
	BytesMax    int64              // of their files; 0: BytesMaxDefault
	AttemptsMax int                // of a job; of those beyond only failures and the slowest are kept; 0: AttemptsMaxDefault
	Store       string             // URL of a copy of all this, on any store; "": there is none
	Tails       logarchive.Options // of the ends of attempts' logs; Folder, BytesMax, Changed and Log are history's
	Log         *slog.Logger       // nil: slog.Default
	Now         func() time.Time
	// Pools is what the policy tells of its pools now: Told, Held, Demand and Share of each name once.
	// It may not wait. Nil: nothing.
	Pools func(slots uint64) []timeseries.Pool

	write func(path string, content []byte) error // tests break it
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
}

const (
	// queueRowsMax bounds the rows that wait to be taken in; those beyond are missed.
	queueRowsMax = 300_000
	// pendingRowsMax is how many attempts that ended are in memory before a part is written, and
	// heldRowsMax how many may be when none can be.
	pendingRowsMax = 50_000
	heldRowsMax    = 500_000
	// sealsMax is how many jobs that ended wait before their files are written, and sealWait how
	// long; heldEndsMax is how many may wait when none can be.
	sealsMax    = 256
	sealWait    = time.Second
	heldEndsMax = 10_000
	// writesMax is how many files of jobs are written at once, and so how many of them are in memory.
	writesMax = 16
	// slowestMax is how many of the attempts beyond AttemptsMax are kept for being slow.
	slowestMax = 1000
	// waitsMax bounds a job's reasons over time.
	waitsMax = 200
)
