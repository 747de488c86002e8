package fair

import (
	"testing"

	"github.com/hamadryad/hamadryad/plugins/internal/variants"
	"github.com/hamadryad/hamadryad/policytest"
)

func TestConformance(t *testing.T) {
	policytest.Run(t, New, policytest.Options{Seeds: 20})
}

// TestConformanceOfForgottenLoads: settings do without loads for a while, and ask for them
// again. What was known before is known no more, as it is not after a restart.
func TestConformanceOfForgottenLoads(t *testing.T) {
	c := variants.Named("fair", "load").Config()
	policytest.Run(t, New, policytest.Options{NoStories: true, Seeds: 12, First: 5020, Config: c})
}

// TestRestartsBetweenUpdates: a policy that starts again takes back the same slots. One game loses the only launcher that can't
// suspend, and in the other one slots are taken back between two updates of shares.
func TestRestartsBetweenUpdates(t *testing.T) {
	for seed, name := range map[uint64]string{100480: "suspend", 101827: "unprotected"} {
		c := variants.Named("fair", name).Config()
		policytest.Run(t, New, policytest.Options{NoStories: true, Seeds: 1, First: seed, Restarts: 2, Config: c, Properties: variants.Properties})
	}
}

// TestNobodyIsTakenWhoIsProtected by the manager, though the policy's own settings spare
// nobody.
func TestNobodyIsTakenWhoIsProtected(t *testing.T) {
	c := variants.Named("fair", "unprotected").Config()
	r := policytest.Run(t, New, policytest.Options{NoStories: true, Seeds: 12, First: 7000, Restarts: 2, Config: c})
	if r.Tally.Preemptions == 0 || r.Tally.Protected > 0 {
		t.Errorf("%d preemptions were accepted, and %d refused because a victim was protected", r.Tally.Preemptions, r.Tally.Protected)
	}
}

// TestConformanceOfEverything runs the kit with all that the policy can remember
// or take back, so impatient that it does so all the time.
func TestConformanceOfEverything(t *testing.T) {
	for _, v := range variants.Of("fair")[1:] {
		t.Run(v.Name, func(t *testing.T) {
			policytest.Run(t, New, policytest.Options{Seeds: 8, First: 100, Config: v.Config()})
		})
	}
}
