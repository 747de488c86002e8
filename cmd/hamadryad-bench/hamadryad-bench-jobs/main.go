// Command hamadryad-bench-jobs is a program of hamadryad-bench: it runs many small jobs at once.
//
//	hamadryad local --slots 2 -- hamadryad-bench-jobs 100 10
//
// Each of the 100 jobs has 10 tasks that do nothing. With --array it runs one job array:
//
//	hamadryad local --slots 2 -- hamadryad-bench-jobs --array 0-99999 array 100
//
// With "sequence 50 10" it runs 50 such jobs one after another, and prints how many seconds each took.
// With "parts 50 1000 out" the job's tasks make a thousand files each.
//
// Elements of the array do nothing. Those whose index is a multiple of 100 fail; with 0 none does.
package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/hamadryad/hamadryad/app"
	"github.com/hamadryad/hamadryad/sdk/job"
)

func main() {
	app.MainWith(app.Options{Drive: drive, Reuse: true},
		job.Definition{Name: "tasks", Help: "TASKS  a job of so many tasks that do nothing", Build: build},
		job.Definition{Name: "parts", Help: "TASKS PARTS OUTPUT  each of so many tasks makes so many empty files", Build: buildParts},
		job.Definition{Name: "array", Help: "N  a job array of which each Nth element fails; 0: none", Build: buildArray})
}

// drive submits all jobs at once, and waits for all.
func drive(ctx context.Context, c *app.Client) error {
	args := c.Args()
	if len(args) > 0 && (args[0] == "array" || args[0] == "parts") {
		_, err := c.Run(ctx, args[0], args[1:])
		return err
	}
	sequence := len(args) > 0 && args[0] == "sequence"
	if sequence {
		args = args[1:]
	}
	if len(args) != 2 {
		return errors.New("give the number of jobs and the number of tasks of each: JOBS TASKS")
	}
	jobs, err := strconv.Atoi(args[0])
	if err != nil || jobs < 1 {
		return fmt.Errorf("number of jobs: %q is no number from 1 on", args[0])
	}
	if sequence {
		return inTurn(ctx, c, jobs, args[1:])
	}
	errs := make([]error, jobs)
	var running sync.WaitGroup
	for i := range jobs {
		running.Go(func() { _, errs[i] = c.Run(ctx, "tasks", args[1:]) })
	}
	running.Wait()
	return errors.Join(errs...)
}

// warmJobs run before those that inTurn measures: they bring the program to the cluster.
const warmJobs = 5

// inTurn runs jobs one after another and prints their times.
func inTurn(ctx context.Context, c *app.Client, jobs int, args []string) error {
	for i := range warmJobs + jobs {
		start := time.Now()
		if _, err := c.Run(ctx, "tasks", args); err != nil {
			return err
		}
		if i >= warmJobs {
			fmt.Println(time.Since(start).Seconds())
		}
	}
	return nil
}

func build(g *job.Graph, args []string) error {
	if len(args) != 1 {
		return errors.New("give the number of tasks: TASKS")
	}
	n, err := strconv.Atoi(args[0])
	if err != nil || n < 1 {
		return fmt.Errorf("number of tasks: %q is no number from 1 on", args[0])
	}
	g.Stage("task", n, func(context.Context, *job.Node) error { return nil })
	return nil
}

func buildParts(g *job.Graph, args []string) error {
	if len(args) != 3 {
		return errors.New("give the numbers of tasks and of their parts, and the output folder: TASKS PARTS OUTPUT")
	}
	tasks, err := strconv.Atoi(args[0])
	parts, err2 := strconv.Atoi(args[1])
	if err := errors.Join(err, err2); err != nil || tasks < 1 || parts < 1 {
		return fmt.Errorf("%q or %q is no number from 1 on", args[0], args[1])
	}
	out := g.Output(args[2])
	g.Stage("make", tasks, func(ctx context.Context, n *job.Node) error {
		for i := range parts {
			f, err := n.Create(ctx, out, fmt.Sprintf("part-%d-%d", n.Info().Index, i))
			if err != nil {
				return err
			}
			if err := f.Close(); err != nil {
				return err
			}
		}
		return nil
	})
	return nil
}

func buildArray(g *job.Graph, args []string) error {
	if len(args) != 1 {
		return errors.New("give which elements fail: N, or 0")
	}
	n, err := strconv.Atoi(args[0])
	if err != nil || n < 0 {
		return fmt.Errorf("which elements fail: %q is no number from 0 on", args[0])
	}
	e := g.Elements()
	g.Stage("element", e.Count(), func(_ context.Context, node *job.Node) error {
		if n == 0 {
			return nil
		}
		if i := node.Info().Element; i%n == 0 {
			return fmt.Errorf("element %d fails", i)
		}
		return nil
	}).Elements(e)
	return nil
}
