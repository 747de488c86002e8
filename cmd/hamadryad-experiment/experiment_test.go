package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/wire"
)

// binaries is the folder of the programs, built once.
var binaries string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "hamadryad-experiment-test")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		binaries = dir
		build := exec.Command("go", "build", "-o", dir+"/", "../hamadryad", "./hamadryad-experiment-words", "../../plugins/...")
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "building the programs: %v\n%s", err, out)
			return 1
		}
		return m.Run()
	}())
}

// stretches are how often an experiment in real time may be repeated, each time so
// many times slower than at first. What a busy machine takes to start processes
// weighs less then; what is wrong fails each time.
var stretches = []float64{1, 2, 4}

// repeat runs an experiment, which fails where its claims do not hold.
func repeat(t *testing.T, pace float64, run func(*lab) error) {
	t.Helper()
	t.Parallel() // they mostly sleep
	var errs error
	for _, stretch := range stretches {
		err := once(t, pace*stretch, run)
		if err == nil {
			return
		}
		errs = errors.Join(errs, err)
	}
	t.Fatal(errs)
}

// once runs an experiment at a pace. The error contains its output.
func once(t *testing.T, pace float64, run func(*lab) error) error {
	t.Helper()
	var log bytes.Buffer
	l := lab{bin: binaries, out: t.TempDir(), log: &log, pace: pace, runs: 1}
	if err := run(&l); err != nil {
		return fmt.Errorf("at pace %g: %w\n%s", pace, err, log.String())
	}
	t.Log(log.String())
	return nil
}

func TestTable1(t *testing.T) { repeat(t, 1, func(l *lab) error { return table1(t.Context(), l) }) }

func TestDynamicShare(t *testing.T) {
	if err := once(t, 1, func(l *lab) error { return dynamicShare(t.Context(), l) }); err != nil {
		t.Fatal(err)
	}
}

// Each way of giving way is repeated alone, where the machine was too busy for it.
func TestFigure7OnProcesses(t *testing.T) {
	for _, m := range figure7Modes {
		t.Run(m.name, func(t *testing.T) {
			repeat(t, 1, func(l *lab) error { return figure7OnProcessesIn(t.Context(), l, m) })
		})
	}
}

// Blocks 0 to 3 lie on node 0, 4 and 5 on node 1. Launcher 1 ran four maps, three of
// them on blocks of its own, launcher 2 two, one of its own; all could have been.
func TestLocalMapsAndTheMostThatCouldBe(t *testing.T) {
	blocks := []int{0, 0, 0, 0, 1, 1}
	ran := []string{"launcher-1", "launcher-1", "launcher-1", "launcher-2", "launcher-1", "launcher-2"}
	j := &wire.JobStatus{Summary: &wire.JobSummary{}}
	for i, l := range ran {
		j.Attempts = append(j.Attempts, &wire.AttemptStatus{Stage: "map", State: "finished", Index: uint32(i), Launcher: l})
	}
	j.Attempts = append(j.Attempts, &wire.AttemptStatus{Stage: "map", State: "lost", Index: 3, Launcher: "launcher-1"},
		&wire.AttemptStatus{Stage: "reduce", State: "finished", Launcher: "launcher-3"})
	row, err := table1Count(j, blocks)
	if err != nil || row.local != 4 || row.optimum != 6 {
		t.Errorf("%d local of at most %d (%v), want 4 of at most 6", row.local, row.optimum, err)
	}
	j.Attempts[0].Launcher = "launcher-9"
	if _, err := table1Count(j, blocks); err == nil {
		t.Error("a map on a launcher that is not there was counted")
	}
}

// If tasks take the memory that they request, the mean by hand equals the one shown beside the
// mode. If reduces take twice as long, it is twice that.
func TestFigure7ByHand(t *testing.T) {
	const later = 100 * time.Millisecond
	attempt := func(stage string, started, took time.Duration) *wire.AttemptStatus {
		return &wire.AttemptStatus{Stage: stage, State: "finished", Started: int64(started), Ended: int64(started + took)}
	}
	for _, slower := range []time.Duration{1, 2} {
		large, small := slower*figure7Large/figure7Scale, slower*figure7Small/figure7Scale
		for _, m := range figure7Modes {
			jobs := []*wire.JobStatus{{Summary: &wire.JobSummary{Ended: int64(2 * large)}, Attempts: []*wire.AttemptStatus{
				attempt(mapStage, 0, 0), attempt(reduceStage, 0, large), attempt(reduceStage, large, large),
			}}}
			for range 4 {
				jobs = append(jobs, &wire.JobStatus{Summary: &wire.JobSummary{Submitted: int64(later)}, Attempts: []*wire.AttemptStatus{
					attempt(mapStage, later, 0), attempt(reduceStage, later, small),
				}})
			}
			got, want := figure7ByHand(m, jobs), slower*m.mean/figure7Scale
			if m.waits {
				want += (slower - 1) * later * 4 / 5 // they come no later, so they wait longer
			}
			if got != want {
				t.Errorf("%s, %d times as slow: %v, want %v", m.name, slower, got, want)
			}
		}
	}
}
