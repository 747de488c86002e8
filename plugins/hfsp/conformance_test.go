package hfsp

import (
	"flag"
	"testing"

	"github.com/hamadryad/hamadryad/policytest"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// seeds is how many random games are played with each setting: few where all is tested, many by make hfsp.
var seeds = flag.Int("seeds", 2, "random games with each setting")

func TestConformance(t *testing.T) {
	policytest.Run(t, New, policytest.Options{Seeds: 3 * *seeds, Restarts: 30})
}

// TestConformanceOfEverySetting runs the kit with each choice there is.
func TestConformanceOfEverySetting(t *testing.T) {
	for name, settings := range map[string]string{
		"suspend":  "preempt-maps: suspend\npreempt-reduces: suspend\nsamples: 1\ntask-default: 1s\n",
		"kill":     "preempt-maps: kill\npreempt-reduces: kill\nsamples: 2\ntask-default: 1s\n",
		"wait":     "preempt-reduces: wait\ntask-default: 500ms\nlocality: {mode: nearest}\n",
		"infinite": "xi: .inf\ndelta: 0s\ntraining-part: 0.5\npreempt-maps: suspend\n",
		"plain":    "late: plain\ntask-default: 100ms\ndistribution: exponential\npreempt-maps: kill\n",
		"bound":    "suspended-max: 1\nsuspended-memory: 0.1\npreempt-maps: suspend\ndistribution: normal\n",
		"delay":    "locality: {mode: delay, node-delay: 3s, rack-delay: 1s}\npriority-weight: 1\n",
		"skips":    "locality: {node-skips: 20, rack-skips: 3}\ntraining-part: 0\n",
		"flow":     "locality: {mode: min-cost-flow, node-delay: 3s, rack-delay: 1s, neighbour-bytes: 1000}\npreempt-maps: suspend\n",
		"hammr":    "locality: {mode: min-cost-flow, node-delay: 0s, rack-delay: 0s}\n",
		"blind":    "locality: {mode: none}\n",
		"collect":  "collect-after: 300ms\npreempt-maps: suspend\ntask-default: 0s\n",
	} {
		t.Run(name, func(t *testing.T) {
			policytest.Run(t, New, policytest.Options{NoStories: true, Seeds: *seeds, First: 100, Restarts: 20, Config: scheduler.Config{Text: []byte(settings)}})
		})
	}
}

// TestNoSecondBesideOneThatIsTakenOff: what is offered for a second attempt is not taken off in the
// round that launches that, which the manager would refuse.
func TestNoSecondBesideOneThatIsTakenOff(t *testing.T) {
	c := scheduler.Config{Text: []byte("preempt-maps: suspend\ntask-default: 2s\nsamples: 2\ncollect-after: 300ms\n")}
	policytest.Run(t, New, policytest.Options{NoStories: true, Seeds: 1, First: 9086, Config: c})
}

// TestNothingIsTakenForALaunchThatIsOver: the second attempt of a suspended one finishes their bundle, so that no slots are taken for
// the suspended one, which is being ended.
func TestNothingIsTakenForALaunchThatIsOver(t *testing.T) {
	c := scheduler.Config{Text: []byte("locality: {mode: min-cost-flow, node-delay: 3s, rack-delay: 1s, neighbour-bytes: 1000}\npreempt-maps: suspend\n")}
	policytest.Run(t, New, policytest.Options{NoStories: true, Seeds: 1, First: 100963, Restarts: 2, Config: c})
}

// TestNothingIsTakenOfALaunchThatFailed: a launcher of a gang is lost, and the manager stops the rest of the gang, so that the policy
// does not.
func TestNothingIsTakenOfALaunchThatFailed(t *testing.T) {
	c := scheduler.Config{Text: []byte("late: plain\ntask-default: 100ms\ndistribution: exponential\npreempt-maps: kill\n")}
	policytest.Run(t, New, policytest.Options{NoStories: true, Seeds: 1, First: 101771, Restarts: 2, Config: c})
}
