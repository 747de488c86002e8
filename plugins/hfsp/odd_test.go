package hfsp

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/policytest"
	"github.com/hamadryad/hamadryad/policytest/cluster"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// odd is the policy, to which attempts report progress that none can have.
type odd struct {
	*Policy
	progress []float64 // one after another
	told     int
}

func (o *odd) AssignTasks(r scheduler.Round) (scheduler.Decisions, error) {
	for i, e := range r.Events {
		if e, ok := e.(scheduler.AttemptProgress); ok && len(o.progress) > 0 {
			e.Progress = o.progress[o.told%len(o.progress)]
			r.Events[i] = e
			o.told++
		}
	}
	return o.Policy.AssignTasks(r)
}

// TestOddTasks: tasks that take no time, and progress that goes back, beyond 1, is no number or never comes.
// Every job ends, and all sizes, shares and finishes are numbers in each round.
func TestOddTasks(t *testing.T) {
	for name, progress := range map[string][]float64{
		"sound":     nil,
		"backwards": {0.9, 0.5, 0.1},
		"over 1":    {7, 1.5, math.Inf(1)},
		"below 0":   {-1, math.Inf(-1)},
		"no number": {math.NaN()},
		"never":     {0},
	} {
		for _, run := range []time.Duration{1, 30 * time.Second} {
			for _, settings := range []string{"delta: 0s\npreempt-maps: suspend\n", "samples: 1\nxi: .inf\ntask-default: 0s\ndelta: 0s\n", "distribution: exponential\nlate: plain\npreempt-maps: kill\n"} {
				what := fmt.Sprintf("progress %s, tasks of %s, %q", name, run, settings)
				p := policytest.Play(t, settings, func() *odd { return &odd{Policy: &Policy{}, progress: progress} })
				p.Launchers(2, 3)
				shuffles := reduces(5, 2*run)
				shuffles.After = []int{0}
				p.At(0, cluster.Spec{Name: "maps", Layers: []cluster.Layer{maps(4, run), shuffles}})
				p.At(time.Second, cluster.Spec{Name: "shuffles", Layers: []cluster.Layer{reduces(8, run)}})
				p.At(2*time.Second, cluster.Spec{Name: "small", Layers: []cluster.Layer{maps(2, run)}})
				p.Look = func(scheduler.Decisions) { numbers(t, what, p.Policy.Policy) }
				p.Until(24 * time.Hour)
				if len(p.Sojourn) != 3 || t.Failed() {
					t.Fatalf("%s: %d of 3 jobs ended", what, len(p.Sojourn))
				}
				if p.Policy.told == 0 && run > 1 && len(progress) > 0 {
					t.Errorf("%s: none was told", what)
				}
			}
		}
	}
}

// numbers checks all that is counted with.
func numbers(t *testing.T, what string, p *Policy) {
	t.Helper()
	for _, j := range p.view.Jobs() {
		for _, w := range p.index.Stages(j.ID()) {
			s := of(w)
			sound := s.size >= 0
			if s.job != nil {
				sound = sound && s.job.Done() >= 0 && s.job.Remaining() >= 0 && s.job.Share() >= 0 && s.kind.cluster.Finish(s.job) > 0
			}
			if s.Came && !sound {
				t.Errorf("%s: %s stage %d has size %v", what, j.ID(), w.ID(), s.size)
			}
		}
	}
	if s, err := p.Status(); err != nil || s.Check() != nil {
		t.Errorf("%s: status %v, %v", what, err, s.Check())
	}
}
