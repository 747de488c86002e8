// Command hamadryad-experiment repeats published experiments on real processes and compares the
// results with the published ones. Those in virtual time are files that `hamadryad simulate
// --expect` plays (laboratory/experiments).
//
//	build/bin/hamadryad-experiment                    # all of them
//	build/bin/hamadryad-experiment --out build/experiments table1
//	build/bin/hamadryad-experiment --scale            # how fast workloads are played, and in how much memory
//
// Each starts separate clusters on this machine, with durations scaled down as it prints. It prints
// a time line as a table, draws it into the folder --out, and fails where a claim does not hold. It
// needs the programs of `make build` beside it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/hamadryad/hamadryad/cmd/hamadryad-experiment/internal/scale"
	"github.com/hamadryad/hamadryad/laboratory/traces"
)

// onProcesses is a published experiment, repeated on processes.
type onProcesses struct {
	name  string
	about string
	run   func(context.Context, *lab) error
}

var experiments = []onProcesses{
	{"table1", "Hammr, table 1: local maps of a job whose input lies in HDFS, with and without placement (needs Java and Maven)", table1},
	{"figure7-processes", "HFSP, figure 7: a large job gives way to four small ones, by suspension, by waiting and by kills; a hundred times as fast", figure7OnProcesses},
	{"figure8", "HFSP, figure 8: what swapping the memory of a suspended reduce takes (needs root, a cgroup and 5 GiB of disk)", figure8},
	{"dynamic-share", "Dynamic priority: what a bid gets of all", dynamicShare},
}

// lab is shared by the experiments.
type lab struct {
	bin string    // folder of the programs
	out string    // folder of the charts
	log io.Writer // for people
	// pace stretches durations: 1 is the scale that each experiment states.
	pace float64
	runs int // of table 1, which shows their mean
}

func main() {
	out := flag.String("out", "build/experiments", "folder for the charts")
	pace := flag.Float64("pace", 1, "stretch all durations by this; on a busy machine a larger one gives steadier figures")
	runs := flag.Int("runs", 3, "executions of table1, of which the mean is taken")
	scales := flag.Bool("scale", false, "measure how fast workloads are played instead, and in how much memory, and print one table")
	trace := flag.String("trace", "", "with --scale, the `file` FB-2010_samples_24_times_1hr_0.tsv of SWIM's repository, of which scale-day is made")
	profiles := flag.String("cpuprofile", "", "with --scale, a `folder` for a profile of the processor in each run")
	flag.Usage = usage
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if mine, err := scale.Child(ctx); mine {
		end(err, stop)
		return
	}
	if *scales {
		end(measure(ctx, scale.Lab{Out: *out, Log: os.Stdout, Day: *trace, Profile: *profiles}, flag.Args()), stop)
		return
	}
	l := lab{out: *out, log: os.Stdout, pace: *pace, runs: max(*runs, 1)}
	end(run(ctx, l, flag.Args()), stop)
}

// end ends the process with a status of 1 when something is wrong.
func end(err error, stop func()) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "hamadryad-experiment:", err)
		stop()
		os.Exit(1)
	}
}

// measure makes the measurements of package scale.
func measure(ctx context.Context, l scale.Lab, names []string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	l.Self, l.Bin, l.Sizes, l.FB2010 = self, filepath.Dir(self), scale.Sizes(), traces.FB2010
	return l.Run(ctx, names)
}

func run(ctx context.Context, l lab, names []string) error {
	if !(l.pace >= 0.1 && l.pace <= 100) {
		return fmt.Errorf("--pace %g: use 0.1 to 100", l.pace)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	l.bin = filepath.Dir(self)
	for _, n := range names {
		if !slices.ContainsFunc(experiments, func(e onProcesses) bool { return e.name == n }) {
			return fmt.Errorf("there is no experiment %q: --help lists them", n)
		}
	}
	var errs []error // a failed one does not prevent the others
	for _, e := range experiments {
		if len(names) > 0 && !slices.Contains(names, e.name) {
			continue
		}
		fmt.Fprintf(l.log, "\n%s\n%s\n", e.about, strings.Repeat("=", len(e.about)))
		if err := e.run(ctx, &l); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", e.name, err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(errs...)
}

func usage() {
	out := flag.CommandLine.Output()
	fmt.Fprint(out, "usage: hamadryad-experiment [flags] [NAME...]\n\nRepeats published experiments, all or those named. Those in virtual time are\nplayed by \"hamadryad simulate --expect FILE\".\n\n")
	for _, e := range experiments {
		fmt.Fprintf(out, "  %-18s %s\n", e.name, e.about)
	}
	fmt.Fprint(out, "\nand with --scale\n\n")
	names, about := scale.Names()
	for i, name := range names {
		fmt.Fprintf(out, "  %-18s %s\n", name, about[i])
	}
	fmt.Fprintln(out)
	flag.PrintDefaults()
}
