package workload

import (
	"testing"

	"github.com/hamadryad/hamadryad/plugins/fifo"
)

// What runs is preempted by nobody under FIFO, every job ends, and one seed is one
// history.
func TestPlayIsOneHistory(t *testing.T) {
	w := Random(3)
	a, err := Play(w, fifo.New(), "")
	if err != nil {
		t.Fatal(err)
	}
	if a.Jobs != len(w.Jobs) || a.Preempted != 0 {
		t.Errorf("%d of %d jobs ended, %d attempts were preempted; all and none should be", a.Jobs, len(w.Jobs), a.Preempted)
	}
	tasks := 0
	for _, j := range w.Jobs {
		tasks += len(j.Maps) + len(j.Reduces)
	}
	if a.Attempts != tasks {
		t.Errorf("%d attempts ended of %d tasks", a.Attempts, tasks)
	}
	b, err := Play(Random(3), fifo.New(), "")
	if err != nil || a != b {
		t.Errorf("the same seed gave %+v and then %+v, error %v", a, b, err)
	}
}
