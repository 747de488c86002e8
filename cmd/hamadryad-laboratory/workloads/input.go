// Package workloads has the commands that describe, convert and make workloads, and the flags by
// which commands read one.
package workloads

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/hamadryad/hamadryad/engine/client"
	"github.com/hamadryad/hamadryad/engine/config"
	"github.com/hamadryad/hamadryad/laboratory/workload"
)

// Input reads a workload as flags say.
type Input struct {
	format string
	scale  string
	block  string
	reduce string
	rate   string
	table  string // mapping
	again  bool   // arrivals are resampled
	assign []string
	seed   uint64 // of what is assigned
	o      workload.Options
	swim   workload.SWIM
	swf    workload.SWF

	assignments []workload.Assignment // of assign
	flags       []string
}

// Add adds the flags for reading a workload.
func (in *Input) Add(f *pflag.FlagSet) {
	before := map[string]bool{}
	f.VisitAll(func(f *pflag.Flag) { before[f.Name] = true })
	defer f.VisitAll(func(f *pflag.Flag) {
		if !before[f.Name] {
			in.flags = append(in.flags, f.Name)
		}
	})
	in.swim = workload.DefaultSWIM()
	s := &in.swim
	f.StringVar(&in.format, "format", "", "`FORM` of the file; left out: by its content. One of "+forms())
	f.BoolVar(&in.o.Sort, "sort", false, "order jobs by submission that are not; else they are refused")
	f.BoolVar(&in.o.WholeReduces, "whole-reduces", false, "of a job history: reduces take all the time they were seen to run, their wait for maps included")
	in.swf = workload.DefaultSWF()
	f.IntVar(&in.swf.TaskSlots, "swf-task-slots", in.swf.TaskSlots, "of the Standard Workload Format: processors of each task; a job is a gang of tasks")
	f.StringVar(&in.table, "csv-mapping", "", "`MAPPING` of the columns of a table: a file, or "+strings.Join(workload.GivenMappings(), ", "))
	f.StringArrayVar(&in.assign, "assign", nil, "`FIELD=RULE` gives all jobs a field, such as users=zipf:30; may be repeated. hamadryad workload --help lists the rules")
	f.Uint64Var(&in.seed, "assign-seed", 1, "draws what --assign gives, and --resample for workload")
	f.BoolVar(&in.again, "resample", false, "draw the times between submissions anew from those of the workload, in blocks (bootstrap); simulate does it for each seed")
	f.StringVar(&in.scale, "swim-scale", "1/1", "of SWIM's traces: `M/N` scales bytes to M machines, of the N that were traced")
	f.StringVar(&in.block, "swim-block", config.Size(s.Block).String(), "of SWIM's traces: `BYTES` of input for each map")
	f.StringVar(&in.reduce, "swim-reduce", config.Size(s.ReduceBytes).String(), "of SWIM's traces: `BYTES` shuffled and written for each reduce")
	f.Int64Var(&s.ReducesMax, "swim-reduces-max", s.ReducesMax, "of SWIM's traces: the most reduces of a job; 0: no bound")
	f.DurationVar(&s.MapFixed, "swim-map-time", s.MapFixed, "of SWIM's traces: what each map takes")
	f.DurationVar(&s.MapBlock, "swim-map-block-time", s.MapBlock, "of SWIM's traces: what a map of a full block takes longer")
	f.DurationVar(&s.ReduceFixed, "swim-reduce-time", s.ReduceFixed, "of SWIM's traces: what each reduce takes")
	f.StringVar(&in.rate, "swim-reduce-rate", "10MB", "of SWIM's traces: `BYTES` that a reduce goes through in a second")
	f.DurationVar(&s.ReduceMax, "swim-reduce-time-max", s.ReduceMax, "of SWIM's traces: the most that a reduce takes; 0: no bound")
	f.Float64Var(&s.Spread, "swim-spread", s.Spread, "of SWIM's traces: by which part a task may be faster or slower")
	f.Uint64Var(&s.Seed, "swim-seed", s.Seed, "of SWIM's traces: draws how much each is")
}

