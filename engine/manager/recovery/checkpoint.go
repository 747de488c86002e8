package recovery

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/eventlog"
	"github.com/hamadryad/hamadryad/engine/manager/internal/metrics"
)

// A new file of the event log opens with a checkpoint of the core's state. A small state is frozen,
// which pauses the core. For a large one the core is not paused: another process replays the
// current file on a core of its own, and writes that core's state. This takes as much processor
// time as the core's own work, and the memory of a second core for a while.

const (
	// remakeTries is how often in a row a checkpoint from the log may fail before the core is
	// paused for one: the log's file grows meanwhile.
	remakeTries = 3
	// overgrown bounds the file for a replay, in multiples of a full one. On a machine where
	// replays fall behind the core each would take longer than the one before.
	overgrown = 4
)

const (
	// remakeTimeout bounds one replay.
	remakeTimeout = 10 * time.Minute
	// againDefault is Maker.Again by default.
	againDefault = 30 * time.Second
)

// CheckpointMaker makes the checkpoints at the beginning of the event log's files.
type CheckpointMaker struct {
	FreezeMax time.Duration // bound of a pause of the core
	Child     []string      // the command of a process that makes them from the log; empty: a goroutine does
	Again     time.Duration // the delay after a failed replay, which doubles; 0: 30 s
	Graphs    *GraphStore   // named by the log
	Log       *slog.Logger
	Stats     *metrics.Metrics
	// Before is called before the log may drop records up to one, beside the core; nil: no call.
	Before func(ctx context.Context, record uint64)
	failed atomic.Int32 // in a row
}

// Rotate has the log begin a new file with a checkpoint. It does as much as possible beside the
// core. When ctx ends, so does the work in progress.
func (r *CheckpointMaker) Rotate(ctx context.Context, c *core.Core, log *eventlog.Log) error {
	live, start, last := c.GraphBlobs(), time.Now(), log.Last()
	switch {
	case c.FreezeTime() <= r.FreezeMax:
	case log.Overgrown(overgrown) || r.failed.Load() >= remakeTries:
		r.Log.Warn("the core stands still for a checkpoint: making it from the event log failed or was too slow", "about", c.FreezeTime())
	default:
		return log.RotateFrom(func(past eventlog.Past, to io.Writer) error {
			r.Graphs.Prune(live, log.Folder())
			err := r.write(ctx, past, to)
			r.before(ctx, last)
			return err
		})
	}
	frozen := c.Freeze()
	r.Stats.Freeze(time.Since(start))
	r.failed.Store(0)
	return log.Rotate(func(to io.Writer) error {
		r.Graphs.Prune(live, log.Folder())
		err := frozen.Write(to)
		if err == nil {
			r.Stats.Checkpoint(metrics.FromState, time.Since(start))
		}
		r.before(ctx, last)
		return err
	})
}

func (r *CheckpointMaker) before(ctx context.Context, record uint64) {
	if r.Before != nil {
		r.Before(ctx, record)
	}
}

// remake makes a checkpoint from the log.
func (r *CheckpointMaker) remake(ctx context.Context, m Remaking, to io.Writer) error {
	if len(r.Child) > 0 {
		return remakeChild(r.Child).run(ctx, m, to)
	}
	return Remake(ctx, m, to)
}

// write is an eventlog.Remake.
func (r *CheckpointMaker) write(ctx context.Context, past eventlog.Past, to io.Writer) error {
	start := time.Now()
	bounded, cancel := context.WithTimeoutCause(ctx, remakeTimeout, fmt.Errorf("it took more than %v", remakeTimeout))
	defer cancel()
	w := &core.Whole{To: to}
	err := r.remake(bounded, Remaking{Past: past, Graphs: r.Graphs.Folder}, w)
	if err == nil {
		err = w.End()
	}
	switch {
	case w.Failed != nil: // which says more than the errors it causes
		return w.Failed
	case ctx.Err() != nil: // the manager ends
		return eventlog.Later{Err: context.Cause(ctx)}
	case err != nil:
		after := cmp.Or(r.Again, againDefault) << (r.failed.Add(1) - 1)
		r.Stats.NotMade()
		r.Log.Error("no checkpoint could be made from the event log: the log goes on with the file at hand", "error", err, "retryIn", after)
		return eventlog.Later{After: after, Err: err}
	}
	r.failed.Store(0)
	r.Stats.Checkpoint(metrics.FromLog, time.Since(start))
	return nil
}
