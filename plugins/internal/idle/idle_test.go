// Package idle holds all policies of the project to one rule: no slot idles for longer than a
// heartbeat while ready work fits it, unless the policy has a reason.
package idle

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/hamadryad/hamadryad/plugins/drf"
	"github.com/hamadryad/hamadryad/plugins/dynamicpriority"
	"github.com/hamadryad/hamadryad/plugins/fair"
	"github.com/hamadryad/hamadryad/plugins/fifo"
	"github.com/hamadryad/hamadryad/plugins/hfsp"
	"github.com/hamadryad/hamadryad/plugins/preemptivefair"
	"github.com/hamadryad/hamadryad/policytest"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

var (
	seeds = flag.Int("seeds", 6, "random clusters for each policy")
	from  = flag.Uint64("from", 20_000, "the first seed")
)

// before are seeds at which a policy gave a wrong reason once: what was collected for a bundle
// beside slots that are held for a job between its stages.
var before = []uint64{2609, 8001, 9166, 9806, 9945}

// beforeFlow are seeds, with launches that are placed together, at which hfsp suspended what was left of a launch
// that had failed.
var beforeFlow = []uint64{878, 958}

// policies are the project's policies that have settings of locality.
var policies = map[string]func() scheduler.TaskScheduler{
	"fifo": fifo.New, "fair": fair.New, "preemptive-fair": preemptivefair.New, "hfsp": hfsp.New, "dynamic-priority": dynamicpriority.New,
}

// problemsMax bounds the problems shown for one policy.
const problemsMax = 5

// TestNoSlotIdles plays random clusters with each policy: jobs of all shapes, failures, lost,
// drained and avoided launchers. The kit finds slots that idle. Most seeds collect slots soon, and
// half of them have the launches of a round placed together.
func TestNoSlotIdles(t *testing.T) {
	all := maps.Clone(policies)
	all["drf"] = drf.New
	for name, fresh := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			problems := 0
			list := slices.Concat(before, beforeFlow)
			for i := range uint64(*seeds) { //nolint:gosec // it is not negative
				list = append(list, *from+i)
			}
			for _, seed := range list {
				settings := ""
				if n := seed % 4; n > 0 {
					settings = fmt.Sprintf("collect-after: %ds\n", n*n)
				}
				if name == "fair" {
					settings += "placement: {undeclared: create}\n" // of the games' jobs
				}
				if (seed >= *from && seed/2%2 == 1 || slices.Contains(beforeFlow, seed)) && name != "drf" { // which has no such setting
					settings += "locality: {mode: min-cost-flow}\n"
				}
				r := policytest.Check(t.Context(), policytest.InProcess(fresh), policytest.Options{
					NoStories: true, Seeds: 1, First: seed, Restarts: -1, Config: scheduler.Config{Text: []byte(settings)},
				})
				if err := r.Err(); err != nil {
					t.Errorf("-from=%d -seeds=1 -run=TestNoSlotIdles/%s: %v", seed, name, err)
					if problems++; problems == problemsMax {
						return
					}
				}
			}
		})
	}
}
