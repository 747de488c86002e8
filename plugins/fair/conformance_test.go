package fair

import (
	"testing"

	"github.com/hamadryad/hamadryad/policytest"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

func TestConformance(t *testing.T) {
	policytest.Run(t, New, policytest.Options{Seeds: 20})
}

// TestConformanceOfForgottenLoads: settings do without loads for a while, and ask for them
// again. What was known before is known no more, as it is not after a restart.
func TestConformanceOfForgottenLoads(t *testing.T) {
	c := scheduler.Config{Text: []byte("load: {manager: load, cpu-max: 0.6, memory-max: 0.8}\nallocations: {min-share-timeout: 1s, fair-share-timeout: 2s, pools: {pool-0: {min-share: 3}}}\ncollect-after: 1s\nplacement: {undeclared: create}\n")}
	policytest.Run(t, New, policytest.Options{NoStories: true, Seeds: 12, First: 5020, Config: c})
}

// TestRestartsBetweenUpdates: a policy that starts again takes back the same slots. One game loses the only launcher that can't
// suspend, and in the other one slots are taken back between two updates of shares.
func TestRestartsBetweenUpdates(t *testing.T) {
	for seed, settings := range map[uint64]string{
		100480: "allocations: {fair-share-timeout: 0s, order: disco-fair}\npreemption: {mode: suspend, interval: 1s}\nweights: {size-based: true, adjuster: new-job-boost, boost-duration: 5s}\nload: {manager: level-slots, max-difference: 0.2}\n",
		101827: "allocations: {fair-share-timeout: 200ms, order: disco-fair}\nupdate-interval: 100ms\npreemption: {interval: 300ms, fair-share-threshold: 1, protect: 0s}\n",
	} {
		c := scheduler.Config{Text: []byte("placement: {undeclared: create}\n" + settings)}
		policytest.Run(t, New, policytest.Options{NoStories: true, Seeds: 1, First: seed, Restarts: 2, Config: c, Properties: []scheduler.Property{
			{Name: "preempt", Value: "true"}, {Name: "preempt", Value: "false"}, {Name: "preempt", Value: "maybe"}, {Name: "preemptible", Value: "false"},
		}})
	}
}

// TestNobodyIsTakenWhoIsProtected by the manager, though the policy's own settings spare
// nobody.
func TestNobodyIsTakenWhoIsProtected(t *testing.T) {
	c := scheduler.Config{Text: []byte("allocations: {fair-share-timeout: 200ms, order: disco-fair}\nupdate-interval: 100ms\npreemption: {interval: 300ms, fair-share-threshold: 1, protect: 0s}\nplacement: {undeclared: create}\n")}
	r := policytest.Run(t, New, policytest.Options{NoStories: true, Seeds: 12, First: 7000, Restarts: 2, Config: c})
	if r.Tally.Preemptions == 0 || r.Tally.Protected > 0 {
		t.Errorf("%d preemptions were accepted, and %d refused because a victim was protected", r.Tally.Preemptions, r.Tally.Protected)
	}
}

// TestConformanceOfEverything runs the kit with all that the policy can remember
// or take back, so impatient that it does so all the time.
func TestConformanceOfEverything(t *testing.T) {
	for name, settings := range map[string]string{
		"kill":         "allocations: {min-share-timeout: 200ms, fair-share-timeout: 500ms, pools: {pool-0: {min-share: 3, weight: 2}, pool-1: {order: fifo, max-share: 6}}}\nupdate-interval: 100ms\npreemption: {interval: 300ms, fair-share-threshold: 1, protect: 25s}\n",
		"soft":         "allocations: {fair-share-timeout: 1s, order: deficit, pools: {pool-0: {min-share: {default: 2, special: 1}}}}\npreemption: {mode: soft, grace: 2s, interval: 1s}\nlocality: {node-delay: 3s, rack-delay: 1s}\n",
		"suspend":      "allocations: {fair-share-timeout: 0s, order: disco-fair}\npreemption: {mode: suspend, interval: 1s}\nweights: {size-based: true, adjuster: new-job-boost, boost-duration: 5s}\nload: {manager: level-slots, max-difference: 0.2}\n",
		"collect":      "collect-after: 300ms\nallocations: {order: deficit, fair-share-timeout: 3s}\n",
		"flow":         "collect-after: 2s\nlocality: {mode: min-cost-flow, neighbour-bytes: 1000}\nallocations: {order: disco-fair, fair-share-timeout: 2s, pools: {pool-0: {max-share: 6}}}\n",
		"hammr":        "collect-after: 1s\nlocality: {mode: min-cost-flow, node-delay: 0s, rack-delay: 0s}\nallocations: {pools: {pool-0: {max-share: 6}}}\n",
		"limits":       "allocations: {pool-running-jobs-max: 2, user-running-jobs-max: 1, order: disco-fair}\nplacement: {rules: [explicit, user, default], undeclared: create}\nlocality: {mode: none}\n",
		"nested":       "allocations: {pools: {pool-0: {pools: {a: {}, default: {order: deficit}}}, pool-1: {parent: pool-0, min-share: 2}}, fair-share-timeout: 2s}\npreemption: {dry-run: true}\n",
		"load":         "load: {manager: load, cpu-max: 0.6, memory-max: 0.8}\ncollect-after: 1s\nallocations: {min-share-timeout: 1s, fair-share-timeout: 2s, pools: {pool-0: {min-share: 3}}}\n",
		"flow by load": "load: {manager: load, cpu-max: 0.3}\nlocality: {mode: min-cost-flow}\ncollect-after: 0s\nallocations: {order: deficit}\n",
		"own":          "allocations: {pools: {pool-0: {}}}\n",
		"refuse":       "allocations: {pools: {pool-0: {}}}\nplacement: {rules: [explicit, default], undeclared: refuse}\n",
	} {
		t.Run(name, func(t *testing.T) {
			policytest.Run(t, New, policytest.Options{Seeds: 8, First: 100, Config: scheduler.Config{Text: []byte(conformed(name, settings))}})
		})
	}
}

// conformed has the kit's pools made, but for the game that is about what is refused by default.
func conformed(name, settings string) string {
	if name == "own" {
		return settings
	}
	return makesPools(settings)
}
