// Command hamadryad-bench runs the project's benchmarks on real processes and
// prints medians of interleaved runs. Each row goes to build/bench.jsonl too.
//
//	make bench                      # all rows
//	build/bin/hamadryad-bench noop  # rows whose name starts with noop
//
// Every row has a baseline and the ratio of the measured value to it. Where the
// baseline is a program or another way to do the same, both run in turn in the
// same call; where it is a figure that the project promises, the row says
// "stated". It needs the programs of `make build` beside it.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
)

// benchmark is one family of rows.
type benchmark struct {
	name string
	run  func(context.Context, *bench) error
}

var benchmarks = []benchmark{
	{"noop-tasks", noopTasks},
	{"small-job", smallJob},
	{"round", rounds},
}

// bench is what the benchmarks share.
type bench struct {
	bin  string // folder of the programs
	runs int    // of each side; the median is kept
	out  *report
}

func main() {
	runs := flag.Int("runs", 5, "runs of each side; the median is printed")
	file := flag.String("o", "build/bench.jsonl", "file for the rows, one JSON object a line")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *runs, *file, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "hamadryad-bench:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, runs int, file string, names []string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	out, err := newReport(file)
	if err != nil {
		return err
	}
	b := &bench{bin: filepath.Dir(self), runs: max(runs, 1), out: out}
	for _, m := range benchmarks {
		if !wanted(m.name, names) {
			continue
		}
		if err := m.run(ctx, b); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
	}
	return out.close()
}

// wanted reports whether a benchmark was asked for by the start of its name.
func wanted(name string, names []string) bool {
	for _, n := range names {
		if strings.HasPrefix(name, n) || strings.HasPrefix(n, name) {
			return true
		}
	}
	return len(names) == 0
}
