package synthetic

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/hamadryad/hamadryad/laboratory/internal/document"
	"github.com/hamadryad/hamadryad/laboratory/workload"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Purposes of random streams.
const (
	arriving uint64 = iota + 1
	being
	working
)

// Generate makes the workload. The error is of an invalid specification, or of a workload beyond
// the bounds.
func (s *Spec) Generate() (*workload.Workload, error) {
	if err := document.Error(s.check()); err != nil {
		return nil, err
	}
	w := &workload.Workload{Name: s.Name, Jobs: make([]workload.Job, 0, s.Jobs)}
	users, pools, classes := workload.Zipf(s.Users.Count, s.Users.Skew), workload.Zipf(s.Pools.Count, s.Pools.Skew), s.odds()
	tasks := 0
	for i, at := range s.arrivals() {
		r := workload.NewRand(s.Seed, being, uint64(i))
		class := &s.Classes[classes.Draw(r)]
		j := workload.Job{
			ID: strconv.Itoa(i + 1), Class: class.Name, Name: class.Name, Submit: at, Priority: scheduler.Priority(class.Priority),
			User: fmt.Sprint("user", users.Draw(r)+1), Pool: fmt.Sprint("pool", pools.Draw(r)+1),
		}
		maps, reduces := max(number(class.Maps, r), 1), number(class.Reduces, r)
		if tasks += maps + reduces; tasks > workload.TasksMax {
			return nil, fmt.Errorf("the first %d jobs have more than %d tasks", i+1, workload.TasksMax)
		}
		if err := s.stages(&j, class, maps, reduces, r, workload.NewRand(s.Seed, working, uint64(i))); err != nil {
			return nil, fmt.Errorf("job %d: %w", i+1, err)
		}
		w.Jobs = append(w.Jobs, j)
	}
	return w, w.Check()
}

// arrivals are the jobs' arrival times, in order.
func (s *Spec) arrivals() []time.Duration {
	r := workload.NewRand(s.Seed, arriving)
	at, all := 0.0, make([]time.Duration, 0, s.Jobs)
	gap := float64(s.Arrivals.Gap)
	add := func(t float64) { all = append(all, time.Duration(min(t, float64(workload.SubmitMax)+1))) }
	for len(all) < s.Jobs {
		switch s.Arrivals.Kind {
		case "even":
			at += gap
			add(at)
		case "poisson":
			at += float64(gap * r.Exponential())
			add(at)
		case "bursty":
			at += float64(float64(gap*float64(s.Arrivals.Burst)) * r.Exponential())
			within := at
			for n := 1 + r.Below(2*s.Arrivals.Burst-1); n > 0 && len(all) < s.Jobs; n-- {
				add(within)
				within += float64(float64(s.Arrivals.Within) * r.Exponential())
			}
		}
	}
	slices.Sort(all)
	return all
}

// stages gives a job its tasks.
func (s *Spec) stages(j *workload.Job, c *Class, maps, reduces int, r, each *workload.Rand) error {
	input := float64(maps) * float64(s.Block)
	shuffle, output := float64(input*c.Shuffle), float64(input*c.Output)
	if max(shuffle, output, input) > math.MaxInt64/2 {
		return fmt.Errorf("it has %v bytes, which is beyond all bounds", max(shuffle, output, input))
	}
	mapOutput := shuffle
	if reduces == 0 {
		mapOutput = output
	}
	m := workload.Stage{Name: "map", Kind: workload.MapKind, Memory: c.Memory, Tasks: make([]workload.Task, maps)}
	mean := c.MapSeconds.draw(r)
	for i, part := range c.MapSkew.parts(maps, each) {
		m.Tasks[i] = workload.Task{Work: seconds(float64(mean * part)), Input: s.Block, Output: int64(float64(mapOutput / float64(maps) * part))}
	}
	j.Stages = []workload.Stage{m}
	if reduces == 0 {
		return nil
	}
	d := workload.Stage{Name: "reduce", Kind: workload.ReduceKind, After: []int{0}, Memory: c.Memory, Tasks: make([]workload.Task, reduces)}
	mean = c.ReduceSeconds.draw(r)
	for i, part := range c.ReduceSkew.parts(reduces, each) {
		d.Tasks[i] = workload.Task{
			Work: seconds(float64(mean * part)), Shuffle: int64(float64(shuffle / float64(reduces) * part)), Output: int64(float64(output / float64(reduces) * part)),
		}
	}
	j.Stages = append(j.Stages, d)
	return nil
}

// seconds converts seconds to a time; it keeps times beyond a task's bounds, for Check to report.
func seconds(s float64) time.Duration {
	return time.Duration(min(float64(s*1e9), float64(2*workload.WorkMax)))
}

func number(l Lot, r *workload.Rand) int { return int(math.Floor(l.draw(r) + 0.5)) }

// draw draws a number.
func (l Lot) draw(r *workload.Rand) float64 {
	switch l.Kind {
	case "fixed":
		return l.Value
	case "even":
		return l.Min + float64((l.Max-l.Min)*r.Unit())
	case "lognormal":
		return min(max(float64(l.Median*r.LogNormal(l.Sigma)), l.Min), l.Max)
	case "zipf":
		return r.ParetoBelow(l.Min, l.Max, l.Exponent)
	}
	return 0
}

// parts are the shares of n tasks, relative to the mean of 1.
func (k Skew) parts(n int, r *workload.Rand) []float64 {
	parts := make([]float64, n)
	sum := 0.0
	for i := range parts {
		switch k.Kind {
		case "lognormal":
			parts[i] = r.LogNormal(k.Sigma)
		case "zipf":
			parts[i] = workload.Power(float64(i+1), -k.Exponent)
		default:
			parts[i] = 1
		}
		sum += parts[i]
	}
	for i := range parts {
		parts[i] = parts[i] * float64(n) / sum
	}
	if k.Kind == "zipf" { // the largest is any of them
		for i := n - 1; i > 0; i-- {
			o := r.Below(i + 1)
			parts[i], parts[o] = parts[o], parts[i]
		}
	}
	return parts
}

func (s *Spec) odds() workload.Odds {
	sum, o := 0.0, make(workload.Odds, len(s.Classes))
	for i := range o {
		sum += s.Classes[i].Share
		o[i] = sum
	}
	return o
}
