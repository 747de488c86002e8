package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/hamadryad/hamadryad/cmd/hamadryad-experiment/internal/swapping"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// The published run: a launcher of one slot and 8 GB; a reduce of 6 GB is suspended for another of
// 0.5 to 6 GB, and resumed. Ours has a third of that memory, limited by a cgroup. Where the
// footprints fit beside it, nothing is swapped.
const (
	figure8First = 2048 // MiB of the suspended reduce
	figure8Slack = 256  // MiB for the cluster's own processes
	figure8Swap  = 3072 // MiB of swap
	figure8Works = 20 * time.Second
	// figure8Raw bounds the time of swapping relative to the disk's time to write and read as much
	// sequentially.
	figure8Raw = 2.0
)

// figure8Settings put the second job first, which is more urgent.
const figure8Settings = "preempt-reduces: suspend\nsuspended-memory: 1\ntraining-part: 0\npriority-weight: 32\nlocality: {mode: nearest}\n"

// figure8Footprints are the footprints of the other reduce, in MiB.
var figure8Footprints = [...]int{1024, 2048}

// figure8 measures the cost of swapping a suspended reduce's memory out, and in again when it is
// resumed.
func figure8(ctx context.Context, l *lab) error {
	fmt.Fprintf(l.log, "one launcher of one slot; a reduce of %d MiB gives way to one of %v MiB and goes on; both and the cluster have %d MiB\n\n",
		figure8First, figure8Footprints, figure8First+figure8Slack)
	swap, err := swapping.New(l.out, figure8Swap<<20)
	if err != nil {
		fmt.Fprintf(l.log, "not shown: this machine can't swap for it: %v\nthe model's row is that of --virtual hfsp-swapping\n", err)
		return nil
	}
	c := claims{lab: l}
	err = l.figure8Rows(ctx, swap, &c)
	return errors.Join(err, swap.Close(), c.err())
}

func (l *lab) figure8Rows(ctx context.Context, swap *swapping.Swap, c *claims) error {
	var took []time.Duration
	for _, footprint := range figure8Footprints {
		without, err := l.figure8Run(ctx, footprint)
		if err != nil {
			return err
		}
		out := swapping.Out()
		if err := swap.Enter((figure8First + figure8Slack) << 20); err != nil {
			return err
		}
		with, err := l.figure8Run(ctx, footprint)
		if err := errors.Join(err, swap.Leave()); err != nil {
			return err
		}
		raw, err := swapping.Raw(filepath.Join(l.out, "figure8-raw"), int64(footprint)<<20)
		if err != nil {
			return err
		}
		d := with - without
		took = append(took, d)
		fmt.Fprintf(l.log, "%d MiB: the first job takes %.1f s, with swapping %.1f s: %.1f s more, in which %d MiB were swapped out; the disk takes %.1f s to write and read as much\n",
			footprint, without.Seconds(), with.Seconds(), d.Seconds(), (swapping.Out()-out)>>20, raw.Seconds())
		bound := time.Duration(footprint) * 20 * time.Second / 1024
		c.noteVerdict(d <= bound, "%d MiB are swapped out and in in %.1f s; published: at most %v, with a disk of 100 MB a second", footprint, d.Seconds(), bound)
		c.noteVerdict(d.Seconds() <= figure8Raw*raw.Seconds(), "that is roughly what the disk takes: %.1f times as long", d.Seconds()/raw.Seconds())
	}
	c.that(took[1] > took[0], "twice the footprint takes longer: %.1f s against %.1f s; published: twice as long", took[1].Seconds(), took[0].Seconds())
	return nil
}

// figure8Run runs both jobs, and returns the first one's time.
func (l *lab) figure8Run(ctx context.Context, footprint int) (time.Duration, error) {
	c, err := l.start(ctx, site{
		launchers: 1, slots: 1, policy: "hfsp", settings: figure8Settings, memory: "16GiB",
	})
	if err != nil {
		return 0, err
	}
	defer c.stop()
	first, err := c.submitHolding("first", 0, figure8First, figure8Works)
	if err != nil {
		return 0, err
	}
	if err := c.awaitFile(ctx, c.mark("first")); err != nil {
		return 0, err
	}
	second, err := c.submitHolding("second", 2, footprint, 0)
	if err != nil {
		return 0, err
	}
	jobs, err := awaitAll([]func() (*wire.JobStatus, error){first, second})
	if err != nil {
		return 0, err
	}
	for _, a := range jobs[0].Attempts {
		if a.Stage == reduceStage && a.State != "finished" {
			return 0, fmt.Errorf("the first job's reduce is %s: it was to be suspended, and to go on", a.State)
		}
	}
	if jobs[1].Summary.Ended > jobs[0].Summary.Ended {
		return 0, errors.New("the first job ended before the second: it did not give way")
	}
	return took(jobs[0]), nil
}

// submitHolding starts a job whose reduce fills mib MiB of memory, works, and reads the memory.
func (c *cluster) submitHolding(pool string, priority, mib int, works time.Duration) (wait func() (*wire.JobStatus, error), err error) {
	input := filepath.Join(c.Folder, "in-"+pool)
	if err := os.WriteFile(input, []byte("one line\n"), 0o600); err != nil {
		return nil, err
	}
	return c.run(pool, "--priority", fmt.Sprint(priority), "holding", fmt.Sprint(mib), works.String(), c.mark(pool), input, filepath.Join(c.Folder, "out-"+pool))
}

// mark is the file that a pool's reduce creates when it has filled its memory.
func (c *cluster) mark(pool string) string { return filepath.Join(c.Folder, "filled-"+pool) }

// awaitFile waits until a file is there.
func (c *cluster) awaitFile(ctx context.Context, path string) error {
	ctx, cancel := context.WithTimeout(ctx, runningMax)
	defer cancel()
	for {
		if _, err := os.Stat(path); err == nil {
			return nil
		}
		if err := sleep(ctx, 10*time.Millisecond); err != nil {
			return fmt.Errorf("the file %s was not made: %w", path, err)
		}
	}
}
