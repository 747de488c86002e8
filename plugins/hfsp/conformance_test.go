package hfsp

import (
	"flag"
	"testing"

	"github.com/hamadryad/hamadryad/plugins/internal/variants"
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
	for _, v := range variants.Of("hfsp")[1:] {
		t.Run(v.Name, func(t *testing.T) {
			policytest.Run(t, New, policytest.Options{NoStories: true, Seeds: *seeds, First: 100, Restarts: 20, Config: v.Config()})
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
	c := variants.Named("hfsp", "flow").Config()
	policytest.Run(t, New, policytest.Options{NoStories: true, Seeds: 1, First: 100963, Restarts: 2, Config: c})
}

// TestNothingIsTakenOfALaunchThatFailed: a launcher of a gang is lost, and the manager stops the rest of the gang, so that the policy
// does not.
func TestNothingIsTakenOfALaunchThatFailed(t *testing.T) {
	c := variants.Named("hfsp", "plain").Config()
	policytest.Run(t, New, policytest.Options{NoStories: true, Seeds: 1, First: 101771, Restarts: 2, Config: c})
}
