package fair

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/plugins/internal/queued"
	"github.com/hamadryad/hamadryad/policytest"
	"github.com/hamadryad/hamadryad/policytest/cluster"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// play is the policy on the manager's core.
type play struct {
	*policytest.Playing[*Policy]
	t *testing.T
}

func newPlay(t *testing.T, settings string) *play {
	t.Helper()
	return &play{policytest.Play(t, makesPools(settings), func() *Policy { return &Policy{} }), t}
}

// makesPools has a pool made for each job that names one, where the settings say nothing of that:
// most tests are about other things, and declare few of their pools.
func makesPools(settings string) string {
	if strings.Contains(settings, "placement:") {
		return settings
	}
	return settings + "\nplacement: {undeclared: create}\n"
}

// job submits single-slot tasks that run about so long.
func (w *play) job(pool string, tasks int, run time.Duration) scheduler.JobID {
	return w.Cluster.Submit(cluster.Spec{
		Name: pool, User: "user-" + pool, Pool: pool,
		Layers: []cluster.Layer{{Bundles: tasks, Groups: []cluster.GroupSpec{{Kind: scheduler.DefaultKind, Slots: 1}}, Run: run}},
	})
}

// gang submits one bundle of several single-slot groups.
func (w *play) gang(pool string, groups int, run time.Duration) scheduler.JobID {
	l := cluster.Layer{Bundles: 1, Run: run}
	for range groups {
		l.Groups = append(l.Groups, cluster.GroupSpec{Kind: scheduler.DefaultKind, Slots: 1})
	}
	return w.Cluster.Submit(cluster.Spec{Name: pool, User: "user-" + pool, Pool: pool, Layers: []cluster.Layer{l}})
}

// holds lists how many slots pools hold.
func (w *play) holds(pools ...string) []int {
	n := make([]int, len(pools))
	for i, path := range pools {
		if x := w.Policy.shares.Pools[path]; x != nil {
			n[i] = x.Node.Of(w.Policy.shares.World.Kind(scheduler.DefaultKind)).Running
		}
	}
	return n
}

// TestQueue: the reported queue is the order in which jobs start, whatever pools there are.
// Deficits grow with time, so that a deficit order's queue holds only for a moment: it is not
// tested.
func TestQueue(t *testing.T) {
	orders := []string{"fair", "fifo", "disco-fair"}
	queued.Run(t, queued.Game{
		Seeds: 100,
		Settings: func(rng *rand.Rand) string {
			return fmt.Sprintf("preemption: {mode: off}\nallocations: {top-order: %s, pools: {a: {weight: %d, order: %s}, b: {min-share: %d, order: %s}, c: {max-share: %d, pools: {x: {}, y: {weight: %d, order: %s}}}}}",
				orders[rng.IntN(3)], 1+rng.IntN(3), orders[rng.IntN(3)], rng.IntN(8), orders[rng.IntN(3)], 1+rng.IntN(12), 1+rng.IntN(3), orders[rng.IntN(3)])
		},
		Job: func(rng *rand.Rand) cluster.Spec {
			pool := []string{"a", "b", "c/x", "c/y", "d"}[rng.IntN(5)]
			return cluster.Spec{Name: pool, User: "ann", Pool: pool, Priority: scheduler.Priority(rng.IntN(5))}
		},
	}, New)
}
