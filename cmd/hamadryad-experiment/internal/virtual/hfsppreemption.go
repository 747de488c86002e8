package virtual

import (
	"context"
	"fmt"
	"time"

	"github.com/hamadryad/hamadryad/laboratory/cluster"
	"github.com/hamadryad/hamadryad/laboratory/report"
	"github.com/hamadryad/hamadryad/laboratory/report/drawing"
	"github.com/hamadryad/hamadryad/laboratory/simulation"
	"github.com/hamadryad/hamadryad/laboratory/workload"
)

// slackOf7 is what may come on top of what follows by hand: a map before the reduces, starting, stopping and telling.
const slackOf7 = 2 * time.Second

// Figure 7: j1 has taken all slots when j2 to j5 come, which need five of them.
const (
	Launchers7 = 4
	Slots7     = 2                 // of each launcher
	Large7     = 500 * time.Second // a task of j1, which has 11
	Small7     = 400 * time.Second // a task of the others: j2 has two, and j3 to j5 have one
)

// Mode7 is how j1 of figure 7 gives way, with what follows by hand when tasks take Large7 and Small7. The
// figure says neither exactly, nor when slots are told to be free.
type Mode7 struct {
	Name, Settings string // the latter of hfsp
	// Published and Mean are mean sojourn times: the published one, and that by hand. PublishedKilled and Killed are attempts.
	Published, Mean         time.Duration
	PublishedKilled, Killed int
	Waits                   bool // the others' reduces wait until j1's first ones end
}

// Modes7 returns them.
func Modes7() []Mode7 {
	return []Mode7{
		// Five of j1's tasks stop from 150 s to 550 s; three end at 640 s, and then the last three begin.
		{"eager", "preempt-reduces: suspend\n", 9 * time.Minute, 520 * time.Second, 0, 0, false},
		// The others begin at 640 s, when j1's first tasks end.
		{"wait", "preempt-reduces: wait\n", 15 * time.Minute, 912 * time.Second, 0, 0, true},
		// Five begin anew at 550 s, and the last three at 640 s. Samples would not be killed: three, so that five are none.
		{"kill", "preempt-reduces: kill\nsamples: 3\n", 9 * time.Minute, 520 * time.Second, 6, 5, false},
	}
}

// preemption plays figure 7: j1 comes at 140 s, the others at 150 s.
func preemption(ctx context.Context, l *Lab, t *table) error {
	w := &workload.Workload{}
	for i, reduces := range []int{11, 2, 1, 1, 1} {
		at, work := 150*time.Second, Small7
		if i == 0 {
			at, work = 140*time.Second, Large7
		}
		w.Jobs = append(w.Jobs, reduceJob(i, at, alike(reduces, work)))
	}
	for _, m := range Modes7() {
		on := idealCluster(Launchers7, Slots7)
		watch := report.NewRecorder(w, on)
		r, err := l.plays(ctx, game{policy: "hfsp", settings: m.Settings, workload: w, on: on, watch: watch})
		if err != nil {
			return err
		}
		mean, killed := meanSojourn(w, r[0], ""), 0
		for i := range r[0].Jobs {
			killed += r[0].Jobs[i].Stages[1].Preempted
		}
		t.claim((mean-m.Published).Abs() < 30*time.Second && killed == m.PublishedKilled, "HFSP fig. 7, "+m.Name+": mean sojourn, attempts killed",
			fmt.Sprintf("%.0f min, %d", m.Published.Minutes(), m.PublishedKilled), "%.2f min, %d", mean.Minutes(), killed).
			because("five slots are what the others need").
			expect((mean-m.Mean).Abs() <= slackOf7 && killed == m.Killed, fmt.Sprintf("%.2f min by hand, %d", m.Mean.Minutes(), m.Killed))
		line := lineOf(w, watch, workload.ReduceKind)
		if err := l.drawLine("hfsp-figure7-"+m.Name, "HFSP, figure 7: slots of five jobs, "+m.Name, line, Launchers7*Slots7); err != nil {
			return err
		}
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
			t.measure("HFSP fig. 8, the model's 1 GB suspended and resumed", "%.1f s", took.Seconds()).expect(once && took > 0 && took <= 20*time.Second+simulation.DefaultTick, "at most 20 s")
		case 2:
			t.measure("HFSP fig. 8, the model's 2 GB suspended and resumed", "%.1f s", took.Seconds()).expect(once && (took-40*time.Second).Abs() <= time.Second, "40 s")
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
