// Pagerank ranks pages by the links between them. It runs jobs in a loop, which ends when a counter
// shows that no rank changes any more.
//
//	hamadryad local -- pagerank [--damping 0.85] [--tolerance 0.001] INPUT... OUTPUT
//
// A line of input is a page, a tab, and the pages it links to, with spaces between. A page that is
// only linked to needs no line. A line of output is page, tab, rank, tab, links. Ranks have a mean
// of 1. The rank of a page without links is shared by all (Page and others, The PageRank Citation
// Ranking, section 2).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"strconv"

	"github.com/hamadryad/hamadryad/app"
	"github.com/hamadryad/hamadryad/mapreduce"
	"github.com/hamadryad/hamadryad/sdk/storage"
)

// ranking holds the loop's parameters.
type ranking struct {
	damping, tolerance float64
	steps              int // upper bound
	// run runs one of the jobs and returns its counters.
	run func(ctx context.Context, job string, args []string) (func(counter string) int64, error)
}

func main() {
	r := ranking{}
	flag.Float64Var(&r.damping, "damping", 0.85, "the `share` of a rank that goes on along links")
	flag.Float64Var(&r.tolerance, "tolerance", 0.001, "the loop ends when no rank moves by more than this")
	flag.IntVar(&r.steps, "steps", 100, "the loop ends with an error after so many steps")
	app.Drive(func(ctx context.Context, c *app.Client) error {
		r.run = func(ctx context.Context, job string, args []string) (func(string) int64, error) {
			result, err := c.Run(ctx, job, args)
			if err != nil {
				return nil, err
			}
			return result.Counter, nil
		}
		return r.rank(ctx, c.Args())
	}, prepare.Definition(), stepDefinition)
}

// rank runs the jobs until the ranks converge. Each job's output is the next job's input; the last
// output gets the requested name.
func (r ranking) rank(ctx context.Context, args []string) (err error) {
	if len(args) < 2 {
		return errors.New("give one or more inputs and the output folder: INPUT... OUTPUT")
	}
	out := args[len(args)-1]
	store, err := storage.For(out)
	if err != nil {
		return err
	}
	if _, err := store.Stat(ctx, out); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(fmt.Errorf("output %s exists: remove it or name another", out), err)
	}
	at := out + ".step-0"
	counter, err := r.run(ctx, prepare.Name, append(args[:len(args)-1:len(args)-1], at))
	if err != nil {
		return err
	}
	clean := context.WithoutCancel(ctx) // remove the steps' outputs after ctrl-C, too
	defer func() { err = errors.Join(err, store.Delete(clean, at)) }()
	pages := counter(mapreduce.ReduceOutputRecords)
	for step := 1; step <= r.steps; step++ {
		next := fmt.Sprintf("%s.step-%d", out, step)
		s := stepArgs{pages: pages, stuck: counter(stuckRank), damping: r.damping, tolerance: r.tolerance}
		if counter, err = r.run(ctx, stepDefinition.Name, append(s.format(), at, next)); err != nil {
			return err
		}
		last := at
		at = next
		if err := store.Delete(clean, last); err != nil {
			return err
		}
		if counter(moved) == 0 {
			return store.Rename(ctx, at, out)
		}
	}
	return fmt.Errorf("ranks still move after %d steps: raise --steps or --tolerance", r.steps)
}

// stepArgs are the arguments of a step's job, before its input and output.
type stepArgs struct {
	pages, stuck       int64
	damping, tolerance float64
}

const stepArgsCount = 4

func (s stepArgs) format() []string {
	number := func(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }
	return []string{strconv.FormatInt(s.pages, 10), strconv.FormatInt(s.stuck, 10), number(s.damping), number(s.tolerance)}
}

func parseStepArgs(args []string) (s stepArgs, err error) {
	if len(args) < stepArgsCount {
		return s, errors.New("this job is run by pagerank itself: give PAGES STUCK DAMPING TOLERANCE INPUT OUTPUT")
	}
	var errs [stepArgsCount]error
	s.pages, errs[0] = strconv.ParseInt(args[0], 10, 64)
	s.stuck, errs[1] = strconv.ParseInt(args[1], 10, 64)
	s.damping, errs[2] = strconv.ParseFloat(args[2], 64)
	s.tolerance, errs[3] = strconv.ParseFloat(args[3], 64)
	return s, errors.Join(errs[:]...)
}
