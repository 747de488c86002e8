package shares

import (
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/plugins/internal/vectors"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

func TestVectors(t *testing.T) {
	vectors.Run(t, map[string]func(*testing.T, vector){"size-based-weight": bySize, "priority-weight": byPriority, "new-job-boost": boost})
}

// vector is a case of the original's tests of weights.
type vector struct {
	ID, Kind, Origin, Source, Note string
	Demand                         int
	ExpectedWeight, BaseWeight     float64
	Priority                       string
	AgeMs                          int64
}

func bySize(t *testing.T, v vector) {
	near(t, "weight", sizeWeight(v.Demand), v.ExpectedWeight, 1e-6)
}

func byPriority(t *testing.T, v vector) {
	near(t, "weight", priorityWeight(vectors.Priority(t, v.Priority)), v.ExpectedWeight, 0)
}

func boost(t *testing.T, v vector) {
	now := scheduler.Time(0).Add(time.Duration(v.AgeMs) * time.Millisecond)
	got, _ := newJobBoost{3, 5 * time.Minute}.Adjust(&scheduler.Job{}, v.BaseWeight, now)
	near(t, "weight", got, v.ExpectedWeight, 0)
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if got < want-tolerance || got > want+tolerance {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}
