package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Sizes and stated figures of the rows about small tasks and jobs.
const (
	noopTasksCount   = 20_000
	noopTaskCPU      = 0.25 // milliseconds a task, of all processes together
	noopClients      = 8
	noopClientsTasks = noopTasksCount / noopClients
	noopClientsRate  = 7_500 // tasks a second
	noopClientsCPU   = 0.20  // milliseconds a task
	fewTasks         = 10_000
	manyTasksCount   = 100_000
	manyTasksMemory  = 2.0 // KiB a task, of the manager and its policy
	manyJobs         = 100
	manyJobsTasks    = 10
	manyJobsRate     = 2_000 // tasks a second
	smallJobRuns     = 40    // of which the quantiles are taken, in each of the runs
	smallJobMedian   = 25    // milliseconds
	smallJobP99      = 60    // milliseconds
)

// noopClusters are the clusters of the rows about tasks that do nothing, with their stated rates.
var noopClusters = []struct {
	launchers, slots int
	stated           float64 // tasks a second
}{{1, 2, 4_000}, {4, 2, 5_000}, {4, 8, 6_500}}

// noopTasks measures tasks that do nothing: each is a group with its own decision, attempt, log
// records and report. The submitting program's whole time counts.
func noopTasks(ctx context.Context, b *bench) error {
	var errs []error
	for _, shape := range noopClusters {
		name := fmt.Sprintf("noop-tasks-%dx%d", shape.launchers, shape.slots)
		if !wanted(name, b.names) {
			continue
		}
		errs = append(errs, b.paced(ctx, name, shape.launchers, shape.slots, noopTasksCount, shape.stated, noopTaskCPU, func(c cluster) error {
			_, err := c.run(ctx, b, "noop", fmt.Sprint(noopTasksCount))
			return err
		}))
	}
	return errors.Join(errs...)
}

// noopManyClients measures the same tasks, submitted by several programs at once.
func noopManyClients(ctx context.Context, b *bench) error {
	return b.paced(ctx, "noop-clients", 4, 8, noopTasksCount, noopClientsRate, noopClientsCPU, func(c cluster) error {
		errs := make([]error, noopClients)
		var running sync.WaitGroup
		for i := range noopClients {
			running.Go(func() { _, errs[i] = c.run(ctx, b, "noop", fmt.Sprint(noopClientsTasks)) })
		}
		running.Wait()
		return errors.Join(errs...)
	})
}

// manyTasks holds the rate of tasks in a job of many against that in a job of few, in turn. It also
// adds what the manager and its policy take at most for each further task, garbage included.
func manyTasks(ctx context.Context, b *bench) error {
	c, err := startCluster(ctx, b, 4, 8)
	if err != nil {
		return err
	}
	defer c.Stop()
	rate := func(tasks int) (float64, error) {
		start := time.Now()
		_, err := c.run(ctx, b, "noop", fmt.Sprint(tasks))
		return float64(tasks) / time.Since(start).Seconds(), err
	}
	peak := func() (bytes int64) {
		for _, pid := range descendants(c.managerPID()) {
			bytes += highWater(pid)
		}
		return bytes
	}
	if _, err := rate(fewTasks); err != nil { // it brings the program to the cluster
		return err
	}
	var few, many []float64
	var memory float64
	for i := range b.runs {
		f, err := rate(fewTasks)
		if err != nil {
			return err
		}
		before := peak()
		m, err := rate(manyTasksCount)
		if err != nil {
			return err
		}
		few, many = append(few, f), append(many, m)
		if i == 0 { // a peak only grows
			memory = float64(peak()-before) / 1024 / (manyTasksCount - fewTasks)
		}
	}
	if err := b.out.add("many-tasks", "tasks/s", many, few, fmt.Sprintf("a job of %d", fewTasks)); err != nil {
		return err
	}
	return b.out.add("many-tasks-memory", "KiB/task", []float64{memory}, []float64{manyTasksMemory}, "stated")
}

// jobsAtOnce measures many small jobs that one program submits at once.
func jobsAtOnce(ctx context.Context, b *bench) error {
	return b.paced(ctx, "jobs-at-once", 4, 2, manyJobs*manyJobsTasks, manyJobsRate, noopTaskCPU, func(c cluster) error {
		_, err := c.run(ctx, b, "hamadryad-bench-jobs", fmt.Sprint(manyJobs), fmt.Sprint(manyJobsTasks))
		return err
	})
}

// paced runs so many tasks on a cluster, in each of the runs, and adds two rows: tasks a second, and
// milliseconds of processor time a task, of the cluster's processes and of the programs.
func (b *bench) paced(ctx context.Context, name string, launchers, slots int, tasks, rate, cpu float64, tasksOf func(cluster) error) error {
	c, err := startCluster(ctx, b, launchers, slots)
	if err != nil {
		return err
	}
	defer c.Stop()
	var rates, costs []float64
	for i := range b.runs + 1 {
		before, start := treeTime(os.Getpid()), time.Now()
		if err := tasksOf(c); err != nil {
			return err
		}
		took, used := time.Since(start), treeTime(os.Getpid())-before
		if i == 0 {
			continue // the first brings the program to the cluster
		}
		rates = append(rates, tasks/took.Seconds())
		costs = append(costs, used.Seconds()*1000/tasks)
	}
	if err := b.out.add(name, "tasks/s", rates, []float64{rate}, "stated"); err != nil {
		return err
	}
	return b.out.add(name+"-cpu", "ms/task", costs, []float64{cpu}, "stated")
}

// smallJob measures a word count of 1 KB on a running cluster, from the start of the submitting
// program to its end.
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
	var medians, worst []float64
	for run := range b.runs + 1 {
		var times []float64
		for i := range smallJobRuns {
			took, err := c.run(ctx, b, "wordcount-bytes", input, filepath.Join(c.Folder, fmt.Sprint("out", run, "-", i)))
			if err != nil {
				return err
			}
			times = append(times, float64(took.Microseconds())/1000)
		}
		if run == 0 {
			continue // it brings the program to the cluster
		}
		slices.Sort(times)
		medians = append(medians, median(times))
		worst = append(worst, times[len(times)*99/100])
	}
	if err := b.out.add("small-job", "ms", medians, []float64{smallJobMedian}, "stated"); err != nil {
		return err
	}
	return b.out.add("small-job-p99", "ms", worst, []float64{smallJobP99}, "stated")
}
