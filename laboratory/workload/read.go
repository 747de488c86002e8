package workload

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"
)

// Options control how a workload is read.
type Options struct {
	// File is the name in errors; "" is "workload".
	File string
	// Format is the format of the text; "" recognises it by its content.
	Format Format
	// Sort accepts jobs out of order of submission, and sorts them, stably.
	Sort bool
	// SWIM converts bytes to tasks when the text has no tasks; nil is DefaultSWIM.
	SWIM *SWIM
	// SWF converts jobs on processors to tasks; nil is DefaultSWF.
	SWF *SWF
	// Mapping says what the columns of a table are. With it "" is the format CSV.
	Mapping *Mapping
	// WholeReduces gives reduces of a job history their whole recorded time. Otherwise their wait
	// for maps and the fetch of maps' outputs are subtracted, as in Mumak, because the laboratory
	// simulates the wait.
	WholeReduces bool
}

// Format names a form of text.
type Format string

// The formats that Read knows.
const (
	Own      Format = "hamadryad" // what Write writes
	Facebook Format = "facebook"  // lines of JSON, fb2009-100 and fb2010-93
	Swim     Format = "swim"      // SWIM's tab-separated values
	Rumen    Format = "rumen"     // Rumen's job histories, as Mumak, Gridmix and the SLS read them
	Sls      Format = "sls"       // the JSON of YARN's Scheduler Load Simulator
	Swf      Format = "swf"       // the Standard Workload Format of the Parallel Workloads Archive
	CSV      Format = "csv"       // a table of tasks, with a Mapping
)

// Formats lists them.
func Formats() []Format { return []Format{Own, Facebook, Swim, Rumen, Sls, Swf, CSV} }

// Read reads a workload to its end, compressed with gzip, zstd or not at all. Its memory is bounded
// by the bounds of a workload, LineBytesMax and ValueBytesMax. The error names file and line; no
// workload is returned with it.
func Read(r io.Reader, o Options) (*Workload, error) {
	if o.File == "" {
		o.File = "workload"
	}
	text, err := expand(r)
	if err != nil {
		return nil, at(o.File, 1, err)
	}
	if head, err := text.Peek(len(byteOrderMark)); err == nil && string(head) == byteOrderMark {
		_, _ = text.Discard(len(byteOrderMark)) // it has them
	}
	if o.Format == "" && o.Mapping != nil {
		o.Format = CSV
	}
	if o.Format == "" {
		if o.Format, err = recognise(text); err != nil {
			return nil, at(o.File, 1, err)
		}
	}
	c := &collector{options: o, checker: checker{unordered: o.Sort}}
	switch o.Format {
	case Own:
		err = readOwn(text, c)
	case Facebook:
		err = readFacebook(text, c)
	case Swim:
		err = readSWIM(text, c, orDefault(o.SWIM, DefaultSWIM()))
	case Rumen:
		err = readRumen(text, c)
	case Sls:
		err = readSLS(text, c)
	case Swf:
		err = readSWF(text, c, orDefault(o.SWF, DefaultSWF()))
	case CSV:
		err = readTable(text, c, o.Mapping)
	default:
		return nil, fmt.Errorf("there is no format %q: use one of %v", o.Format, Formats())
	}
	if err != nil {
		return nil, at(o.File, 1, err)
	}
	return c.finish()
}

// byteOrderMark begins texts of some editors.
const byteOrderMark = "\ufeff"

func orDefault[T any](given *T, otherwise T) T {
	if given == nil {
		return otherwise
	}
	return *given
}

// lineError is an error with its file and line.
type lineError struct {
	file string
	line int
	err  error
}

func (e *lineError) Error() string { return fmt.Sprintf("%s:%d: %v", e.file, e.line, e.err) }
func (e *lineError) Unwrap() error { return e.err }

// at adds a file and line to an error, unless it has them.
func at(file string, line int, err error) error {
	var placed *lineError
	if err == nil || errors.As(err, &placed) {
		return err
	}
	return &lineError{file, line, err}
}

// collector collects jobs as they are read.
type collector struct {
	options  Options
	workload Workload
	checker  checker
	lines    []int // where each job begins
	last     int   // line of the text
	// absolute says that times of submission count from another origin: the workload begins at
	// base, the first job's.
	absolute bool
	base     time.Duration
}

// at gives an error a line of the text.
func (c *collector) at(line int, err error) error { return at(c.options.File, line, err) }

// add adds the next job, which begins on a line.
func (c *collector) add(line int, j Job) error {
	if c.absolute && !c.options.Sort {
		if len(c.lines) == 0 {
			c.base = j.Submit
		}
		j.Submit -= c.base
	}
	kept := j
	if err := c.checker.job(&kept); err != nil {
		return c.at(line, explain(err))
	}
	c.workload.Jobs = append(c.workload.Jobs, kept)
	c.lines = append(c.lines, line)
	return nil
}

// explain adds the remedy for jobs out of order.
func explain(err error) error {
	var order *orderError
	if errors.As(err, &order) {
		return fmt.Errorf("%w; --sort orders them", err)
	}
	return err
}

// finish returns the workload after all of it was read.
func (c *collector) finish() (*Workload, error) {
	w := &c.workload
	if len(w.Jobs) == 0 {
		return nil, c.at(max(c.last, 1), errEmpty)
	}
	if c.options.Sort {
		if err := c.sort(); err != nil {
			return nil, err
		}
	}
	if err := checkName("the workload", "name", w.Name); err != nil {
		return nil, c.at(1, err)
	}
	return w, nil
}

// sort brings the jobs into order, and checks their times.
func (c *collector) sort() error {
	jobs := c.workload.Jobs
	order := make([]int, len(jobs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return compare(jobs[a].Submit, jobs[b].Submit) })
	if c.absolute {
		c.base = jobs[order[0]].Submit
	}
	sorted := make([]Job, len(jobs))
	check := checker{}
	for i, from := range order {
		sorted[i] = jobs[from]
		sorted[i].Submit -= c.base
		if err := check.submit(&sorted[i]); err != nil {
			return c.at(c.lines[from], err)
		}
	}
	c.workload.Jobs = sorted
	return nil
}

func compare(a, b time.Duration) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// room refuses more tasks than a workload may have, before they are made.
func (c *collector) room(tasks int64) error {
	if tasks < 0 {
		return fmt.Errorf("%d tasks: numbers are not negative", tasks)
	}
	if tasks > TasksMax-int64(c.checker.tasks) {
		return fmt.Errorf("%d more tasks are too many: at most %d are allowed in all", tasks, TasksMax)
	}
	return nil
}

// milliseconds converts a number of milliseconds to a time of at most most.
func milliseconds(n int64, most time.Duration) (time.Duration, error) {
	if n < 0 {
		return 0, fmt.Errorf("%d ms: times are not negative", n)
	}
	if n > int64(most/time.Millisecond) {
		return 0, fmt.Errorf("%d ms: at most %v is allowed", n, most)
	}
	return time.Duration(n) * time.Millisecond, nil
}

// instantMax is the latest time in sources with Unix times.
const instantMax = time.Duration(math.MaxInt64 / int64(time.Millisecond) * int64(time.Millisecond))

// share is the i-th of n parts of a sum: the first parts get one more each until the remainder is
// used up.
func share(sum int64, n, i int) int64 {
	part, rest := sum/int64(n), sum%int64(n)
	if int64(i) < rest {
		part++
	}
	return part
}
