package report

import (
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/laboratory/report/statistics"
	"github.com/hamadryad/hamadryad/laboratory/simulation"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// ClassesMax bounds the distinguished classes of jobs: those that come first.
const ClassesMax = 16

// Summary sums a run up.
type Summary struct {
	// All describes the succeeded jobs, and Classes those of each class, in the order of their
	// first jobs, ClassesMax at most. Classes is empty where no job has a class.
	All     Class
	Classes []Class
	// Makespan is the time from the first submission to the last end.
	Makespan time.Duration
	// Utilization is the share of the makespan's slot time that attempts held, by kind of slot,
	// sorted by kind.
	Utilization []Utilization
	// Fairness is Jain's index over the slowdowns of the succeeded jobs: 1 when all are equal.
	Fairness float64
	// Near counts finished attempts with stored input by its locality level.
	Near                                         [scheduler.LocalityLevels]int
	Attempts, Preempted, Killed, Suspended, Lost int
	// Busy and Wasted are seconds of slot time, of all attempts and of unfinished ones.
	Busy, Wasted float64
	// Recorded describes the jobs' times in the replayed recording, in seconds, and Off the share
	// by which they differ here. Both are empty without a recording.
	Recorded, Off statistics.Description
	// Energy is what the launchers drew and cost; nil: they have no power and no price.
	Energy *Energies
	// Failed are the jobs that did not succeed.
	Failed []*Job
}

// Class is the result of the jobs of a class. Jobs without a slowdown are not in Slowdown.
type Class struct {
	Name string // "" for jobs without a class
	// Sojourn is in seconds.
	Sojourn, Slowdown statistics.Description
}

// Utilization is the utilization of a kind of slot.
type Utilization struct {
	Kind  scheduler.SlotKind
	Slots int
	Share float64
}

func summarize(jobs []Job, result *simulation.Result) Summary {
	var s Summary
	busy := map[scheduler.SlotKind]float64{}
	for i := range jobs {
		j := &jobs[i]
		if !j.Succeeded() {
			s.Failed = append(s.Failed, j)
		}
		for level, n := range j.Near {
			s.Near[level] += n
		}
		s.Attempts += j.Attempts
		s.Preempted += j.Preempted
		s.Killed += j.Killed
		s.Suspended += j.Suspended
		s.Lost += j.Lost
		s.Busy += j.Busy.Seconds()
		s.Wasted += j.Wasted.Seconds()
		for k := range result.Jobs[i].Stages {
			stage := &result.Jobs[i].Stages[k]
			busy[stage.Kind] += stage.Busy.Seconds()
		}
	}
	s.classes(jobs)
	if len(jobs) > 0 {
		s.Makespan = result.Ended - jobs[0].Submitted
	}
	for kind, n := range result.Slots {
		u := Utilization{Kind: kind, Slots: n}
		if all := s.Makespan.Seconds() * float64(n); all > 0 {
			u.Share = busy[kind] / all
		}
		s.Utilization = append(s.Utilization, u)
	}
	slices.SortFunc(s.Utilization, func(a, b Utilization) int {
		if a.Kind < b.Kind {
			return -1
		}
		return 1
	})
	return s
}

// classes describes the succeeded jobs, all and by class.
func (s *Summary) classes(jobs []Job) {
	var names []string
	for i := range jobs {
		if len(names) < ClassesMax && !slices.Contains(names, jobs[i].Class) {
			names = append(names, jobs[i].Class)
		}
	}
	_, slowdowns := times(jobs, nil)
	s.Fairness = statistics.Jain(slowdowns)
	s.All = describe(jobs, nil)
	if len(names) == 1 && names[0] == "" {
		return
	}
	for _, n := range names {
		s.Classes = append(s.Classes, describe(jobs, &n))
	}
}

func describe(jobs []Job, class *string) Class {
	sojourns, slowdowns := times(jobs, class)
	c := Class{Sojourn: statistics.Describe(sojourns), Slowdown: statistics.Describe(slowdowns)}
	if class != nil {
		c.Name = *class
	}
	return c
}

// times are the sojourn times in seconds, and the slowdowns, of the succeeded jobs of a class; nil:
// of all.
func times(jobs []Job, class *string) (sojourns, slowdowns []float64) {
	for i := range jobs {
		j := &jobs[i]
		if !j.Succeeded() || class != nil && j.Class != *class {
			continue
		}
		sojourns = append(sojourns, j.Sojourn().Seconds())
		if j.Slowdown > 0 {
			slowdowns = append(slowdowns, j.Slowdown)
		}
	}
	return sojourns, slowdowns
}
