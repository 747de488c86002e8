package simulation

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/laboratory/cluster"
	"github.com/hamadryad/hamadryad/laboratory/workload"
	"github.com/hamadryad/hamadryad/plugins/fifo"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// playAlone plays a job alone where nothing but work takes time.
func playAlone(t *testing.T, j *workload.Job, c *cluster.Cluster) *Job {
	t.Helper()
	r := play(t, Options{Workload: &workload.Workload{Jobs: []workload.Job{*j}}, Cluster: c, Tick: -1, Think: -1}, fifo.New())
	return &r.Jobs[0]
}

// stage is a stage of tasks of so many seconds each.
func stage(name string, after []int, works ...int) workload.Stage {
	s := workload.Stage{Name: name, Kind: "default", After: after}
	for _, w := range works {
		s.Tasks = append(s.Tasks, workload.Task{Work: time.Duration(w) * time.Second})
	}
	return s
}

// The least time by hand, and what the job takes alone.
func TestLeastTimeByHand(t *testing.T) {
	joined := func(s workload.Stage, c workload.Channel, p workload.Pattern) workload.Stage {
		s.Channel, s.Pattern = c, p
		return s
	}
	wide := func(s workload.Stage, change func(*workload.Stage)) workload.Stage {
		change(&s)
		return s
	}
	pair := func(first, second []int) []workload.Stage {
		return []workload.Stage{stage("a", nil, first...), joined(stage("b", []int{0}, second...), workload.ChannelTCP, workload.OneToOne)}
	}
	for name, c := range map[string]struct {
		launchers, slots int
		change           func(*cluster.Group)
		stages           []workload.Stage
		least            time.Duration
	}{
		"stages in a row":            {2, 1, nil, []workload.Stage{stage("a", nil, 3, 3), stage("b", []int{0}, 4)}, 7 * time.Second},
		"more tasks than slots":      {1, 2, nil, []workload.Stage{stage("a", nil, 5, 5, 5, 5)}, 10 * time.Second},
		"two stages, one kind":       {1, 1, nil, []workload.Stage{stage("a", nil, 5), stage("b", nil, 6)}, 11 * time.Second},
		"tasks of three slots":       {2, 4, nil, []workload.Stage{wide(stage("a", nil, 5, 5, 5, 5), func(s *workload.Stage) { s.Slots = 3 })}, 10 * time.Second},
		"tasks of much memory":       {1, 4, func(g *cluster.Group) { g.Memory = 3 << 30 }, []workload.Stage{wide(stage("a", nil, 5, 5), func(s *workload.Stage) { s.Memory = 2 << 30 })}, 10 * time.Second},
		"tasks with a gpu":           {1, 4, func(g *cluster.Group) { g.Resources = map[string]int{"gpu": 1} }, []workload.Stage{wide(stage("a", nil, 5, 5), func(s *workload.Stage) { s.Resources = []scheduler.ResourceCount{{Kind: "gpu", Count: 1}} })}, 10 * time.Second},
		"fast launchers":             {2, 1, func(g *cluster.Group) { g.Speed = 2 }, []workload.Stage{stage("a", nil, 6, 6, 6, 6)}, 6 * time.Second},
		"a gang works side by side":  {4, 1, nil, pair([]int{4, 4}, []int{7, 7}), 7 * time.Second},
		"gangs start whole":          {3, 1, nil, pair([]int{4, 4}, []int{4, 4}), 8 * time.Second},
		"a gang of one stage":        {3, 1, nil, []workload.Stage{stage("a", nil, 6, 6), joined(stage("b", []int{0}, 6, 6, 6, 6), workload.ChannelTCP, workload.Fork)}, 12 * time.Second},
		"a group is as its longest":  {1, 1, nil, []workload.Stage{stage("a", nil, 3, 4), joined(stage("b", []int{0}, 9, 2), workload.ChannelSHM, workload.OneToOne)}, 13 * time.Second},
		"pairs do not wait for all":  {2, 1, nil, []workload.Stage{stage("a", nil, 1, 9), joined(stage("b", []int{0}, 9, 1), workload.ChannelFile, workload.OneToOne)}, 10 * time.Second},
		"a gang larger than the lot": {2, 1, nil, pair([]int{4}, []int{5}), 5 * time.Second},
	} {
		on := bare(c.launchers, map[string]int{"default": c.slots})
		if c.change != nil {
			c.change(&on.Groups[0])
		}
		got := playAlone(t, &workload.Job{ID: "a", Stages: c.stages}, on)
		if got.Least != c.least || got.Ended < c.least || !near(got.Ended, c.least) {
			t.Errorf("%s: the least time is %v, want %v; alone it takes %v", name, got.Least, c.least, got.Ended)
		}
	}
}

