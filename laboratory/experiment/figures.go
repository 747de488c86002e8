package experiment

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/hamadryad/hamadryad/laboratory/report"
	"github.com/hamadryad/hamadryad/laboratory/report/timeline"
	"github.com/hamadryad/hamadryad/laboratory/simulation"
	"github.com/hamadryad/hamadryad/laboratory/workload"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// computed are the values of figures by name: times are seconds, whatever they are shown in.
type computed map[string][]float64

// measure computes a figure of one run. Jobs are indexes in the workload, at least one.
type measure func(r *run, f *Figure, jobs []int, before computed) []float64

// measures are the set of Figure.Of.
var measures = map[string]measure{
	"time": times,
	"makespan": func(r *run, _ *Figure, _ []int, _ computed) []float64 {
		return one((r.result.Ended - r.workload.Jobs[0].Submit).Seconds())
	},
	"jobs":           func(_ *run, _ *Figure, jobs []int, _ computed) []float64 { return one(float64(len(jobs))) },
	"ended":          ended,
	"attempts":       sum(func(s *simulation.Stage) float64 { return float64(s.Attempts) }),
	"preempted":      sum(func(s *simulation.Stage) float64 { return float64(s.Preempted) }),
	"suspended":      sum(func(s *simulation.Stage) float64 { return float64(s.Suspended) }),
	"suspended-jobs": suspendedJobs,
	"starved":        starved,
	"wasted":         sum(func(s *simulation.Stage) float64 { return s.Wasted.Seconds() }),
	"local":          local,
	"local-attempts": sum(func(s *simulation.Stage) float64 { return float64(s.Near[scheduler.NodeLocal]) }),
	"held":           held,
	"idle":           idle,
}

// kinds lists measures.
func kinds() []string { return slices.Sorted(maps.Keys(measures)) }

func one(value float64) []float64 { return []float64{value} }

// made is a way to compute a figure from others.
type made struct {
	key string
	of  []string
	by  func(a, b float64) float64
}

func (f *Figure) madeOf() []made {
	return []made{
		{"ratio", f.Ratio, func(a, b float64) float64 { return a / b }},
		{"difference", f.Difference, func(a, b float64) float64 { return a - b }},
		{"percent", f.Percent, func(a, b float64) float64 { return 100 * a / b }},
		{"increase", f.Increase, func(a, b float64) float64 { return 100 * (a/b - 1) }},
	}
}

// compute computes a figure of all runs.
func (f *Figure) compute(e *Experiment, runs []*run, before computed) ([]float64, error) {
	for _, m := range f.madeOf() {
		if len(m.of) > 0 {
			return combine(m, before)
		}
	}
	at := slices.IndexFunc(e.Policies, func(p Policy) bool { return p.Name == f.Policy })
	var values []float64
	for v := range e.Policies[at].values() {
		var seeds [][]float64
		for _, r := range runs {
			if r.policy != at || r.value != v {
				continue
			}
			jobs, err := f.selected(r.workload)
			if err != nil {
				return nil, err
			}
			list, err := f.of(r, jobs, before)
			if err != nil {
				return nil, err
			}
			if len(seeds) > 0 && len(list) != len(seeds[0]) {
				return nil, fmt.Errorf("it has %d values with one seed and %d with another", len(seeds[0]), len(list))
			}
			seeds = append(seeds, list)
		}
		values = append(values, over(f.Over, seeds)...)
	}
	return values, nil
}

// of computes the figure of one run.
func (f *Figure) of(r *run, jobs []int, before computed) ([]float64, error) {
	if f.Of == "held" || f.Of == "idle" {
		if _, left := r.recorder.Spans(); left > 0 {
			return nil, fmt.Errorf("it is computed for at most %d attempts: there are %d more", report.SpansMax, left)
		}
	}
	list := measures[f.Of](r, f, jobs, before)
	if len(list) == 0 {
		return nil, fmt.Errorf("no job has stages by which %s and %s are known", cmp.Or(f.From, defaultFrom), cmp.Or(f.To, defaultTo))
	}
	return list, nil
}

