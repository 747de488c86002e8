package hfsp

import (
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/plugins/internal/vectors"
	"github.com/hamadryad/hamadryad/policytest/cluster"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// vector is one case of a file in testdata/vectors.
type vector struct {
	ID, Kind, Origin, Source, Note string
	Job                            struct{ Maps, Reduces int }
	Node                           struct{ MapSlots, ReduceSlots int }
	Expect                         struct{ TasksAssignedOnFirstHeartbeat int }
	Config                         map[string]int
	Steps                          []struct {
		Do     string
		Expect struct{ ReadyForSizeBased, InTraining, InSizeBasedQueue bool }
	}
}

func TestVectors(t *testing.T) {
	vectors.Run(t, map[string]func(*testing.T, vector){"hfsp": upstream})
}

// upstream runs the original's own tests, with map and reduce slots on one node.
func upstream(t *testing.T, v vector) {
	settings := "training-part: 0\n"
	if v.Config["trainer.completed-tasks.map.num-completed"] == 1 {
		settings += "samples: 1\n"
	}
	w := newPlay(t, settings)
	slots := max(v.Node.MapSlots, 1) // one map after another if the node has no slots given
	w.Cluster.Join(1, cluster.Rack(1), 1<<40, scheduler.SlotCount{Kind: "map", Count: slots}, scheduler.SlotCount{Kind: "reduce", Count: max(v.Node.ReduceSlots, 2)})
	m, r := maps(v.Job.Maps, time.Minute), reduces(v.Job.Reduces, time.Hour)
	m.Groups[0].Kind, r.Groups[0].Kind = "map", "reduce"
	w.Cluster.Submit(cluster.Spec{Name: "job", Layers: []cluster.Layer{m, r}})
	if !w.Cluster.Step() {
		t.Fatal("nothing to tell")
	}
	d := w.Round()
	if want := v.Expect.TasksAssignedOnFirstHeartbeat; want > 0 && len(d.Launch) != want {
		t.Errorf("%d tasks are assigned at first, want %d", len(d.Launch), want)
	}
	for i, step := range v.Steps {
		if i == 1 {
			for w.Outcomes(1)[scheduler.Finished] == 0 && w.Cluster.Step() {
				w.Round()
			}
		}
		s := w.stage(1)
		queued := s.job != nil || s.over
		if s.trained != step.Expect.ReadyForSizeBased || s.trains != step.Expect.InTraining || queued != step.Expect.InSizeBasedQueue {
			t.Errorf("%s: trained %t, in training %t, in the virtual cluster %t, want %+v", step.Do, s.trained, s.trains, queued, step.Expect)
		}
	}
}
