package hfsp

import (
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/plugins/hfsp/estimation"
	"github.com/hamadryad/hamadryad/policytest"
	"github.com/hamadryad/hamadryad/policytest/cluster"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

func init() {
	estimation.Estimators.Register("told", func(estimation.Settings) estimation.Estimator { return told{} })
}

// told takes jobs that are called small to have tasks of a second, and all others to have
// tasks of an hour. It needs no samples, learns nothing and keeps nothing.
type told struct{}

var _ estimation.Estimator = told{}

func (told) Configure(estimation.Settings)                                        {}
func (told) Came(*estimation.Stage)                                               {}
func (told) Gone(*estimation.Stage, uint64) bool                                  { return false }
func (told) Finished(*estimation.Stage, uint64, estimation.Measure)               {}
func (told) Training(*estimation.Stage) estimation.Training                       { return estimation.Training{} }
func (told) Progress(*estimation.Stage, uint64, estimation.Measure, float64) bool { return false }
func (told) Size(s *estimation.Stage) (slotSeconds float64, trained bool) {
	seconds := 3600.
	if strings.HasPrefix(s.Job.Name, "small") {
		seconds = 1
	}
	return seconds * float64(s.Tasks*s.Slots), true
}

// sizes returns the sizes of the first stages of the first jobs.
func (w *play) sizes(jobs int) (all []float64) {
	for id := range jobs {
		all = append(all, w.stage(scheduler.JobID(id+1)).size) //nolint:gosec // it is not negative
	}
	return all
}

// The policy decides by the estimator that its settings name, also where they come to name another
// while jobs run, and where a restart has a checkpoint of another.
func TestTheEstimatorIsReplaced(t *testing.T) {
	w := newPlay(t, "estimator: told\n")
	w.Launchers(1, 2)
	for _, name := range []string{"large", "small", "small too"} {
		w.Cluster.Submit(cluster.Spec{Name: name, Layers: []cluster.Layer{maps(4, 10*time.Second)}})
	}
	w.Until(time.Second)
	equal(t, "sizes by what the jobs are called", w.sizes(3), []float64{4 * 3600, 4, 4})
	w.Until(15 * time.Second)
	if n := w.stage(1).Held; n != 0 {
		t.Errorf("the large job has %d slots, though small ones wait", n)
	}
	x, err := w.Policy.Explain(1)
	if err != nil || !strings.Contains(x.Detail, "its size is 14400.0 slot-seconds, by 0 of 0 samples") {
		t.Errorf("it says %q (%v)", x.Detail, err)
	}
	w.Cluster.Settings(scheduler.Config{Text: []byte("estimator: sampling\n")}, cluster.MustAccept)
	w.Until(16 * time.Second)
	equal(t, "sizes by the default", w.sizes(3), []float64{4 * 60, 4 * 60, 4 * 60})
	w.Until(32 * time.Second)
	if len(w.Policy.past()) != 1 {
		t.Errorf("after the change tasks taught it %v", w.Policy.past())
	}
	c := w.Checkpoint()
	for settings, want := range map[string]int{"estimator: sampling\n": 1, "": 1, "estimator: told\n": -1} {
		p := &Policy{}
		if _, err := p.Start(scheduler.Config{Text: []byte(settings)}, scheduler.Snapshot{Now: w.Cluster.Now(), Checkpoint: c}, policytest.Environment()); err != nil {
			t.Fatal(err)
		}
		switch e := p.estimator.(type) {
		case *estimation.Sampling:
			if len(e.Past) != want {
				t.Errorf("%q: a restart knows %v", settings, e.Past)
			}
		case told:
			if want != -1 {
				t.Errorf("%q: a restart has another estimator", settings)
			}
		}
		if len(p.notes) > 0 {
			t.Errorf("%q: a restart notes %s", settings, p.notes[0].Body)
		}
	}
}
