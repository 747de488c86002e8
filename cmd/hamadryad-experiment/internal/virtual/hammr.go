package virtual

import (
	"context"
	"fmt"
	"time"

	"github.com/hamadryad/hamadryad/laboratory/cluster"
	"github.com/hamadryad/hamadryad/laboratory/workload"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Runs is how often table 1 is made, of which the mean is taken. Three were published, of which chance decides.
const Runs = 30

// table1 plays Hammr's word count of 26 blocks on four launchers of two slots, on which the blocks lie as 11, 8, 4
// and 3: a map takes 95 s next to its block and 30 s more elsewhere.
func table1(ctx context.Context, l *Lab, t *table) error {
	for _, m := range []struct {
		what, settings, published, expected string
		local                               [2]float64 // from, to
		took                                time.Duration
	}{
		{"min-cost flow", locality("min-cost-flow"), "20 local, 8m21", "about 20.2 local, map phase about 395 s", [2]float64{19, 21}, 395 * time.Second},
		{"no locality", locality("none"), "6.3 local, 9m14", "about 6.5 local, map phase about 449 s", [2]float64{5.5, 7.5}, 449 * time.Second},
		{"fair with delay scheduling", locality("delay"), "20.6 local, 9m30 (Hadoop)", "", [2]float64{}, 0},
	} {
		local, took := 0, time.Duration(0)
		for seed := range l.Runs {
			w, on := table1Run(uint64(seed) + 1) //nolint:gosec // it is not negative
			r, err := l.play(ctx, "fair", m.settings, w, on)
			if err != nil {
				return fmt.Errorf("%s: %w", m.what, err)
			}
			local += r.Jobs[0].Stages[0].Near[scheduler.NodeLocal]
			took += r.Jobs[0].Stages[0].Ended
		}
		mean, phase := float64(local)/float64(l.Runs), took/time.Duration(l.Runs)
		what := "Hammr table 1, " + m.what
		if m.expected == "" {
			t.show(what, m.published, "%.1f local, map phase %.0f s", mean, phase.Seconds())
			continue
		}
		near := (phase - m.took).Abs() <= m.took/20
		t.that(mean >= m.local[0] && mean <= m.local[1] && near, what, m.published, m.expected, "%.1f local, map phase %.0f s", mean, phase.Seconds())
	}
	return nil
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
	j := workload.Job{ID: "wordcount", Stages: []workload.Stage{{Name: "map", Kind: scheduler.DefaultKind}}}
	for _, host := range places {
		j.Stages[0].Tasks = append(j.Stages[0].Tasks, workload.Task{Work: 95 * time.Second, Input: 512 << 20, Places: []workload.Place{{Host: host}}})
	}
	return &workload.Workload{Jobs: []workload.Job{j}}, on
}

// locality are the settings of fair that choose how it places work.
func locality(mode string) string {
	return fmt.Sprintf("locality: {mode: %s}\npreemption: {mode: \"off\"}\n", mode)
}
