package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/hamadryad/hamadryad/cmd/hamadryad-bench/rivals"
	"github.com/hamadryad/hamadryad/engine/client"
)

// rivalsName is the name of the rows about other systems. They run only when it is given.
const rivalsName = "rivals"

const (
	rivalFiles    = "cmd/hamadryad-bench/rivals"
	rivalTasks    = 10_000
	rivalJobs     = 50
	rivalJobTasks = 10
	rivalPrograms = 10
	rivalBytes    = gb // of text, and of records
	rivalSlots    = 2  // processors that each system may use
)

// compareRivals runs Ray, Dask and Spark in turn with this project, on the same inputs. Those that
// cannot be installed are told; if none can, that is an error.
func compareRivals(ctx context.Context, b *bench) error {
	contenders := []rivals.Contender{ours{b}}
	var missing []error
	for _, s := range rivals.Systems {
		r, err := rivals.Prepare(ctx, rivalFiles, s, os.Stderr)
		if err != nil {
			missing = append(missing, fmt.Errorf("%s is not compared: %w", s.Title, err))
			continue
		}
		defer func() { _ = r.Close() }()
		contenders = append(contenders, r)
	}
	if len(contenders) == 1 {
		return errors.Join(missing...)
	}
	plan, err := b.rivalPlan(ctx)
	if err != nil {
		return err
	}
	rows, err := rivals.Compare(ctx, plan, contenders[0], contenders[1:])
	if err != nil {
		return err
	}
	for _, r := range rows {
		for i, c := range contenders[1:] {
			if r.Errors[i+1] != nil {
				continue
			}
			if err := b.out.add(rivalsName+"-"+r.Name+"-"+c.Name(), r.Unit, r.Values[0], r.Values[i+1], c.Title()); err != nil {
				return err
			}
		}
	}
	fmt.Printf("\nMedians of %d runs with %d processors each; in brackets how many times as good this project is.\n\n", plan.Runs, rivalSlots)
	rivals.Write(os.Stdout, contenders, rows)
	for _, err := range missing {
		fmt.Println(err)
	}
	return nil
}

// rivalPlan makes the inputs, and what outputs are compared with: words counted by the hand-written
// program, and records sorted by GNU sort, which stay for the next time.
func (b *bench) rivalPlan(ctx context.Context) (p rivals.Plan, err error) {
	p = rivals.Plan{Runs: b.runs, Tasks: rivalTasks, Jobs: rivalJobs, Programs: rivalPrograms, JobTasks: rivalJobTasks, Folder: b.data}
	if p.Text, err = b.text(ctx, rivalBytes); err != nil {
		return p, err
	}
	if p.Records, err = b.records(ctx, rivalBytes); err != nil {
		return p, err
	}
	if _, err = b.handCount(ctx, p.Text); err != nil {
		return p, err
	}
	sorted := p.Records + ".sorted"
	if _, err = program(ctx, false, "sort", "--parallel=2", "-S1G", "-T", b.data, "-o", sorted, p.Records); err != nil {
		return p, err
	}
	p.Counts = func(folder string) error { return sameLines(folder, p.Text+".counts") }
	p.Sorted = func(folder string) error { return sameBytes(folder, sorted) }
	return p, nil
}

// ours is this project as a contender, by its ordinary programs.
type ours struct{ *bench }

func (o ours) Name() string { return "hamadryad" }

func (o ours) Title() string { return "Hamadryad" }

// Noop measures a program from its start to its end, on a cluster that has run it before.
func (o ours) Noop(ctx context.Context, tasks int) (seconds float64, err error) {
	err = o.cluster(ctx, func(c cluster) error {
		for range 2 {
			took, err := c.run(ctx, o.bench, "noop", strconv.Itoa(tasks))
			if err != nil {
				return err
			}
			seconds = took.Seconds()
		}
		return nil
	})
	return seconds, err
}

// Jobs measures jobs that one program submits, one after another.
func (o ours) Jobs(ctx context.Context, jobs, tasks int) (seconds []float64, err error) {
	err = o.cluster(ctx, func(c cluster) error {
		cmd := exec.CommandContext(ctx, filepath.Join(o.bin, "hamadryad-bench-jobs"), "sequence", strconv.Itoa(jobs), strconv.Itoa(tasks))
		cmd.Env = append(os.Environ(), client.AddressVariable+"="+c.Address)
		var problems bytes.Buffer
		cmd.Stderr = &problems
		out, err := cmd.Output()
		if err != nil {
			return fmt.Errorf("hamadryad-bench-jobs: %w\n%s", err, problems.Bytes())
		}
		seconds, err = numbers(string(out), jobs)
		return err
	})
	return seconds, err
}

// numbers reads so many numbers, one a line.
func numbers(text string, count int) (values []float64, err error) {
	for line := range strings.Lines(text) {
		v, err := strconv.ParseFloat(strings.TrimSpace(line), 64)
		if err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	if len(values) != count {
		return nil, fmt.Errorf("got the times of %d jobs, not of %d", len(values), count)
	}
	return values, nil
}

// Programs measures programs that run one job each.
func (o ours) Programs(ctx context.Context, programs, tasks int) (seconds []float64, err error) {
	err = o.cluster(ctx, func(c cluster) error {
		for i := range programs + 1 {
			took, err := c.run(ctx, o.bench, "noop", strconv.Itoa(tasks))
			if err != nil {
				return err
			}
			if i > 0 { // the first one brings the program to the cluster
				seconds = append(seconds, took.Seconds())
			}
		}
		return nil
	})
	return seconds, err
}

func (o ours) WordCount(ctx context.Context, in, out string) (rivals.Took, error) {
	return o.twice(ctx, "wordcount-bytes", in, out)
}

func (o ours) Sort(ctx context.Context, in, out string) (rivals.Took, error) {
	return o.twice(ctx, "terasort", in, out)
}

// twice runs a program on a cluster of its own, and then on a running one that has not run it before.
func (o ours) twice(ctx context.Context, name, in, out string) (took rivals.Took, err error) {
	whole, err := o.local(ctx, false, []string{"--launchers", "1", "--slots", strconv.Itoa(rivalSlots)}, name, in, out)
	if err != nil {
		return took, err
	}
	err = o.cluster(ctx, func(c cluster) error {
		running, err := c.run(ctx, o.bench, name, in, out+"-running")
		took = rivals.Took{Whole: whole.took.Seconds(), Running: running.Seconds()}
		return err
	})
	return took, err
}

// cluster runs something on a cluster of two slots.
func (o ours) cluster(ctx context.Context, run func(cluster) error) error {
	c, err := startCluster(ctx, o.bench, 1, rivalSlots)
	if err != nil {
		return err
	}
	defer c.Stop()
	return run(c)
}
