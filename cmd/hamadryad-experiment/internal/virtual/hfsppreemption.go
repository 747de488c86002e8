package virtual

import (
	"context"
	"fmt"
	"time"

	"github.com/hamadryad/hamadryad/laboratory/cluster"
	"github.com/hamadryad/hamadryad/laboratory/report/drawing"
	"github.com/hamadryad/hamadryad/laboratory/simulation"
	"github.com/hamadryad/hamadryad/laboratory/workload"
)

// slackOf7 is what may come on top of what follows by hand: a map before the reduces, starting, stopping and telling.
const slackOf7 = 2 * time.Second

// modesOf7 are how j1 of figure 7 gives way, with what follows by hand when its tasks take 500 s and those of
// the others 400 s. It says neither exactly, nor when slots are told to be free.
var modesOf7 = []struct {
	name, settings, published string
	mean                      time.Duration // sojourn time
	killed                    int
}{
	// Five of j1's tasks stop from 150 s to 550 s; three end at 640 s, and then the last three begin.
	{"eager", "preempt-reduces: suspend\n", "9 min", 520 * time.Second, 0},
	// The others begin at 640 s, when j1's first tasks end.
	{"wait", "preempt-reduces: wait\n", "15 min", 912 * time.Second, 0},
	// Five begin anew at 550 s, and the last three at 640 s. Samples would not be killed: three, so that five are none.
	{"kill", "preempt-reduces: kill\nsamples: 3\n", "like eager, 6 killed", 520 * time.Second, 5},
}

// preemption plays figure 7: four launchers of two slots; j1, of 11 reduces, comes at 140 s, j2, of two, and j3 to j5, of one, at 150 s.
func preemption(ctx context.Context, l *Lab, t *table) error {
	w := &workload.Workload{}
	for i, reduces := range []int{11, 2, 1, 1, 1} {
		at, work := 150*time.Second, 400*time.Second
		if i == 0 {
			at, work = 140*time.Second, 500*time.Second
		}
		w.Jobs = append(w.Jobs, reduceJob(i, at, alike(reduces, work)))
	}
	for _, m := range modesOf7 {
		r, err := l.play(ctx, "hfsp", m.settings, w, idealCluster(4, 2))
		if err != nil {
			return err
		}
		mean, killed := meanSojourn(w, r, ""), 0
		for i := range r.Jobs {
			killed += r.Jobs[i].Stages[1].Preempted
		}
		t.that((mean-m.mean).Abs() <= slackOf7 && killed == m.killed, "HFSP fig. 7, "+m.name+": mean sojourn, attempts killed", m.published,
			fmt.Sprintf("%.2f min by hand, %d", m.mean.Minutes(), m.killed), "%.2f min, %d", mean.Minutes(), killed)
	}
	return nil
}

// reduceJob is one whose map takes no time.
func reduceJob(i int, at time.Duration, tasks []workload.Task) workload.Job {
	return workload.Job{ID: fmt.Sprint("j", i+1), Submit: at, Stages: []workload.Stage{{Name: "map", Kind: workload.MapKind, Tasks: alike(1, 0)}, reduces(tasks)}}
}

// footprints are those of figure 8 up to where the line bends, in GiB.
var footprints = []float64{0.5, 1, 2, 3, 4, 5}

// swapping plays figure 8: a reduce gives its one slot to another's and gets it back. How much later it ends than where neither costs
// time is what both take.
func swapping(ctx context.Context, l *Lab, t *table) error {
	costly := idealCluster(1, 1)
	costly.Model.Suspend, costly.Model.Resume = cluster.DefaultModel().Suspend, cluster.DefaultModel().Resume
	games := []game{{policy: "hfsp", workload: suspendedOnce(footprints[0]), on: idealCluster(1, 1)}}
	for _, gib := range footprints {
		games = append(games, game{policy: "hfsp", workload: suspendedOnce(gib), on: costly})
	}
	results, err := l.plays(ctx, games...)
	if err != nil {
		return err
	}
	line := drawing.Points{Name: "suspended and resumed"}
	for i, gib := range footprints {
		took := results[i+1].Jobs[0].Ended - results[0].Jobs[0].Ended
		once := results[i+1].Jobs[0].Stages[1].Suspended == 1
		line.At = append(line.At, drawing.Point{X: gib, Y: took.Seconds()})
		switch gib {
		case 1:
			t.that(once && took > 0 && took <= 20*time.Second+simulation.DefaultTick, "HFSP fig. 8: 1 GB suspended and resumed", "at most 20 s", "at most 20 s", "%.1f s", took.Seconds())
		case 2:
			t.that(once && (took-40*time.Second).Abs() <= time.Second, "HFSP fig. 8: 2 GB suspended and resumed", "40 s", "40 s", "%.1f s", took.Seconds())
		}
	}
	d := drawing.Lines{Title: "HFSP, figure 8: what suspending and resuming takes", X: "footprint (GiB)", Y: "time (s)", Lines: []drawing.Points{line}}
	return l.draw("hfsp-figure8", d.SVG())
}

// suspendedOnce has a reduce of so many GiB that runs for long when a shorter one comes.
func suspendedOnce(gib float64) *workload.Workload {
	w := &workload.Workload{Jobs: []workload.Job{reduceJob(0, 0, alike(1, 10*time.Minute)), reduceJob(1, 100*time.Second, alike(1, time.Minute))}}
	w.Jobs[0].Stages[1].Memory = int64(gib * (1 << 30))
	return w
}
