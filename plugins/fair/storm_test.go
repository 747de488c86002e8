package fair

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

var storms = flag.Int("storms", 60, "random clusters of TestPreemptionsEnd")

// drawTree is settings with random nested pools, and the paths of those that take jobs.
func drawTree(rng *rand.Rand) (settings string, leaves []string) {
	var s strings.Builder
	mode := []string{"kill", "kill", "soft", "suspend"}[rng.IntN(4)]
	fmt.Fprintf(&s, "preemption: {mode: %s, interval: 1s, grace: 1s, fair-share-threshold: %v, times-max: %d, protect: %ds}\n",
		mode, []float64{0.5, 1}[rng.IntN(2)], rng.IntN(4), rng.IntN(30))
	s.WriteString("allocations:\n  min-share-timeout: 2s\n")
	fmt.Fprintf(&s, "  order: %s\n", []string{"fair", "fair", "disco-fair", "deficit"}[rng.IntN(4)])
	if rng.IntN(2) == 0 {
		s.WriteString("  fair-share-timeout: 4s\n")
	}
	s.WriteString("  pools:\n")
	drawPools(rng, &s, "    ", "", &leaves)
	return s.String(), leaves
}

func drawPools(rng *rand.Rand, s *strings.Builder, indent, above string, leaves *[]string) {
	for i := range 1 + rng.IntN(4) {
		name := fmt.Sprintf("p%d", i)
		least := rng.IntN(12) // often more than there is
		fmt.Fprintf(s, "%s%s:\n%s  weight: %v\n%s  min-share: %d\n", indent, name, indent, float64(1+rng.IntN(16))/4, indent, least)
		if rng.IntN(4) == 0 {
			fmt.Fprintf(s, "%s  max-share: %d\n", indent, max(least, 1)+rng.IntN(6))
		}
		if len(indent) < 10 && rng.IntN(3) == 0 {
			fmt.Fprintf(s, "%s  pools:\n", indent)
			drawPools(rng, s, indent+"    ", above+name+"/", leaves)
			continue
		}
		*leaves = append(*leaves, above+name)
	}
}

// TestPreemptionsEnd: with constant demand, preemptions end, whatever pools, weights, minimums and
// slots there are. Then each pool has its guaranteed part of its minimum.
func TestPreemptionsEnd(t *testing.T) {
	sets := 0
	for seed := range uint64(*storms) { //nolint:gosec // a count
		sets += playStorm(t, seed)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	t.Logf("%d sets", sets)
	if sets < *storms {
		t.Errorf("only %d sets were taken: the games show nothing", sets)
	}
}

func playStorm(t *testing.T, seed uint64) (sets int) {
	rng := rand.New(rand.NewPCG(seed, 77)) //nolint:gosec // seeded on purpose
	settings, leaves := drawTree(rng)
	w := newPlay(t, settings)
	w.Launchers(1+rng.IntN(4), 1+rng.IntN(4))
	single := rng.IntN(3) > 0
	for range 2 + rng.IntN(8) {
		pool, at, tasks := leaves[rng.IntN(len(leaves))], time.Duration(rng.IntN(60))*time.Second, 1+rng.IntN(20)
		w.Cluster.After(at, func() {
			if single || tasks > 4 {
				w.job(pool, tasks, 1000*time.Hour)
			} else {
				w.gang(pool, tasks, 1000*time.Hour)
			}
		})
	}
	// All have come after a minute; what is suspended is put back into the queue after another.
	const settled, watched = 8 * time.Minute, 13 * time.Minute
	w.Until(settled)
	before := len(w.sets())
	w.Until(watched)
	if after := len(w.sets()); after > before {
		t.Errorf("%d preemptions in the first %s, and %d more until %s:\n%s", before, settled, after-before, watched, settings)
	}
	k := w.Policy.shares.World.Kind(scheduler.DefaultKind)
	for _, n := range w.Policy.shares.Tree.Pools() {
		if s := n.Of(k); single && s.Running < s.Guaranteed() {
			t.Errorf("pool %s holds %d slots, want %d of its minimum of %d:\n%s%s", n.Path, s.Running, s.Guaranteed(), s.Min, w.world(), settings)
		}
	}
	return before
}

// world shows what pools hold, for a failure.
func (w *play) world() string {
	var s strings.Builder
	k := w.Policy.shares.World.Kind(scheduler.DefaultKind)
	for _, n := range w.Policy.shares.Tree.Pools() {
		x := n.Of(k)
		fmt.Fprintf(&s, "%s: holds %d of %d wanted, minimum %d of %d, share %.2f %s\n", n.Path, x.Running, x.Demand(), x.Guaranteed(), x.Min, x.Share,
			w.Policy.preemption.Exhausted(w.Policy.shares.Pools[n.Path], k))
	}
	return s.String()
}

// TestFewPreemptionsWhileTasksEnd: what is wanted stays the same, and tasks end all the time. The
// slots that they leave go where they are not taken back again.
func TestFewPreemptionsWhileTasksEnd(t *testing.T) {
	const settled, watched = 4 * time.Minute, 10 * time.Minute
	sets, ended := 0, 0
	for seed := range uint64(*storms) / 2 { //nolint:gosec // a count
		rng := rand.New(rand.NewPCG(seed, 77)) //nolint:gosec // seeded on purpose
		settings, leaves := drawTree(rng)
		w := newPlay(t, settings)
		w.Launchers(1+rng.IntN(4), 1+rng.IntN(4))
		for range 2 + rng.IntN(8) {
			pool := leaves[rng.IntN(len(leaves))]
			for range 40 {
				w.job(pool, 1+rng.IntN(10), time.Duration(20+rng.IntN(40))*time.Second)
			}
		}
		w.Until(settled)
		before, first := len(w.sets()), w.Cluster.Tally.Finished
		w.Until(watched)
		sets, ended = sets+len(w.sets())-before, ended+w.Cluster.Tally.Finished-first
	}
	t.Logf("%d sets were taken while %d tasks ended", sets, ended)
	if ended == 0 || sets*100 > ended {
		t.Errorf("%d sets were taken while %d tasks ended, want at most one for each hundred", sets, ended)
	}
}
