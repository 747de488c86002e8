package fair

import (
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/plugins/fair/preemption"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// TestExhaustedVictims: a pool below its fair share does not take what was preempted too often, or
// a short while ago, and Explain says so. One below its minimum share does.
func TestExhaustedVictims(t *testing.T) {
	for _, c := range []struct {
		settings, wants string
		held            int
	}{
		{"fair-share-timeout: 2s}\npreemption: {interval: 1s, times-max: 1}", "pool b lacks 1 default slots of its fair share", 0},
		{"fair-share-timeout: 2s}\npreemption: {interval: 1s, times-max: 1}", "2 were preempted 1 times (times-max)", 0},
		{"fair-share-timeout: 2s}\npreemption: {interval: 1s, times-max: 0}", "2 were preempted less than 1m0s ago (protect)", 0},
		{"fair-share-timeout: 2s}\npreemption: {interval: 1s, times-max: 0, protect: 0s}", "", 1},
		{"min-share-timeout: 2s, pools: {b: {min-share: 1}}}\npreemption: {interval: 1s, times-max: 1}", "", 1},
		{"min-share-timeout: 2s, pools: {a: {min-share: 9}, b: {min-share: 9}, c: {min-share: 9}}}\npreemption: {interval: 1s, times-max: 1}", "", 1},
	} {
		w := newPlay(t, "allocations: {"+c.settings)
		w.Launchers(1, 2)
		w.job("a", 2, time.Hour)
		w.Until(time.Second)
		for _, a := range w.Policy.view.Jobs()[0].Attempts() {
			w.Policy.preemption.Spared[a.Bundle.ID] = preemption.Spared{Times: 1, Until: w.Policy.view.Now().Add(w.Policy.config.Protect)}
		}
		b := w.job("b", 2, time.Hour)
		w.Until(30 * time.Second)
		x, err := w.Policy.Explain(b)
		if held := w.Policy.view.Job(b).Held(scheduler.DefaultKind); err != nil || held != c.held || !strings.Contains(x.Detail, c.wants) {
			t.Errorf("%s: b holds %d slots, want %d; Explain says %q, %v, want %q", c.settings, held, c.held, x.Detail, err, c.wants)
		}
	}
}
