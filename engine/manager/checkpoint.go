package manager

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/eventlog"
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

// Bounds of one replay; tests lower them.
var (
	remakeTimeout = 10 * time.Minute
	// remakeAgain is the time to the next after one that failed, which doubles.
	remakeAgain = 30 * time.Second
)

// remaker makes checkpoints from the log.
type remaker struct {
	freezeMax time.Duration
	graphs    string // folder
	do        func(context.Context, Remaking, io.Writer) error
	log       *slog.Logger
	stats     *metrics
	failed    atomic.Int32 // in a row
}

func newRemaker(m *manager) *remaker {
	r := &remaker{freezeMax: m.cfg.FreezeMax, graphs: m.graphs.folder, do: Remake, log: m.log, stats: m.stats}
	if len(m.cfg.Remaker) > 0 {
		r.do = remakeChild(m.cfg.Remaker).run
	}
	return r
}

// rotate has the log begin a new file with a checkpoint. Beside the core is done what can
// be. When ctx ends, so does what is under way.
func (d *driver) rotate(ctx context.Context) error {
	live, start := d.core.GraphBlobs(), time.Now()
	switch {
	case d.core.FreezeTime() <= d.remaker.freezeMax:
	case d.log.Overgrown(overgrown) || d.remaker.failed.Load() >= remakeTries:
		d.remaker.log.Warn("the core stands still for a checkpoint: making it from the event log failed or was too slow", "about", d.core.FreezeTime())
	default:
		return d.log.RotateFrom(func(past eventlog.Past, to io.Writer) error {
			d.graphs.prune(live, d.log.Folder())
			return d.remaker.write(ctx, past, to)
		})
	}
	frozen := d.core.Freeze()
	d.stats.freeze(time.Since(start))
	d.remaker.failed.Store(0)
	return d.log.Rotate(func(to io.Writer) error {
		d.graphs.prune(live, d.log.Folder())
		err := frozen.Write(to)
		if err == nil {
			d.stats.checkpoint("state", time.Since(start))
		}
		return err
	})
}

// write is an eventlog.Remake.
func (r *remaker) write(ctx context.Context, past eventlog.Past, to io.Writer) error {
	start := time.Now()
	bounded, cancel := context.WithTimeoutCause(ctx, remakeTimeout, fmt.Errorf("it took more than %v", remakeTimeout))
	defer cancel()
	w := &core.Whole{To: to}
	err := r.do(bounded, Remaking{past, r.graphs}, w)
	if err == nil {
		err = w.End()
	}
	switch {
	case w.Failed != nil: // which says more than what follows from it
		return w.Failed
	case ctx.Err() != nil: // the manager ends
		return eventlog.Later{Err: context.Cause(ctx)}
	case err != nil:
		after := remakeAgain << (r.failed.Add(1) - 1)
		r.stats.notRemade.Inc()
		r.log.Error("no checkpoint could be made from the event log: the log goes on with the file at hand", "error", err, "again in", after)
		return eventlog.Later{After: after, Err: err}
	}
	r.failed.Store(0)
	r.stats.checkpoint("log", time.Since(start))
	return nil
}

// Remaking says what a checkpoint is made from.
type Remaking struct {
	Past   eventlog.Past
	Graphs string // folder of the graphs that it names
}

// Remake writes the checkpoint of what a file of the event log comes to: that which the
// core that wrote the file had then, to the byte. It takes graphs that jobs name from the
// folder, and changes nothing. The memory it needs is that of a core, and of the
// checkpoint that the file opens with.
func Remake(ctx context.Context, m Remaking, to io.Writer) error {
	r := &replay{file: m.Past.Path, kept: openGraphs(m.Graphs, slog.New(slog.DiscardHandler))}
	err := m.Past.Read(func(h eventlog.Header, checkpoint [][]byte) error {
		if h.Core != core.Version {
			return fmt.Errorf("event log file %s was written by version %d of the core, and this is version %d", m.Past.Path, h.Core, core.Version)
		}
		return r.restore(checkpoint)
	}, func(number uint64, record []byte) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return r.step(number, record)
	})
	if err != nil {
		return err
	}
	return r.core.WriteCheckpoint(to)
}
