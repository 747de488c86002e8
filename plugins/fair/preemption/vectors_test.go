package preemption

import (
	"fmt"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/plugins/fair/allocation"
	"github.com/hamadryad/hamadryad/plugins/fair/shares"
	"github.com/hamadryad/hamadryad/plugins/internal/vectors"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/shares/pooltree"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

func TestVectors(t *testing.T) {
	vectors.Run(t, map[string]func(*testing.T, vector){"preemption-count": preemptionCount})
}

// vector is a case of the original's tests of how much a pool takes back.
type vector struct {
	ID, Kind, Origin, Source, Note string
	Demand, Running, MinShare      int
	FairShare                      float64
	MsSinceAtMinShare              int64
	MsSinceAtHalfFairShare         int64
	MinShareTimeoutMs              *int64
	FairShareTimeoutMs             *int64
	ExpectedTasksToPreempt         int
	StarvedForMinShare             bool
	StarvedForFairSh               bool `json:"starvedForFairShare"`
}

// one is a state at a time with a single pool p, by its settings.
func one(t *testing.T, now scheduler.Time, settings string) (*State, *shares.Pool) {
	t.Helper()
	config, err := allocation.Parse(scheduler.Config{Text: []byte("allocations: {pools: {p: {" + settings + "}}}")}, allocation.Parts{})
	if err != nil {
		t.Fatal(err)
	}
	v := &view.View{}
	if err := v.Start(scheduler.Snapshot{Now: now}); err != nil {
		t.Fatal(err)
	}
	s, p := &shares.State{}, &State{Advanced: now}
	s.Start(v, nil)
	p.Start(s, scheduler.Limits{GraceMax: time.Minute})
	s.Rebuild(&config)
	p.Configure()
	return p, s.Pools["p"]
}

// preemptionCount makes one pool with these shares and asks what it is due.
func preemptionCount(t *testing.T, v vector) {
	const now = scheduler.Time(time.Hour)
	ago := func(ms int64) scheduler.Time { return now - scheduler.Time(ms)*scheduler.Time(time.Millisecond) }
	settings := fmt.Sprintf("min-share: {map: %d}", v.MinShare)
	for name, ms := range map[string]*int64{"min-share-timeout": v.MinShareTimeoutMs, "fair-share-timeout": v.FairShareTimeoutMs} {
		if ms != nil {
			settings += fmt.Sprintf(", %s: %dms", name, *ms)
		}
	}
	p, x := one(t, now, settings)
	k := p.World.Kind("map")
	p.Tree.AddJob(x.Node, pooltree.Job{ID: 1}).Of(k).Set(v.Running, v.Demand-v.Running)
	s := x.Node.Of(k)
	s.Share = v.FairShare
	var since Since
	if belowMin(s) {
		since.Min = ago(v.MsSinceAtMinShare)
	}
	if belowFair(s, 0.5) {
		since.Fair = ago(v.MsSinceAtHalfFairShare)
	}
	p.starved[of{x, k}] = since
	if got := p.Due(x, k); got != v.ExpectedTasksToPreempt {
		t.Errorf("%d slots are due, want %d", got, v.ExpectedTasksToPreempt)
	}
	if belowMin(s) != v.StarvedForMinShare || belowFair(s, 0.5) != v.StarvedForFairSh {
		t.Errorf("below its minimum %t, below half its share %t", belowMin(s), belowFair(s, 0.5))
	}
}
