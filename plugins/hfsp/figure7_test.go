package hfsp

import (
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// figure7 plays the workload of the paper's figure 7: four launchers of two slots; the first job,
// of 11 tasks of 500 s, comes at 140 s, the second, of two tasks of 400 s, and three of one, at
// 150 s.
func figure7(t *testing.T, settings string) (w *play, suspended int) {
	w = newPlay(t, settings)
	w.Launchers(4, 2)
	w.at(140*time.Second, reduces(11, 500*time.Second))
	for _, n := range []int{2, 1, 1, 1} {
		w.at(150*time.Second, reduces(n, 400*time.Second))
	}
	w.Until(160 * time.Second)
	suspended = w.Cluster.Tally.Suspensions
	w.Until(3 * time.Hour)
	if len(w.Sojourn) != 5 {
		t.Fatalf("%d of 5 jobs ended", len(w.Sojourn))
	}
	return w, suspended
}

// TestFigure7 counts who gives way. How long all takes is held against the figure on the manager's core
// (laboratory/experiments/hfsp-preemption.yaml); the kit draws how long tasks take.
func TestFigure7(t *testing.T) {
	eager, suspended := figure7(t, "")
	if c := eager.Cluster.Tally; suspended != 5 || c.Resumptions != c.Suspensions || eager.Outcomes(1)[scheduler.Finished] != 11 {
		t.Errorf("suspend: %d when the others came, %+v", suspended, c)
	}
	wait, _ := figure7(t, "preempt-reduces: wait\n")
	if wait.Cluster.Tally.Preemptions != 0 || wait.mean() < eager.mean()*5/4 {
		t.Errorf("wait: %+v, mean sojourn %v, with suspension %v", wait.Cluster.Tally, wait.mean(), eager.mean())
	}
	// Three of the eight are no samples; samples are not killed. With few of them, as many are killed as the others need.
	for settings, want := range map[string]int{"": 3, "samples: 3\n": 5} {
		w, _ := figure7(t, "preempt-reduces: kill\n"+settings)
		if n := w.Outcomes(1)[scheduler.Preempted]; n != want || w.Outcomes(1)[scheduler.Finished] != 11 {
			t.Errorf("kill, %q: %d attempts were killed, want %d", settings, n, want)
		}
	}
}
