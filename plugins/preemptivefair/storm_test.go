package preemptivefair

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/policytest"
	"github.com/hamadryad/hamadryad/policytest/cluster"
)

var storms = flag.Int("storms", 60, "random clusters of TestPreemptionsEnd")

// TestPreemptionsEnd: while what is wanted stays the same, preemptions end, whatever jobs, settings
// and slots there are: also where there are more jobs than slots, and bundles lost before.
func TestPreemptionsEnd(t *testing.T) {
	const settled, watched = 8 * time.Minute, 13 * time.Minute
	total := 0
	for seed := range uint64(*storms) { //nolint:gosec // a count
		rng := rand.New(rand.NewPCG(seed, 78)) //nolint:gosec // seeded on purpose
		pick := func(all ...string) string { return all[rng.IntN(len(all))] }
		settings := fmt.Sprintf("mode: %s\ngrace: 1s\njob-loses: %s\nattempt-loses: %s\ntimes-max: %d\nhold: %s\n", pick("kill", "soft", "suspend"),
			pick(evenly, furthestOver, lowestPriority), pick(newest, atRandom, newestInCluster), rng.IntN(4), pick(holdShare, holdAll, holdNone))
		p := policytest.Play(t, settings, newTested)
		p.Launchers(1+rng.IntN(4), 1+rng.IntN(4))
		for range 2 + rng.IntN(12) {
			l := cluster.Layer{Bundles: 1 + rng.IntN(20), Groups: groupsOf(1), Run: 1000 * time.Hour}
			if rng.IntN(4) == 0 {
				l.Bundles, l.Groups = 1+rng.IntN(3), groupsOf(1+rng.IntN(3))
			}
			p.At(time.Duration(rng.IntN(60))*time.Second, cluster.Spec{Name: "random", Layers: []cluster.Layer{l}})
		}
		sets := func() (n int) {
			for _, d := range p.Decisions {
				n += len(d.Preempt)
			}
			return n
		}
		p.Until(settled)
		before := sets()
		p.Until(watched)
		if after := sets(); after > before {
			t.Fatalf("seed %d: %d preemptions in the first %s, and %d more until %s:\n%s", seed, before, settled, after-before, watched, settings)
		}
		total += before
	}
	t.Logf("%d sets", total)
	if total < *storms {
		t.Errorf("only %d sets were taken: the games show nothing", total)
	}
}
