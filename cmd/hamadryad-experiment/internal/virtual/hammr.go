package virtual

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/hamadryad/hamadryad/laboratory/cluster"
	"github.com/hamadryad/hamadryad/laboratory/report"
	"github.com/hamadryad/hamadryad/laboratory/report/drawing"
	"github.com/hamadryad/hamadryad/laboratory/report/timeline"
	"github.com/hamadryad/hamadryad/laboratory/simulation"
	"github.com/hamadryad/hamadryad/laboratory/workload"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// slotsOf5 is the launcher of Hammr's figure 5, and slackOf5 is how much later than there slots may change
// hands: what happens waits for the laboratory's tick.
const (
	slotsOf5 = 6
	slackOf5 = 500 * time.Millisecond
)

// entersOf5 is when C enters: its submission takes a tick, and it is below its share for one more before the pass at 5 s.
const entersOf5 = 5*time.Second - 2*simulation.DefaultTick

// settingsOf5 are those of fair as Hammr has it: who is below two thirds of its share takes slots back, by a pass
// each second. Those who are told end at once.
const settingsOf5 = `
allocations:
  fair-share-timeout: 0s
  pools: {A: {weight: 1}, B: {weight: 2}, C: {weight: 3}}
update-interval: 100ms
locality: {mode: none}
preemption: {mode: soft, grace: 0s, interval: 1s, fair-share-threshold: 0.6667, sets-max: %d}
`

// figure5 plays Hammr's figure 5: pools of weights 1, 2 and 3, each with a job of 6 maps of 25 s and a reduce, on six
// slots. C enters a moment before the pass at 5 s. With one set of
// victims a pass its maps start, and end, a second apart: at 55 s two of them still run, and what the first left goes to A.
// With all victims in one pass all three end then, and C has only its reduce to run.
func figure5(ctx context.Context, l *Lab, t *table) error {
	w := &workload.Workload{}
	for _, pool := range []string{"A", "B", "C"} {
		w.Jobs = append(w.Jobs, workload.Job{ID: pool, Pool: pool, Stages: []workload.Stage{
			{Name: "map", Kind: scheduler.DefaultKind, Tasks: alike(6, 25*time.Second)},
			{Name: "reduce", Kind: scheduler.DefaultKind, After: []int{0}, Tasks: alike(1, 5*time.Second)},
		}})
	}
	w.Jobs[2].Submit = entersOf5
	one, err := l.figure5(ctx, w, 1)
	if err != nil {
		return err
	}
	all, err := l.figure5(ctx, w, slotsOf5)
	if err != nil {
		return err
	}
	const what, published = "Hammr fig. 5, slots of A, B, C, ", "1,2,3 from 5 s, a spare slot to A at 55 s"
	got, came := momentsOf5(one, []int{2, 2, 2})
	t.claim(came, what+"one set of victims a pass", published, "%s", got).expect(came, "2,4,0 at 0 s; 1,2,3 at 7 s; 2,2,2 at 55 s")
	got, _ = momentsOf5(all, []int{3, 2, 1})
	t.measure(what+"all victims in one pass", "%s", got)
	return nil
}

// figure5 plays it with so many sets of victims a pass, and draws it.
func (l *Lab) figure5(ctx context.Context, w *workload.Workload, sets int) (timeline.Line, error) {
	on := cluster.Default(1, map[string]int{scheduler.DefaultKind: slotsOf5})
	on.Model.Start, on.Model.Stop, on.Model.Latency = 0, 0, 0
	watch := report.NewRecorder(w, on)
	if _, err := l.plays(ctx, game{policy: "fair", settings: fmt.Sprintf(settingsOf5, sets), workload: w, on: on, watch: watch}); err != nil {
		return timeline.Line{}, err
	}
	line := lineOf(w, watch, scheduler.DefaultKind)
	title := fmt.Sprintf("Hammr, figure 5: slots of pools A, B and C (weights 1, 2, 3), at most %d sets of victims a pass", sets)
	return line, l.drawLine(fmt.Sprintf("hammr-figure5-sets-%d", sets), title, line, slotsOf5, drawing.Mark{At: w.Jobs[2].Submit, Text: "C enters"})
}

// momentsOf5 says when the pools first held what they are to hold at 0 s and 7 s, and some counts at 55 s; and whether
// each is so.
func momentsOf5(line timeline.Line, late []int) (text string, holds bool) {
	holds = true
	var parts []string
	for _, m := range []struct {
		from, at time.Duration // it is looked for from a time on
		want     []int
	}{{0, 0, []int{2, 4, 0}}, {entersOf5, 7 * time.Second, []int{1, 2, 3}}, {54 * time.Second, 55 * time.Second, late}} {
		counts := strings.Trim(strings.ReplaceAll(fmt.Sprint(m.want), " ", ","), "[]")
		at, ok := line.First(m.from, m.want, slackOf5)
		if holds = holds && ok && (at-m.at).Abs() <= slackOf5; !ok {
			parts = append(parts, "never "+counts)
			continue
		}
		parts = append(parts, fmt.Sprintf("%s at %.1f s", counts, at.Seconds()))
	}
	return strings.Join(parts, "; "), holds
}

