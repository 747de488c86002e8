package preemptivefair

import (
	"testing"

	"github.com/hamadryad/hamadryad/policytest"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

func TestConformance(t *testing.T) {
	policytest.Run(t, New, policytest.Options{Seeds: 20})
}

// TestConformanceOfEverySetting runs the kit with each choice there is.
func TestConformanceOfEverySetting(t *testing.T) {
	for name, settings := range map[string]string{
		"paper":    paper,
		"priority": "only-higher-priority: true\njob-loses: lowest-priority\nattempt-loses: newest\nhold-max: 200ms\n",
		"soft":     "mode: soft\ngrace: 2s\njob-loses: furthest-over-share\nattempt-loses: newest-in-cluster\nhold: all\nhold-max: 2s\n",
		"suspend":  "mode: suspend\nattempt-loses: least-progress\nhold: none\n",
		"data":     "attempt-loses: newcomer-data\nwork-conserving: false\n",
		"asked":    "preemption: asked\nhold-max: 30s\n",
		"none":     "preemption: none\n",
		"once":     "times-max: 1\n",
		"flow":     "locality: {mode: min-cost-flow, neighbour-bytes: 1000}\ncollect-after: 500ms\n",
		"blind":    "locality: {mode: none}\nmode: suspend\n",
	} {
		t.Run(name, func(t *testing.T) {
			policytest.Run(t, New, policytest.Options{Seeds: 4, First: 100, Config: scheduler.Config{Text: []byte(settings)}, Properties: []scheduler.Property{
				{Name: "preempt", Value: "true"}, {Name: "preempt", Value: "false"}, {Name: "preempt", Value: "maybe"}, {Name: "preemptible", Value: "false"},
			}})
		})
	}
}

// TestNoSecondBesideOneThatIsTakenOff: what is offered for a second attempt is not taken off in the
// round that launches that, which the manager would refuse.
func TestNoSecondBesideOneThatIsTakenOff(t *testing.T) {
	policytest.Run(t, New, policytest.Options{NoStories: true, Seeds: 1, First: 9047, Config: scheduler.Config{Text: []byte("mode: suspend\n")}})
}
