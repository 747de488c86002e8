package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Stated figures that rows are compared with.
const (
	noopTasksCount  = 20_000
	noopTasksStated = 2_000 // tasks a second
	smallJobStated  = 150   // milliseconds
)

// noopTasks measures tasks that do nothing, on 8 slots of 4 launchers: each is a group with its own
// decision, attempt, log records and report. The submitting program's whole time counts.
func noopTasks(ctx context.Context, b *bench) error {
	c, err := startCluster(ctx, b, 4, 2)
	if err != nil {
		return err
	}
	defer c.Stop()
	var rates []float64
	for range b.runs {
		took, err := c.run(ctx, b, "noop", fmt.Sprint(noopTasksCount))
		if err != nil {
			return err
		}
		rates = append(rates, noopTasksCount/took.Seconds())
	}
	return b.out.add("noop-tasks", "tasks/s", rates, []float64{noopTasksStated}, "stated")
}

// smallJob measures a word count of 1 KB on a running cluster, from the start of
// the submitting program to its end.
func smallJob(ctx context.Context, b *bench) error {
	c, err := startCluster(ctx, b, 4, 2)
	if err != nil {
		return err
	}
	defer c.Stop()
	input := filepath.Join(c.Folder, "input.txt")
	if err := os.WriteFile(input, []byte(strings.Repeat("the quick brown fox\n", 52)), 0o644); err != nil {
		return err
	}
	var times []float64
	for i := range b.runs + 1 {
		took, err := c.run(ctx, b, "wordcount-bytes", input, filepath.Join(c.Folder, fmt.Sprint("out", i)))
		if err != nil {
			return err
		}
		if i > 0 { // the first brings the program to the cluster
			times = append(times, float64(took.Microseconds())/1000)
		}
	}
	return b.out.add("small-job", "ms", times, []float64{smallJobStated}, "stated")
}