// Runs is how often table 1 is made, of which the mean is taken. Three were published, of which chance decides.
const Runs = 30

// reducesOf1 is how many reduces the job has, and reduceOf1 how long one takes: what is left of
// both of Hammr's times beside the maps. All run at once, when the maps have ended.
const (
	reducesOf1 = 8
	reduceOf1  = 105 * time.Second
)

// table1 plays Hammr's word count of 26 blocks on four launchers of two slots, on which the blocks lie as 11, 8, 4
// and 3: a map takes 95 s next to its block and 30 s more elsewhere.
func table1(ctx context.Context, l *Lab, t *table) error {
	for _, m := range []struct {
		what, settings, program string
		local                   float64 // published
		took                    time.Duration
		expected                bool // it comes out as published
	}{
		{"min-cost flow", locality("min-cost-flow, node-delay: 0s, rack-delay: 0s"), "Hammr", 20, 8*time.Minute + 21*time.Second, true},
		{"the same flow, in which nothing costs anything", locality("min-cost-flow, costs: {node-local: 0, rack-local: 0, remote: 0}"), "Hammr", 6.3, 9*time.Minute + 14*time.Second, true},
		{"delay scheduling", locality("delay"), "Hadoop", 20.6, 9*time.Minute + 30*time.Second, false},
	} {
		local, maps, took := 0, time.Duration(0), time.Duration(0)
		for seed := range l.Runs {
			w, on := table1Run(uint64(seed) + 1) //nolint:gosec // it is not negative
			r, err := l.play(ctx, "fair", m.settings, w, on)
			if err != nil {
				return fmt.Errorf("%s: %w", m.what, err)
			}
			local += r.Jobs[0].Stages[0].Near[scheduler.NodeLocal]
			maps += r.Jobs[0].Stages[0].Ended
			took += r.Jobs[0].Sojourn()
		}
		mean, n := float64(local)/float64(l.Runs), time.Duration(l.Runs)
		near := math.Abs(mean-m.local) <= localNear && (took/n-m.took).Abs() <= m.took/20
		r := t.claim(near, "Hammr table 1, "+m.what, fmt.Sprintf("%.1f local, %s (%s)", m.local, minutes(m.took), m.program),
			"%.1f local, %s, of which the maps take %s", mean, minutes(took/n), minutes(maps/n))
		if m.expected {
			r.must()
		} else {
			r.because("starting a task costs Hadoop more than it does here")
		}
	}
	return nil
}

// localNear is how many maps more or fewer may be local than in the table, of which three
// executions were made.
const localNear = 1.5

// minutes has a time written as the table does.
func minutes(d time.Duration) string {
	d = d.Round(time.Second)
	return fmt.Sprintf("%dm%02d", int(d.Minutes()), int(d.Seconds())%60)
}

// table1Run is the workload and the cluster. A seed says which map reads which block.
func table1Run(seed uint64) (*workload.Workload, *cluster.Cluster) {
	on := cluster.Default(4, map[string]int{scheduler.DefaultKind: 2})
	on.Seed, on.Replicas = seed, 0
	on.Model.Locality = cluster.Locality{Rack: 125.0 / 95, Remote: 125.0 / 95}
	on.Model.Start = 0
	hosts := on.Machines()
	var places []string
	for i, blocks := range []int{11, 8, 4, 3} {
		for range blocks {
			places = append(places, hosts[i].Host)
		}
	}
	lots := workload.NewRand(seed, 1)
	for i := len(places) - 1; i > 0; i-- {
		k := int(lots.Unit() * float64(i+1))
		places[i], places[k] = places[k], places[i]
	}
	j := workload.Job{ID: "wordcount", Stages: []workload.Stage{
		{Name: "map", Kind: scheduler.DefaultKind},
		{Name: "reduce", Kind: scheduler.DefaultKind, After: []int{0}, SlowStart: startLate, Tasks: alike(reducesOf1, reduceOf1)},
	}}
	for _, host := range places {
		j.Stages[0].Tasks = append(j.Stages[0].Tasks, workload.Task{Work: 95 * time.Second, Input: 512 << 20, Places: []workload.Place{{Host: host}}})
	}
	return &workload.Workload{Jobs: []workload.Job{j}}, on
}

// locality are the settings of fair that choose how it places work.
func locality(mode string) string {
	return fmt.Sprintf("locality: {mode: %s}\npreemption: {mode: \"off\"}\n", mode)
}
