package scale

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/laboratory/report/drawing"
	"github.com/hamadryad/hamadryad/laboratory/workload"
)

// The load of a cluster of the curve, for each of its launchers and pools. On 50,000 launchers
// these are 1,000,000 tasks and 1,000 pools.
const (
	tasksEach    = 20  // by launcher
	poolsOf      = 50  // launchers
	jobTasks     = 100 // at most
	comeWithin   = 60_000
	shortestTask = 10_000
	taskSpread   = 40_000 // all in milliseconds
	inputEach    = 128 << 20
)

// made is the workload of a cluster of the curve. All pools' jobs arrive within a minute, with
// tasks of 10 to 50 seconds, each with a block of stored input. There are enough tasks for some
// five rounds on all slots.
func made(launchers int) *workload.Workload {
	pools := max(launchers/poolsOf, 1)
	w := &workload.Workload{Name: fmt.Sprintf("%d pools", pools)}
	tasks := tasksEach * launchers
	r := workload.NewRand(1, uint64(launchers))
	for p := range pools {
		left := tasks*(p+1)/pools - tasks*p/pools
		for n := 0; left > 0; n++ {
			j := workload.Job{
				ID: fmt.Sprintf("pool%d-%d", p, n), Pool: fmt.Sprintf("pool%d", p), User: fmt.Sprintf("user%d", p),
				Submit: time.Duration(r.Unit()*comeWithin) * time.Millisecond,
			}
			s := workload.Stage{Name: "map", Kind: "map", Tasks: make([]workload.Task, min(left, jobTasks))}
			for i := range s.Tasks {
				s.Tasks[i] = workload.Task{Work: time.Duration(shortestTask+r.Unit()*taskSpread) * time.Millisecond, Input: inputEach}
			}
			left -= len(s.Tasks)
			j.Stages = []workload.Stage{s}
			w.Jobs = append(w.Jobs, j)
		}
	}
	slices.SortStableFunc(w.Jobs, func(x, y workload.Job) int { return cmp.Compare(x.Submit, y.Submit) })
	return w
}

// draw draws the cost of one launcher, task, decision or second, by the cluster's size.
func (l *Lab) draw(all []measured) error {
	var decision, rounds, launcher, task []drawing.Point
	for _, m := range all {
		at := func(y float64) drawing.Point { return drawing.Point{X: float64(m.Launchers), Y: y} }
		decision, rounds = append(decision, at(m.perDecision())), append(rounds, at(m.roundsPerSecond()))
		launcher, task = append(launcher, at(float64(m.PerLauncher))), append(task, at(float64(m.PerTask)))
	}
	for _, d := range []struct {
		file, title, y string
		lines          []drawing.Points
	}{
		{"scale-curve-decisions.svg", "What a decision takes under fair, with all that follows", "microseconds", []drawing.Points{{Name: "a decision", At: decision}}},
		{"scale-curve-rounds.svg", "Rounds in a second under fair", "rounds/s", []drawing.Points{{Name: "rounds", At: rounds}}},
		{"scale-curve-memory.svg", "What launchers and tasks take of memory", "bytes", []drawing.Points{{Name: "a launcher", At: launcher}, {Name: "a task", At: task}}},
	} {
		drawn := drawing.Lines{Title: d.title, X: "launchers", Y: d.y, Log: true, Lines: d.lines}
		if err := l.write(d.file, drawn.SVG()); err != nil {
			return err
		}
	}
	return nil
}
