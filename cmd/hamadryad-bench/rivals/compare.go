package rivals

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// Contender is a system that runs the tasks that are compared: ours, or a rival.
type Contender interface {
	Name() string  // in names of rows
	Title() string // in the table, with its version
	Noop(ctx context.Context, tasks int) (seconds float64, err error)
	Jobs(ctx context.Context, jobs, tasks int) (seconds []float64, err error)
	Programs(ctx context.Context, programs, tasks int) (seconds []float64, err error)
	// WordCount and Sort make the folder out, and may make others beside it, with the same contents.
	WordCount(ctx context.Context, in, out string) (Took, error)
	Sort(ctx context.Context, in, out string) (Took, error)
}

// Took is how long a program took, in seconds.
type Took struct {
	Whole   float64 // from its start to its end, with the start of its cluster
	Running float64 // of which the cluster was ready
}

// Plan is what is compared. Each of the runs has all contenders in turn.
type Plan struct {
	Runs     int
	Tasks    int // that do nothing
	Jobs     int // of one program
	Programs int // of one job each
	JobTasks int // of a job

	Text, Records string // input files
	Folder        string // for outputs, which are removed when they were compared
	// Counts and Sorted report whether an output folder has the right contents.
	Counts, Sorted func(folder string) error
}

// Row is one measure of all contenders, ours first.
type Row struct {
	Name, Title, Unit string
	Higher            bool // is better
	Values            [][]float64
	Errors            []error // why a contender has no value
}

// The rows, in the order of the table.
var rows = []Row{
	{Name: "noop", Title: "no-op tasks", Unit: "tasks/s", Higher: true},
	{Name: "job", Title: "small job, one program", Unit: "ms"},
	{Name: "job-p99", Title: "  99th percentile", Unit: "ms"},
	{Name: "program", Title: "small job, a program each", Unit: "ms"},
	{Name: "wordcount", Title: "word count", Unit: "s"},
	{Name: "wordcount-running", Title: "  on a running cluster", Unit: "s"},
	{Name: "sort", Title: "sort", Unit: "s"},
	{Name: "sort-running", Title: "  on a running cluster", Unit: "s"},
}

// measures fill rows: each has a value for each of its rows from one run.
var measures = []struct {
	rows []string
	run  func(context.Context, Plan, Contender) ([]float64, error)
}{
	{[]string{"noop"}, func(ctx context.Context, p Plan, c Contender) ([]float64, error) {
		seconds, err := c.Noop(ctx, p.Tasks)
		return []float64{float64(p.Tasks) / seconds}, err
	}},
	{[]string{"job", "job-p99"}, func(ctx context.Context, p Plan, c Contender) ([]float64, error) {
		times, err := c.Jobs(ctx, p.Jobs, p.JobTasks)
		return []float64{1000 * quantile(times, 0.5), 1000 * quantile(times, 0.99)}, err
	}},
	{[]string{"program"}, func(ctx context.Context, p Plan, c Contender) ([]float64, error) {
		times, err := c.Programs(ctx, p.Programs, p.JobTasks)
		return []float64{1000 * quantile(times, 0.5)}, err
	}},
	{[]string{"wordcount", "wordcount-running"}, func(ctx context.Context, p Plan, c Contender) ([]float64, error) {
		return p.output(func(out string) (Took, error) { return c.WordCount(ctx, p.Text, out) }, p.Counts)
	}},
	{[]string{"sort", "sort-running"}, func(ctx context.Context, p Plan, c Contender) ([]float64, error) {
		return p.output(func(out string) (Took, error) { return c.Sort(ctx, p.Records, out) }, p.Sorted)
	}},
}

// output runs a program that makes an output folder, or a second beside it, and checks both.
func (p Plan) output(run func(out string) (Took, error), check func(string) error) (values []float64, err error) {
	folder, err := os.MkdirTemp(p.Folder, "out-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	took, err := run(filepath.Join(folder, "out"))
	if err != nil {
		return nil, err
	}
	outs, err := filepath.Glob(filepath.Join(folder, "*"))
	if err == nil && len(outs) == 0 {
		err = errors.New("it made no output")
	}
	for _, out := range outs {
		err = errors.Join(err, check(out))
	}
	return []float64{took.Whole, took.Running}, err
}

// Compare measures ours and the rivals in turn. An error of ours ends it. A rival that fails is told
// in the rows, and is not run again for these. After an error the rows are of no use.
func Compare(ctx context.Context, p Plan, ours Contender, others []Contender) ([]Row, error) {
	all := append([]Contender{ours}, others...)
	filled := slices.Clone(rows)
	for i := range filled {
		filled[i].Values, filled[i].Errors = make([][]float64, len(all)), make([]error, len(all))
	}
	for range p.Runs {
		for _, m := range measures {
			for i, c := range all {
				if err := addValues(ctx, filled, m.rows, i, func() ([]float64, error) { return m.run(ctx, p, c) }); err != nil {
					return nil, fmt.Errorf("%s: %w", m.rows[0], err)
				}
			}
		}
	}
	return filled, nil
}

// addValues adds a contender's values to some rows, or its error. It returns the error of ours, and that
// the comparison was interrupted.
func addValues(ctx context.Context, filled []Row, names []string, i int, run func() ([]float64, error)) error {
	first := slices.IndexFunc(filled, func(r Row) bool { return r.Name == names[0] })
	of := filled[first : first+len(names)]
	if of[0].Errors[i] != nil {
		return nil
	}
	values, err := run()
	if err != nil && (i == 0 || ctx.Err() != nil) {
		return err
	}
	for k := range of {
		if err != nil {
			of[k].Values[i], of[k].Errors[i] = nil, err
		} else {
			of[k].Values[i] = append(of[k].Values[i], values[k])
		}
	}
	return nil
}

// quantile is a value that the share q of the values is not above; 0 of none.
func quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}
