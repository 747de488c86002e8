package placement

import (
	"encoding/json"
	"testing"

	"github.com/hamadryad/hamadryad/plugins/internal/vectors"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

func TestVectors(t *testing.T) {
	vectors.Run(t, map[string]func(*testing.T, vector){"node-load-cap": loadCap, "node-can-assign": canAssign})
}

// vector is a case of the original's tests of load managers.
type vector struct {
	ID, Kind, Origin, Source, Note string
	AppliesTo                      []string
	TotalSlots, MaxDiff            float64
	RunnableTasks, NodeSlots       int
	ExpectedCap, NodeRunning       int
	Expected                       json.RawMessage
}

func loadCap(t *testing.T, v vector) {
	crowd := Crowd{Runnable: v.RunnableTasks, Total: int(v.TotalSlots)}
	if got := levelCap(v.NodeSlots, crowd, v.MaxDiff); got != v.ExpectedCap {
		t.Errorf("cap %d, want %d", got, v.ExpectedCap)
	}
}

func canAssign(t *testing.T, v vector) {
	for _, kind := range v.AppliesTo {
		l := &view.Launcher{Slots: []scheduler.SlotCount{{Kind: kind, Count: v.NodeSlots}}}
		got := v.NodeRunning < levelSlots{v.MaxDiff}.Cap(l, kind, Crowd{Runnable: v.RunnableTasks, Total: int(v.TotalSlots)})
		if want := string(v.Expected) == "true"; got != want {
			t.Errorf("can assign a %s: %t, want %t", kind, got, want)
		}
	}
}
