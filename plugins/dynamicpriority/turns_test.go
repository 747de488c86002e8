package dynamicpriority

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/plugins/internal/queued"
	"github.com/hamadryad/hamadryad/policytest/cluster"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// TestQueue: the queue that is told is the order in which jobs start. With a collect-after it holds for as long as that
// takes: it is not played.
func TestQueue(t *testing.T) {
	queued.Run(t, queued.Game{
		Seeds: 100, Asked: 15 * time.Second,
		Settings: func(*rand.Rand) string { return "alloc-interval: 10s\ncollect-after: 0s\n" },
		Job: func(rng *rand.Rand) cluster.Spec {
			return cluster.Spec{Name: "job", User: []string{"ann", "bob", "cem"}[rng.IntN(3)], Priority: scheduler.Priority(rng.IntN(5))}
		},
	}, New)
}