// combine computes a figure from two. A single value is combined with each of the other's values.
func combine(m made, before computed) ([]float64, error) {
	a, b := Numbers(before[m.of[0]]), Numbers(before[m.of[1]])
	if len(a) != len(b) && len(a) != 1 && len(b) != 1 {
		return nil, fmt.Errorf("%s has %d values, and %s %d: as many, or one, are right", m.of[0], len(a), m.of[1], len(b))
	}
	values := make([]float64, max(len(a), len(b)))
	for i := range values {
		values[i] = m.by(a.at(i), b.at(i))
	}
	return values, nil
}

// over combines the lists of several seeds, value by value.
func over(what string, seeds [][]float64) []float64 {
	values := slices.Clone(seeds[0])
	for _, s := range seeds[1:] {
		for i := range values {
			switch what {
			case "min":
				values[i] = min(values[i], s[i])
			case "max":
				values[i] = max(values[i], s[i])
			default:
				values[i] += s[i]
			}
		}
	}
	if what == "" || what == "mean" {
		for i := range values {
			values[i] /= float64(len(seeds))
		}
	}
	return values
}

// selected are the indexes of the figure's jobs.
func (f *Figure) selected(w *workload.Workload) (jobs []int, err error) {
	for i := range w.Jobs {
		j := &w.Jobs[i]
		if (f.Class == "" || j.Class == f.Class) && (f.Pool == "" || j.Pool == f.Pool) && (f.User == "" || j.User == f.User) && (len(f.Jobs) == 0 || slices.Contains(f.Jobs, j.ID)) && (f.Stage == "" || j.Stage(f.Stage) != nil) {
			jobs = append(jobs, i)
		}
	}
	if len(jobs) == 0 || len(f.Jobs) > len(jobs) {
		return nil, fmt.Errorf("the workload has no such jobs: class %q, pool %q, user %q, jobs %q, stage %q", f.Class, f.Pool, f.User, f.Jobs, f.Stage)
	}
	return jobs, nil
}

// Defaults of Figure.From and Figure.To.
const (
	defaultFrom = "submitted"
	defaultTo   = "ended"
)

// times returns times of jobs; it is empty when no job has them.
func times(r *run, f *Figure, jobs []int, _ computed) []float64 {
	var list []time.Duration
	for _, i := range jobs {
		from, began := r.moment(i, cmp.Or(f.From, defaultFrom))
		to, ended := r.moment(i, cmp.Or(f.To, defaultTo))
		if began && ended {
			list = append(list, to-from)
		}
	}
	if f.Take == "each" || len(list) == 0 {
		var all []float64
		for _, d := range list {
			all = append(all, d.Seconds())
		}
		return all
	}
	return one(taken(f.Take, list).Seconds())
}

// moment is when an event of a job happened; false: the job lacks the stage.
func (r *run) moment(job int, what string) (time.Duration, bool) {
	j := &r.result.Jobs[job]
	switch what {
	case "beginning":
		return 0, true
	case "submitted":
		return j.Submitted, true
	case "began":
		return began(j)
	case "ended":
		return j.Ended, true
	}
	name, end, _ := strings.Cut(what, ".")
	i := slices.IndexFunc(r.workload.Jobs[job].Stages, func(s workload.Stage) bool { return s.Name == name })
	switch {
	case i < 0:
		return 0, false
	case end == "began":
		return j.Stages[i].Began, true
	}
	return j.Stages[i].Ended, true
}

// began is the start of a job's first attempt; false: none started.
func began(j *simulation.Job) (at time.Duration, ok bool) {
	for i := range j.Stages {
		if s := &j.Stages[i]; s.Attempts > 0 && (!ok || s.Began < at) {
			at, ok = s.Began, true
		}
	}
	return at, ok
}

