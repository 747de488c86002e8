package virtual

import (
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

func at(seconds float64) scheduler.Time {
	return scheduler.Time(0).Add(time.Duration(seconds * float64(time.Second)))
}

// TestFigure1 is the paper's: processor sharing of one server.
func TestFigure1(t *testing.T) {
	c := New(1, 0)
	j1 := c.Add(ID{Job: 1}, Spec{30, 1, 1}, 0)
	c.Advance(at(10))
	j2 := c.Add(ID{Job: 2}, Spec{10, 1, 1}, 0)
	c.Advance(at(15))
	j3 := c.Add(ID{Job: 3}, Spec{10, 1, 1}, 0)
	for j, want := range map[*Job]float64{j1: 50, j2: 37.5, j3: 42.5} {
		if got := c.Finish(j); got != at(want) {
			t.Errorf("job %d finishes at %d, want %v s", j.ID().Job, got, want)
		}
	}
}
