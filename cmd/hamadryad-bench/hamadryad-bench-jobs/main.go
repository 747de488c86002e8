// Command hamadryad-bench-jobs is a program of hamadryad-bench: it runs many small jobs at once.
//
//	hamadryad local --slots 2 -- hamadryad-bench-jobs 100 10
//
// Each of the 100 jobs has 10 tasks that do nothing.
package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/hamadryad/hamadryad/app"
	"github.com/hamadryad/hamadryad/sdk/job"
)

func main() {
	app.MainWith(app.Options{Drive: drive, Reuse: true}, job.Definition{Name: "tasks", Help: "TASKS  a job of so many tasks that do nothing", Build: build})
}

// drive submits all jobs at once, and waits for all.
func drive(ctx context.Context, c *app.Client) error {
	args := c.Args()
	if len(args) != 2 {
		return errors.New("give the number of jobs and the number of tasks of each: JOBS TASKS")
	}
	jobs, err := strconv.Atoi(args[0])
	if err != nil || jobs < 1 {
		return fmt.Errorf("number of jobs: %q is no number from 1 on", args[0])
	}
	errs := make([]error, jobs)
	var running sync.WaitGroup
	for i := range jobs {
		running.Go(func() { _, errs[i] = c.Run(ctx, "tasks", args[1:]) })
	}
	running.Wait()
	return errors.Join(errs...)
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
