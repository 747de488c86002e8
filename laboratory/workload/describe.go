package workload

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Summary is what a workload comes to. Its JSON has times in seconds.
type Summary struct {
	Name    string  `json:"name"`
	Jobs    int     `json:"jobs"`
	Tasks   int     `json:"tasks"`
	Imputed int     `json:"imputed"` // tasks whose work the source does not say
	Placed  int     `json:"placed"`  // tasks whose input has places
	Users   int     `json:"users"`
	Pools   int     `json:"pools"`
	Span    float64 `json:"span"` // from the first submission to the last
	// Bytes: Input is read from storage, Shuffle goes from stage to stage, Output is what
	// stages write that no other reads.
	Input   int64 `json:"input"`
	Shuffle int64 `json:"shuffle"`
	Output  int64 `json:"output"`
	// Gaps are the times between a submission and the next, JobTasks and JobWork what a job
	// has of tasks and of work.
	Gaps     Spread  `json:"gaps"`
	JobTasks Spread  `json:"jobTasks"`
	JobWork  Spread  `json:"jobWork"`
	Kinds    []Kind  `json:"kinds"`   // by name
	Classes  []Group `json:"classes"` // by name; "" is none
}

// Kind is what needs slots of one kind.
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

// Spread is how numbers spread. A percentile is the smallest number that as many are not
// above.
type Spread struct {
	Mean float64 `json:"mean"`
	Min  float64 `json:"min"`
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	P99  float64 `json:"p99"`
	Max  float64 `json:"max"`
}

// Load is the part of the time that so many slots are in use, if all jobs came within the
// span and no slot stood still for another reason; 0 where there is no slot or no span.
func (k Kind) Load(slots int, span float64) float64 {
	if slots == 0 || span == 0 {
		return 0
	}
	return k.Work / float64(slots) / span
}

// Describe sums a workload up. It takes memory in proportion to the number of tasks.
func (w *Workload) Describe() Summary {
	s := Summary{Name: w.Name, Jobs: len(w.Jobs), Tasks: w.Tasks(), Imputed: w.Imputed, Span: w.Span().Seconds()}
	users, pools := map[string]bool{}, map[string]bool{}
	times, classes := map[scheduler.SlotKind][]float64{}, map[string]Group{}
	var gaps, tasks, work []float64
	for i := range w.Jobs {
		j := &w.Jobs[i]
		users[j.User], pools[j.Pool] = true, true
		if i > 0 {
			gaps = append(gaps, (j.Submit - w.Jobs[i-1].Submit).Seconds())
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

// Seconds makes a time of seconds, for people; what is longer than a time can be is that.
func Seconds(s float64) time.Duration {
	return time.Duration(min(s*1e9, math.MaxInt64/2)).Round(time.Millisecond)
}
