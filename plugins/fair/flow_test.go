package fair

import (
	"slices"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/policytest/cluster"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// TestGangsWaitForTheirInput: with min-cost-flow as long as a single bundle would, and no longer.
func TestGangsWaitForTheirInput(t *testing.T) {
	for settings, want := range map[string][]int{
		"locality: {mode: min-cost-flow, node-delay: 10s, rack-delay: 10s}": {0, 2, 0}, // at its input, when that is free
		"locality: {mode: min-cost-flow, node-delay: 1s, rack-delay: 1s}":   {0, 0, 2}, // elsewhere, when it has waited
		"locality: {node-delay: 10s, rack-delay: 10s}":                      {2, 0, 2}, // gangs do not wait
	} {
		w := newPlay(t, settings)
		w.Cluster.Join(1, "r1", 1<<40, scheduler.SlotCount{Kind: scheduler.DefaultKind, Count: 2})
		w.Cluster.Submit(cluster.Spec{Pool: "first", Layers: []cluster.Layer{{
			Bundles: 2, Run: 5 * time.Second, Groups: []cluster.GroupSpec{{Kind: scheduler.DefaultKind, Slots: 1}},
		}}})
		w.Until(100 * time.Millisecond)
		w.Cluster.Join(2, "r2", 1<<40, scheduler.SlotCount{Kind: scheduler.DefaultKind, Count: 2})
		gang := w.Cluster.Submit(cluster.Spec{Pool: "gang", Layers: []cluster.Layer{{
			Bundles: 1, Run: time.Hour, Hosts: []scheduler.LauncherID{1},
			Groups: []cluster.GroupSpec{{Kind: scheduler.DefaultKind, Slots: 1}, {Kind: scheduler.DefaultKind, Slots: 1}},
		}}})
		w.Until(time.Second)
		soon := len(w.Policy.shares.Jobs[gang].Attempts())
		if x, err := w.Policy.Explain(gang); soon == 0 && (err != nil || x.Reason != scheduler.WaitLocality) {
			t.Errorf("%s: the gang waits because %q, %v", settings, x.Detail, err)
		}
		w.Until(20 * time.Second)
		got := []int{soon, 0, 0}
		for _, a := range w.Policy.shares.Jobs[gang].Attempts() {
			got[a.Launcher]++
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: after a second %d groups run, in the end %d and %d on the launchers, want %v", settings, got[0], got[1], got[2], want)
		}
	}
}