// taken reduces several times to one; there is at least one.
func taken(what string, list []time.Duration) time.Duration {
	list = slices.Sorted(slices.Values(list))
	n := len(list)
	switch what {
	case "median":
		return (list[(n-1)/2] + list[n/2]) / 2
	case "min":
		return list[0]
	case "max":
		return list[n-1]
	}
	if p := percentile(what); p > 0 {
		return list[(n*p+99)/100-1]
	}
	all := time.Duration(0)
	for _, d := range list {
		all += d
	}
	return all / time.Duration(n)
}

// ended counts jobs.
func ended(r *run, f *Figure, jobs []int, before computed) []float64 {
	by, n := f.by(before), 0
	for _, i := range jobs {
		if r.result.Jobs[i].Ended <= by {
			n++
		}
	}
	return one(float64(n))
}

// by is the time of By: a figure's, or a literal one.
func (f *Figure) by(before computed) time.Duration {
	if v := before[f.By]; len(v) > 0 {
		return time.Duration(math.Round(v[0] * float64(time.Second)))
	}
	d, _ := time.ParseDuration(f.By) // Parse checked it
	return d
}

// sum adds something up over stages.
func sum(of func(*simulation.Stage) float64) measure {
	return func(r *run, f *Figure, jobs []int, _ computed) []float64 {
		all := 0.0
		r.stages(f, jobs, func(_ int, s *simulation.Stage) { all += of(s) })
		return one(all)
	}
}

// stages visits the stages that a figure covers.
func (r *run) stages(f *Figure, jobs []int, visit func(job int, s *simulation.Stage)) {
	for _, i := range jobs {
		for k := range r.result.Jobs[i].Stages {
			if f.Stage == "" || r.workload.Jobs[i].Stages[k].Name == f.Stage {
				visit(i, &r.result.Jobs[i].Stages[k])
			}
		}
	}
}

func suspendedJobs(r *run, f *Figure, jobs []int, _ computed) []float64 {
	were := map[int]bool{}
	r.stages(f, jobs, func(job int, s *simulation.Stage) {
		if s.Suspended > 0 {
			were[job] = true
		}
	})
	return one(float64(len(were)))
}

func starved(r *run, _ *Figure, jobs []int, _ computed) []float64 {
	longest := time.Duration(0)
	for _, i := range jobs {
		longest = max(longest, r.waits.longest[i])
	}
	return one(longest.Seconds())
}

func local(r *run, f *Figure, jobs []int, _ computed) []float64 {
	near, all := 0, 0
	r.stages(f, jobs, func(_ int, s *simulation.Stage) {
		near += s.Near[scheduler.NodeLocal]
		for _, n := range s.Near {
			all += n
		}
	})
	return one(100 * float64(near) / float64(max(all, 1)))
}

// line is the number of slots of a kind that jobs held over time.
func (r *run) line(kind scheduler.SlotKind, jobs []string) timeline.Line {
	var list []timeline.Span
	kept, _ := r.recorder.Spans()
	for _, s := range kept {
		if s.Kind == cmp.Or(kind, scheduler.DefaultKind) {
			list = append(list, timeline.Span{Party: r.workload.Jobs[s.Job].ID, Slots: s.Slots, Start: s.From, End: s.To})
		}
	}
	return timeline.New(jobs, list)
}

// held is NaN where that never happened.
func held(r *run, f *Figure, _ []int, before computed) []float64 {
	at, ok := r.line(f.Kind, f.Jobs).First(f.by(before), f.Slots, f.For)
	if !ok {
		return one(math.NaN())
	}
	return one(at.Seconds())
}

func idle(r *run, f *Figure, jobs []int, _ computed) []float64 {
	var all []string
	for i := range r.workload.Jobs {
		all = append(all, r.workload.Jobs[i].ID)
	}
	j := &r.result.Jobs[jobs[0]]
	free := float64(r.on.Slots()[cmp.Or(f.Kind, scheduler.DefaultKind)])
	for _, n := range r.line(f.Kind, all).Mean(j.Submitted, j.Ended) {
		free -= n
	}
	return one(free * j.Sojourn().Seconds())
}
