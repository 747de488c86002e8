package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/hamadryad/hamadryad/engine/client"
)

// Sizes and stated figures of the rows about job arrays.
const (
	arrayElements     = 100_000
	arraySubmitted    = 1_000 // milliseconds from the start of the program until the job is accepted
	arrayLog          = mb    // bytes of the event log for a submission
	arrayRate         = 6_500 // elements a second
	arrayCPU          = noopTaskCPU
	arrayFailingEvery = 100
)

// arrays measures job arrays of elements that do nothing: their submission while nothing can run, and
// their whole runs, without failures and with one of a hundred elements failing.
func arrays(ctx context.Context, b *bench) error {
	return errors.Join(b.arraySubmissions(ctx), b.arrayRuns(ctx, "array-run", 0), b.arrayRuns(ctx, "array-failing", arrayFailingEvery))
}

// arrayProgram are the arguments of the program that submits an array, of which each failing-th
// element fails; 0: none does.
func arrayProgram(failing int) []string {
	return []string{"--quiet", "--array", fmt.Sprintf("0-%d", arrayElements-1), "--attempts", "1", "array", fmt.Sprint(failing)}
}

// arrayRuns measures whole runs.
func (b *bench) arrayRuns(ctx context.Context, name string, failing int) error {
	if !wanted(name, b.names) {
		return nil
	}
	return b.paced(ctx, name, 4, 8, arrayElements, arrayRate, arrayCPU, func(c cluster) error {
		_, err := c.run(ctx, b, "hamadryad-bench-jobs", arrayProgram(failing)...)
		var exit *exec.ExitError
		if failing > 0 && errors.As(err, &exit) && exit.ExitCode() == client.ExitFailed {
			return nil
		}
		return err
	})
}

// arraySubmissions measures submissions on a cluster whose launcher takes no work.
func (b *bench) arraySubmissions(ctx context.Context) error {
	if !wanted("array-submit", b.names) {
		return nil
	}
	c, err := startCluster(ctx, b, 1, 1)
	if err != nil {
		return err
	}
	defer c.Stop()
	cl, err := client.Dial(c.Address, client.Options{})
	if err != nil {
		return err
	}
	defer cl.Close()
	there, err := cl.Launchers(ctx)
	if err != nil {
		return err
	}
	for _, l := range there {
		if err := cl.Drain(ctx, l.Name, true); err != nil {
			return err
		}
	}
	var times, sizes []float64
	for i := range b.runs + 1 {
		took, grown, err := c.submitArray(ctx, b, cl)
		if err != nil {
			return err
		}
		if i > 0 { // the first brings the program to the cluster
			times, sizes = append(times, float64(took.Milliseconds())), append(sizes, float64(grown))
		}
	}
	if err := b.out.add("array-submit", "ms", times, []float64{arraySubmitted}, "stated"); err != nil {
		return err
	}
	return b.out.add("array-submit-log", "bytes", sizes, []float64{arrayLog}, "stated")
}

// arrayLook is the time between two looks for a job that is being submitted.
const arrayLook = 5 * time.Millisecond

// submitArray submits an array and kills it. It returns the time until the manager has accepted it,
// and by how much its event log has grown.
func (c cluster) submitArray(ctx context.Context, b *bench, cl *client.Client) (took time.Duration, grown int64, err error) {
	log := filepath.Join(c.Folder, "data", "manager", "log")
	before, err := logBytes(log)
	if err != nil {
		return 0, 0, err
	}
	over := make(chan error, 1)
	start := time.Now()
	go func() {
		_, err := c.run(ctx, b, "hamadryad-bench-jobs", arrayProgram(0)...)
		over <- err
	}()
	for {
		jobs, err := cl.Jobs(ctx, false)
		if err != nil {
			return 0, 0, err
		}
		if len(jobs) > 0 {
			took = time.Since(start)
			after, err := logBytes(log)
			if err == nil {
				err = cl.Kill(ctx, jobs[0].Job, "it was measured")
			}
			if ended := <-over; err == nil && ended == nil {
				err = errors.New("the job succeeded, though it was killed")
			}
			return took, after - before, err
		}
		select {
		case err := <-over:
			return 0, 0, fmt.Errorf("the submission of an array ended: %w", err)
		case <-time.After(arrayLook):
		}
	}
}

// logBytes is how much an event log's files hold. The zeros at a file's end are room that it has
// allocated.
func logBytes(folder string) (n int64, err error) {
	files, err := os.ReadDir(folder)
	if err != nil {
		return 0, err
	}
	for _, f := range files {
		data, err := os.ReadFile(filepath.Join(folder, f.Name()))
		if err != nil {
			return 0, err
		}
		n += int64(len(bytes.TrimRight(data, "\x00")))
	}
	return n, nil
}