// What does not fit has no least time.
func TestNoLeastTime(t *testing.T) {
	c := bare(2, map[string]int{"map": 1})
	gang := []workload.Stage{stage("a", nil, 1), stage("b", []int{0}, 1, 1)}
	for i := range gang {
		gang[i].Kind = "map"
	}
	gang[1].Channel, gang[1].Pattern = workload.ChannelTCP, workload.Fork
	odd := stage("a", nil, 1)
	odd.Kind = "none of them"
	w := &workload.Workload{Jobs: []workload.Job{{ID: "gang", Stages: gang}, {ID: "odd", Stages: []workload.Stage{odd}}}}
	for i, j := range play(t, Options{Workload: w, Cluster: c, Tick: -1, Think: -1}, fifo.New()).Jobs {
		if j.Least > 0 {
			t.Errorf("job %d, which ends as %v (%s), has the least time %v", i, j.State, j.Failure, j.Least)
		}
	}
}

// randomJob draws a job of groups, gangs and wide tasks.
func randomJob(r *rand.Rand) *workload.Job {
	j := &workload.Job{ID: "a"}
	for s := range 1 + r.IntN(4) {
		one := workload.Stage{Name: fmt.Sprint("s", s), Kind: []string{"map", "reduce"}[r.IntN(2)], Slots: r.IntN(3), Memory: int64(r.IntN(3)) << 29}
		n := 1 + r.IntN(9)
		if s > 0 {
			from := r.IntN(s)
			before := &j.Stages[from]
			one.After = []int{from}
			one.Channel = []workload.Channel{workload.ChannelFile, workload.ChannelFile, workload.ChannelTCP, workload.ChannelSHM}[r.IntN(4)]
			one.Pattern = []workload.Pattern{workload.AllToAll, workload.OneToOne}[r.IntN(2)]
			switch {
			case one.Channel != workload.ChannelFile:
				one.Pattern = workload.OneToOne
			case r.IntN(2) == 0:
				one.SlowStart = 0.5
			}
			if one.Pattern == workload.OneToOne {
				n = len(before.Tasks)
			}
			if one.Channel == workload.ChannelSHM {
				one.Kind = before.Kind
			}
		}
		for range n {
			one.Tasks = append(one.Tasks, workload.Task{Work: time.Duration(r.IntN(20_000)) * time.Millisecond})
		}
		j.Stages = append(j.Stages, one)
	}
	return j
}

// No job is faster alone than its least time, and few take much longer.
func TestNoJobIsFasterThanItsLeastTime(t *testing.T) {
	const jobs = 150
	sum, n := 0.0, 0
	for seed := range uint64(jobs) {
		r := rand.New(rand.NewPCG(seed, 3))
		c := bare(2+r.IntN(4), map[string]int{"map": 2 + r.IntN(3), "reduce": 2 + r.IntN(2)})
		c.Groups[0].Memory = cluster.Size(4+r.IntN(8)) << 30
		other := c.Groups[0]
		other.Name, other.Count, other.Speed = "other", 1, 1+float64(seed%2)
		c.Groups = append(c.Groups, other)
		j := randomJob(r)
		got := playAlone(t, j, c)
		if got.Least == 0 || got.Failure != "" {
			t.Fatalf("seed %d: no least time, and it ends as %s: %+v", seed, got.Failure, j)
		}
		slower := got.Sojourn().Seconds() / got.Least.Seconds()
		if slower < 1 {
			t.Errorf("seed %d: alone it takes %v, less than its least time %v: %+v", seed, got.Sojourn(), got.Least, j)
		}
		if c.Groups[1].Speed == 1 { // else fifo uses the slow ones, too
			sum, n = sum+slower, n+1
		}
	}
	if mean := sum / float64(n); mean > 1.3 {
		t.Errorf("alone jobs take %.2f times their least time in the mean: the bound is loose", mean)
	}
}