// Changed is the first of the flags for reading a workload that was given; "": none was.
func (in *Input) Changed(f *pflag.FlagSet) string {
	i := slices.IndexFunc(in.flags, f.Changed)
	if i < 0 {
		return ""
	}
	return in.flags[i]
}

func forms() string {
	var names []string
	for _, f := range workload.Formats() {
		names = append(names, string(f))
	}
	return strings.Join(names, ", ")
}

// ReadDrawn reads a workload; - is standard input. With --resample its arrivals are those of
// --assign-seed.
func (in *Input) ReadDrawn(path string) (*workload.Workload, error) {
	w, err := in.Read(path)
	if err != nil {
		return nil, err
	}
	return in.Resampled(w, in.seed), nil
}

// Read reads a workload with its own arrivals; - is standard input.
func (in *Input) Read(path string) (*workload.Workload, error) {
	if err := in.settle(); err != nil {
		return nil, err
	}
	from := io.ReadCloser(os.Stdin)
	in.o.File = "standard input"
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		from, in.o.File = f, path
	}
	defer from.Close()
	w, err := workload.Read(from, in.o)
	if err != nil {
		return nil, err
	}
	for _, a := range in.assignments {
		w.Assign(a, in.seed)
	}
	return w, nil
}

// Resamples reports whether each seed has arrivals of its own.
func (in *Input) Resamples() bool { return in.again }

// Resampled is a workload as a seed's arrivals make it: the same without --resample.
func (in *Input) Resampled(w *workload.Workload, seed uint64) *workload.Workload {
	if !in.again {
		return w
	}
	return w.Resample(seed)
}

// settle applies the flags.
func (in *Input) settle() error {
	in.o.Format, in.o.SWIM, in.o.SWF = workload.Format(in.format), &in.swim, &in.swf
	if err := in.settleMapping(); err != nil {
		return err
	}
	if err := in.swf.Check(); err != nil {
		return client.Misuse("--swf-task-slots: %w", err)
	}
	in.assignments = nil
	for _, text := range in.assign {
		a, err := workload.ParseAssignment(text)
		if err != nil {
			return client.Misuse("--assign: %w", err)
		}
		in.assignments = append(in.assignments, a)
	}
	machines, of, ok := strings.Cut(in.scale, "/")
	var err, second error
	in.swim.Machines, err = strconv.ParseInt(machines, 10, 64)
	in.swim.Of, second = strconv.ParseInt(of, 10, 64)
	if !ok || err != nil || second != nil {
		return client.Misuse("--swim-scale %s: write it like 100/600", in.scale)
	}
	for _, b := range []struct {
		flag, value string
		to          *int64
	}{{"swim-block", in.block, &in.swim.Block}, {"swim-reduce", in.reduce, &in.swim.ReduceBytes}, {"swim-reduce-rate", in.rate, &in.swim.ReduceBytesPerSecond}} {
		size, err := config.ParseSize(b.value)
		if err != nil {
			return client.Misuse("--%s: %w", b.flag, err)
		}
		*b.to = int64(size)
	}
	return in.swim.Check()
}

// settleMapping reads the mapping of --csv-mapping.
func (in *Input) settleMapping() (err error) {
	if in.table == "" {
		if in.o.Format == workload.CSV {
			return client.Misuse("--format csv: --csv-mapping says what the columns are: a file, or one of %s", strings.Join(workload.GivenMappings(), ", "))
		}
		return nil
	}
	text, given := workload.GivenMapping(in.table)
	if !given {
		if text, err = os.ReadFile(in.table); err != nil {
			return fmt.Errorf("--csv-mapping: %w", err)
		}
	}
	in.o.Mapping, err = workload.ParseMapping(in.table, text)
	return err
}

// seconds writes a time for people.
func seconds(s float64) string {
	d := workload.Seconds(s)
	if d >= 10*time.Second {
		d = d.Round(100 * time.Millisecond)
	}
	return d.String()
}
