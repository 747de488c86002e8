// Package checkpoints makes the checkpoints that files of the event log begin with, so that
// the core stands still for as short as can be.
//
// # Invariants
//
// A checkpoint that can't be made leaves the log as it is: the current file goes on.
//
// # How one is made
//
// When a segment of the log is full, the next one is made in the background. Meanwhile records
// become durable in the current file. They are copied behind the checkpoint before the new file
// takes its place. A checkpoint is written in parts, each with its checksum, and has no bound.
// There are two ways, with equal bytes:
//
//   - A small state is frozen and written by another goroutine (core.Freeze). The core stands still
//     while it freezes: arrays are copied, live objects are walked.
//   - A larger state is not touched. The current file has a checkpoint and each batch since. A
//     process of low priority ("hamadryad checkpoint") replays it on a core of its own, and writes
//     that core's state.
//
// manager.eventLog.freezeMax (5 ms) is the limit between the two, by the estimate of
// core.FreezeTime. It is reached at some 20,000 bundles or 5,000 launchers. The second way costs
// several times the processor time of the core's own steps, on another processor, because
// checkpoint and batches are decoded again. It also takes the memory of a second core. The system
// ends that process first when memory runs out. A million tasks, half of them ended since, took 15
// s and 3 GB ("hamadryad-bench steps").
//
// A replay that fails, or that falls behind, does no harm: the current file goes on. The core is
// frozen after all when three fail in a row, or when the file is four times as long as a full one.
// The log says so. Metrics show how long checkpoints took, how they were made, and how long the
// core stood still.
package checkpoints

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
	"github.com/hamadryad/hamadryad/engine/manager/recovery"
	"github.com/hamadryad/hamadryad/engine/manager/recovery/graphs"
)

// A new file of the event log opens with a checkpoint of the core's state. A small state
// is frozen, for which the core stands still. A large one is not touched: the file at hand
// says the same, so another core replays that, in a process of its own, and writes its
// state. It costs the processor time that the core's own work did, and the memory of a
// second core for a while.

const (
	// remakeTries is how often in a row a checkpoint can't be made from the log before
	// the core stands still for one: the log's file grows meanwhile.
	remakeTries = 3
	// overgrown is how many times as long as a full one the file may be for a replay.
	// On a machine where replays fall behind the core each would take longer than the
	// one before.
	overgrown = 4
)

const (
	// remakeTimeout bounds one replay.
	remakeTimeout = 10 * time.Minute
	// againDefault is Maker.Again by default.
	againDefault = 30 * time.Second
)

// Maker makes the checkpoints that the event log's files begin with.
type Maker struct {
	FreezeMax time.Duration // for how long the core may stand still
	Child     []string      // the command of a process that makes them from the log; empty: a goroutine does
	Again     time.Duration // the time to the next replay after one that failed, which doubles; 0: 30 s
	Graphs    *graphs.Store // that the log names
	Log       *slog.Logger
	Stats     *metrics.Metrics
	// Before is called before the log may drop records up to one, beside the core; nil: nothing is.
	Before func(ctx context.Context, record uint64)
	failed atomic.Int32 // in a row
}

// Rotate has the log begin a new file with a checkpoint. Beside the core is done what can
// be. When ctx ends, so does what is under way.
func (r *Maker) Rotate(ctx context.Context, c *core.Core, log *eventlog.Log) error {
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

func (r *Maker) before(ctx context.Context, record uint64) {
	if r.Before != nil {
		r.Before(ctx, record)
	}
}

// remake makes a checkpoint from the log.
func (r *Maker) remake(ctx context.Context, m recovery.Remaking, to io.Writer) error {
	if len(r.Child) > 0 {
		return remakeChild(r.Child).run(ctx, m, to)
	}
	return recovery.Remake(ctx, m, to)
}

// write is an eventlog.Remake.
func (r *Maker) write(ctx context.Context, past eventlog.Past, to io.Writer) error {
	start := time.Now()
	bounded, cancel := context.WithTimeoutCause(ctx, remakeTimeout, fmt.Errorf("it took more than %v", remakeTimeout))
	defer cancel()
	w := &core.Whole{To: to}
	err := r.remake(bounded, recovery.Remaking{Past: past, Graphs: r.Graphs.Folder}, w)
	if err == nil {
		err = w.End()
	}
	switch {
	case w.Failed != nil: // which says more than what follows from it
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
