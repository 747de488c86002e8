package policies

import (
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/policytest"
	"github.com/hamadryad/hamadryad/policytest/cluster"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// TestPlaying: a policy that takes over knows the present state, gets no event twice, and learns of
// idle launchers.
func TestPlaying(t *testing.T) {
	p := policytest.Play(t, "", Remember)
	p.Launchers(3, 1)
	job := cluster.Spec{Name: "job", Layers: []cluster.Layer{{Bundles: 2, Groups: []cluster.GroupSpec{{Kind: scheduler.DefaultKind, Slots: 1}}, Run: time.Second}}}
	p.At(0, job)
	p.At(10*time.Second, job)
	p.At(20*time.Second, job)
	p.Until(5 * time.Second)
	p.Restart("")
	launched := 0
	p.Look = func(d scheduler.Decisions) { launched += len(d.Launch) }
	for launched == 0 && p.Cluster.Step() {
		p.Round()
	}
	p.Restart("") // the outcomes of these launches have not been sent
	p.Until(15 * time.Second)
	p.Replace("")
	p.Until(time.Hour)
	if len(p.Sojourn) != 3 || p.Outcomes(3)[scheduler.Finished] != 2 {
		t.Errorf("jobs took %v, and the last ended as %v", p.Sojourn, p.Outcomes(3))
	}
	for id, took := range p.Sojourn {
		if took > 2*time.Second {
			t.Errorf("%s took %s, though two launchers had nothing to do", id, took)
		}
	}
	began := map[scheduler.AttemptID]bool{}
	for _, e := range p.Events {
		if e, ok := e.(scheduler.AttemptStarted); ok {
			if began[e.Attempt] {
				t.Errorf("the start of attempt %d is told twice", e.Attempt)
			}
			began[e.Attempt] = true
		}
	}
	if len(began) != 6 {
		t.Errorf("%d attempts began, want 6", len(began))
	}
}

// TestPlayingTakesTheGivenTimes: an attempt takes as long as its layer says, from launch to end, and
// Until adds no round.
func TestPlayingTakesTheGivenTimes(t *testing.T) {
	p := policytest.Play(t, "", Remember)
	p.Launchers(1, 2)
	layer := cluster.Layer{Bundles: 2, Groups: []cluster.GroupSpec{{Kind: scheduler.DefaultKind, Slots: 1}}, Run: 10 * time.Second}
	reads := layer
	reads.Shuffles, reads.After = true, []int{0}
	p.At(time.Second, cluster.Spec{Name: "job", Layers: []cluster.Layer{layer, reads}})
	p.Until(21*time.Second - 1)
	if len(p.Sojourn) != 0 {
		t.Errorf("the job took %s", p.Sojourn[1])
	}
	p.Until(21 * time.Second)
	if p.Sojourn[1] != 20*time.Second {
		t.Errorf("the job took %s, and its attempts 10s one after the other", p.Sojourn[1])
	}
	before := p.Cluster.Tally.Rounds
	p.Until(time.Hour)
	if p.Cluster.Tally.Rounds != before || p.Cluster.Now() != p.Begin.Add(time.Hour) {
		t.Errorf("%d rounds in an hour without events, and the time is %d", p.Cluster.Tally.Rounds-before, p.Cluster.Now())
	}
}
