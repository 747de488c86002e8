package workload

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Summary sums up a workload. Its JSON has times in seconds.
type Summary struct {
	Name    string `json:"name"`
	Jobs    int    `json:"jobs"`
	Tasks   int    `json:"tasks"`
	Imputed int    `json:"imputed"` // tasks whose work the source does not say
	LeftOut int    `json:"leftOut"` // jobs or tasks of the source that never ran
	Placed  int    `json:"placed"`  // tasks whose input has places
	Users   int    `json:"users"`
	Pools   int    `json:"pools"`
	// Deadlines are the jobs with a deadline, Estimates the stages with an estimate.
	Deadlines int     `json:"deadlines"`
	Estimates int     `json:"estimates"`
	Span      float64 `json:"span"` // from the first submission to the last
	// Input is read from storage, Shuffle goes from stage to stage, and Output is written by stages
	// without readers, all in bytes.
	Input   int64 `json:"input"`
	Shuffle int64 `json:"shuffle"`
	Output  int64 `json:"output"`
	// Gaps are the times between consecutive submissions, JobTasks and JobWork the tasks and the
	// work of a job.
	Gaps     Spread  `json:"gaps"`
	JobTasks Spread  `json:"jobTasks"`
	JobWork  Spread  `json:"jobWork"`
	Kinds    []Kind  `json:"kinds"`   // by name
	Classes  []Group `json:"classes"` // by name; "" is none
}

// Kind is the demand for slots of one kind.
type Kind struct {
	Name  scheduler.SlotKind `json:"name"`
	Tasks int                `json:"tasks"`
	Work  float64            `json:"work"` // slot-seconds
	Times Spread             `json:"times"`
}

// Group is the jobs of a class.
type Group struct {
	Name  string  `json:"name"`
	Jobs  int     `json:"jobs"`
	Tasks int     `json:"tasks"`
	Work  float64 `json:"work"` // slot-seconds
}

// Spread is the distribution of numbers. A percentile is the smallest number that so many percent
// do not exceed.
type Spread struct {
	Mean float64 `json:"mean"`
	Min  float64 `json:"min"`
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	P99  float64 `json:"p99"`
	Max  float64 `json:"max"`
}

// Load is the share of the time in which the slots are used, if all jobs come within the span and
// no slot idles for another reason; 0 without slots or span.
func (k Kind) Load(slots int, span float64) float64 {
	if slots == 0 || span == 0 {
		return 0
	}
	return k.Work / float64(slots) / span
}

// Describe sums a workload up. It takes memory in proportion to the number of tasks.
func (w *Workload) Describe() Summary {
	s := Summary{Name: w.Name, Jobs: len(w.Jobs), Tasks: w.Tasks(), Imputed: w.Imputed, LeftOut: w.LeftOut, Span: w.Span().Seconds()}
	users, pools := map[string]bool{}, map[string]bool{}
	times, classes := map[scheduler.SlotKind][]float64{}, map[string]Group{}
	var gaps, tasks, work []float64
	for i := range w.Jobs {
		j := &w.Jobs[i]
		users[j.User], pools[j.Pool] = true, true
		if i > 0 {
			gaps = append(gaps, (j.Submit - w.Jobs[i-1].Submit).Seconds())
		}
		if j.Deadline > 0 {
			s.Deadlines++
		}
		jobWork := s.job(j, times)
		tasks, work = append(tasks, float64(j.Tasks())), append(work, jobWork)
		g := classes[j.Class]
		classes[j.Class] = Group{j.Class, g.Jobs + 1, g.Tasks + j.Tasks(), g.Work + jobWork}
	}
	s.Users, s.Pools = named(users), named(pools)
	s.Gaps, s.JobTasks, s.JobWork = spread(gaps), spread(tasks), spread(work)
	for _, kind := range slices.Sorted(maps.Keys(times)) {
		s.Kinds = append(s.Kinds, Kind{Name: kind, Tasks: len(times[kind]), Work: total(times[kind]), Times: spread(times[kind])})
	}
	for _, class := range slices.Sorted(maps.Keys(classes)) {
		s.Classes = append(s.Classes, classes[class])
	}
	return s
}

// job adds a job, and returns its work.
func (s *Summary) job(j *Job, times map[scheduler.SlotKind][]float64) (work float64) {
	read := map[int]bool{}
	for k := range j.Stages {
		for _, from := range j.Stages[k].After {
			read[from] = true
		}
	}
	for k := range j.Stages {
		st := &j.Stages[k]
		if st.Estimate > 0 {
			s.Estimates++
		}
		for i := range st.Tasks {
			t := &st.Tasks[i]
			s.Input, s.Shuffle = s.Input+t.Input, s.Shuffle+t.Shuffle
			if !read[k] {
				s.Output += t.Output
			}
			if len(t.Places) > 0 {
				s.Placed++
			}
			times[st.Kind] = append(times[st.Kind], t.Work.Seconds())
			work += t.Work.Seconds()
		}
	}
	return work
}

func named(names map[string]bool) int {
	delete(names, "")
	return len(names)
}

func total(list []float64) (sum float64) {
	for _, x := range list {
		sum += x
	}
	return sum
}

// spread sorts the list.
func spread(list []float64) Spread {
	if len(list) == 0 {
		return Spread{}
	}
	slices.Sort(list)
	at := func(part float64) float64 {
		return list[max(int(math.Ceil(float64(part*float64(len(list)))))-1, 0)]
	}
	return Spread{Mean: total(list) / float64(len(list)), Min: list[0], P50: at(0.5), P90: at(0.9), P99: at(0.99), Max: list[len(list)-1]}
}

// Seconds converts seconds to a time for people; too many become the longest time.
func Seconds(s float64) time.Duration {
	return time.Duration(min(s*1e9, math.MaxInt64/2)).Round(time.Millisecond)
}
