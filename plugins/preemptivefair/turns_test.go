package preemptivefair

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/hamadryad/hamadryad/plugins/internal/queued"
	"github.com/hamadryad/hamadryad/policytest/cluster"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// TestQueue: the reported queue is the order in which jobs start.
func TestQueue(t *testing.T) {
	queued.Run(t, queued.Game{
		Seeds: 100,
		Settings: func(rng *rand.Rand) string {
			return fmt.Sprintf("preemption: none\nhold: none\nwork-conserving: %t\n", rng.IntN(3) > 0)
		},
		Job: func(rng *rand.Rand) cluster.Spec {
			return cluster.Spec{Name: "job", User: "ann", Priority: scheduler.Priority(rng.IntN(5))}
		},
	}, New)
}
