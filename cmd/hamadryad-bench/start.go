package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// Stated figures of the rows about starting.
const (
	localStartStated   = 100 // milliseconds
	versionStated      = 10  // milliseconds
	hamadryadMBStated  = 40
	programMBStated    = 20
	idleManagerStated  = 30 // MiB
	versionsInEachRun  = 20
	localStartsEachRun = 5
)

// idleTime is how long a manager is left alone before its memory is read.
const idleTime = 5 * time.Second

// starts measures how long commands take that do nothing, how large the programs are that people
// download or send to a cluster, and the memory of a manager without work.
func starts(ctx context.Context, b *bench) error {
	hamadryad := filepath.Join(b.bin, "hamadryad")
	if err := b.startOf(ctx, "start-local", localStartsEachRun, localStartStated, hamadryad, "local", "--", "true"); err != nil {
		return err
	}
	if err := b.startOf(ctx, "start-version", versionsInEachRun, versionStated, hamadryad, "version"); err != nil {
		return err
	}
	if err := b.sizes(ctx); err != nil {
		return err
	}
	return b.idleManager(ctx)
}

// startOf adds a row of a command's duration, in milliseconds: the median of so many in each run.
func (b *bench) startOf(ctx context.Context, name string, each int, stated float64, program string, args ...string) error {
	var values []float64
	for range b.runs {
		var times []float64
		for range each {
			took, err := timed(ctx, nil, program, args...)
			if err != nil {
				return err
			}
			times = append(times, float64(took.Microseconds())/1000)
		}
		values = append(values, median(times))
	}
	return b.out.add(name, "ms", values, []float64{stated}, "stated")
}

// sizes adds rows of programs' sizes, without symbols and debugging information, as released.
func (b *bench) sizes(ctx context.Context) error {
	folder, err := os.MkdirTemp("", "hamadryad-bench")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	for _, p := range []struct {
		row, source string
		stated      float64
	}{{"size-hamadryad", "./cmd/hamadryad", hamadryadMBStated}, {"size-wordcount", "./examples/wordcount", programMBStated}} {
		out := filepath.Join(folder, filepath.Base(p.source))
		cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", out, p.source)
		if text, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("go build %s: %w\n%s", p.source, err, text)
		}
		info, err := os.Stat(out)
		if err != nil {
			return err
		}
		if err := b.out.add(p.row, "MB", []float64{float64(info.Size()) / 1e6}, []float64{p.stated}, "stated"); err != nil {
			return err
		}
	}
	return nil
}

// idleManager adds a row of the memory that a manager without jobs holds, and one of what is its own
// of that. The rest is its program's pages, which all processes of the same program share.
func (b *bench) idleManager(ctx context.Context) error {
	c, err := startCluster(ctx, b, 1, 2)
	if err != nil {
		return err
	}
	defer c.Stop()
	select {
	case <-time.After(idleTime):
	case <-ctx.Done():
		return ctx.Err()
	}
	pid := c.managerPID()
	if pid == 0 {
		return fmt.Errorf("no process of the cluster %s serves the manager", c.Address)
	}
	mib := func(bytes int64) []float64 { return []float64{float64(bytes) / (1 << 20)} }
	if err := b.out.add("idle-manager-memory", "MiB", mib(residentOf(pid)), []float64{idleManagerStated}, "stated"); err != nil {
		return err
	}
	return b.out.add("idle-manager-own-memory", "MiB", mib(anonymousOf(pid)), []float64{idleManagerStated}, "stated")
}
