package virtual

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/hamadryad/hamadryad/laboratory/workload"
)

// Figures 1 and 2 count seconds of three jobs. A second of theirs takes secondOf12 here, so that the
// tick of the laboratory weighs little, and the cluster has slotsOf12: 55 and 35 % of it, a half and a third are whole slots.
const (
	secondOf12    = 20 * time.Second
	slotsOf12     = 60
	launchersOf12 = 15 // of few slots each: an HFSP that suspends leaves it at eight on a launcher
	// slackOf12 is how much later than in the figures, or earlier, a job may end, in their seconds: slots change hands
	// when tasks end, and a job that comes runs its samples beside the others.
	slackOf12 = 1
)

// jobOf12 is one of the figures' jobs: it comes at a time, and takes so many seconds on so many slots.
type jobOf12 struct{ at, seconds, slots int }

var (
	jobsOf1 = []jobOf12{{0, 30, 60}, {10, 10, 60}, {15, 10, 60}}
	jobsOf2 = []jobOf12{{0, 30, 60}, {10, 10, 33}, {13, 10, 21}} // 100, 55 and 35 % of the slots
)

// order plays figures 1 and 2: three jobs under processor sharing, which is fair's, and under HFSP.
func order(ctx context.Context, l *Lab, t *table) error {
	figures := []struct {
		what, policy, why   string
		workload            *workload.Workload
		published, expected []float64 // ends
	}{
		{"fig. 1, processor sharing: FAIR", "fair", "", finely(jobsOf1), []float64{50, 37.5, 42.5}, []float64{50, 37.5, 42.5}},
		{"fig. 1: HFSP", "hfsp", "", finely(jobsOf1), []float64{50, 20, 30}, []float64{50, 20, 30}},
		// While all share, no job has as many slots as it could use at most.
		{"fig. 2, processor sharing: FAIR", "fair", "", finely(jobsOf2), []float64{39, 24.5, 23.5}, []float64{39, 24.5, 23.5}},
		// The figure divides work at will, and j1 has 60 tasks here: 33 stand still from 10 s on and 21 from 13 s on. At 20 s
		// the oldest go on, among them some of the latter, and what waits until 23 s has 20 s to go.
		{"fig. 2: HFSP", "hfsp", " in whole tasks", wholly(jobsOf2), []float64{39, 20, 23}, []float64{43, 20, 23}},
	}
	var games []game
	for _, f := range figures {
		games = append(games, game{policy: f.policy, workload: f.workload, on: idealCluster(launchersOf12, slotsOf12/launchersOf12)})
	}
	results, err := l.plays(ctx, games...)
	if err != nil {
		return err
	}
	for k, f := range figures {
		var got []float64
		for i := range f.expected {
			got = append(got, float64(results[k].Jobs[i].Ended)/float64(secondOf12))
		}
		t.claim(inOrder(got, f.published, slackOf12), "HFSP "+f.what+", ends of j1, j2, j3", seconds(f.published), "%s", seconds(got)).
			because("a task is not divided, and those that stopped last have most to go").
			expect(inOrder(got, f.expected, slackOf12), seconds(f.expected)+f.why)
	}
	return nil
}

// inOrder says whether numbers are those expected, give or take a slack, and in their order.
func inOrder(got, want []float64, slack float64) bool {
	for i := range want {
		if math.Abs(got[i]-want[i]) > slack {
			return false
		}
		for k := range i {
			if (got[k] < got[i]) != (want[k] < want[i]) {
				return false
			}
		}
	}
	return true
}

func seconds(list []float64) string {
	var parts []string
	for _, s := range list {
		parts = append(parts, fmt.Sprintf("%.1f", s))
	}
	return strings.Join(parts, ", ") + " s"
}

// finely has jobs of maps that take half a second of the figure each, so that they share slots and leave them soon.
func finely(jobs []jobOf12) *workload.Workload {
	w := &workload.Workload{}
	for i, j := range jobs {
		w.Jobs = append(w.Jobs, oneStage(i, j, workload.Stage{Name: "map", Kind: workload.MapKind, Tasks: alike(2*j.seconds*j.slots, secondOf12/2)}))
	}
	return w
}

// wholly has jobs of as many reduces as the job needs slots, which give way by suspension.
func wholly(jobs []jobOf12) *workload.Workload {
	w := &workload.Workload{}
	for i, j := range jobs {
		job := oneStage(i, j, workload.Stage{Name: "map", Kind: workload.MapKind, Tasks: alike(1, 0)})
		job.Stages = append(job.Stages, reduces(alike(j.slots, time.Duration(j.seconds)*secondOf12)))
		w.Jobs = append(w.Jobs, job)
	}
	return w
}

func oneStage(i int, j jobOf12, s workload.Stage) workload.Job {
	return workload.Job{ID: fmt.Sprint("j", i+1), Submit: time.Duration(j.at) * secondOf12, Stages: []workload.Stage{s}}
}

// reduces is a stage that reads what the job's first wrote.
func reduces(tasks []workload.Task) workload.Stage {
	return workload.Stage{Name: "reduce", Kind: workload.ReduceKind, After: []int{0}, Tasks: tasks}
}

// alike are tasks that take as long.
func alike(n int, work time.Duration) []workload.Task {
	list := make([]workload.Task, n)
	for i := range list {
		list[i].Work = work
	}
	return list
}
