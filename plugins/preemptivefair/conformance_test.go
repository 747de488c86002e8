package preemptivefair

import (
	"testing"

	"github.com/hamadryad/hamadryad/plugins/internal/variants"
	"github.com/hamadryad/hamadryad/policytest"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

func TestConformance(t *testing.T) {
	policytest.Run(t, New, policytest.Options{Seeds: 20})
}

// TestConformanceOfEverySetting runs the kit with each choice there is.
func TestConformanceOfEverySetting(t *testing.T) {
	for _, v := range variants.Of("preemptive-fair")[1:] {
		t.Run(v.Name, func(t *testing.T) {
			policytest.Run(t, New, policytest.Options{Seeds: 4, First: 100, Config: v.Config(), Properties: variants.Properties})
		})
	}
}

// TestNoSecondBesideOneThatIsTakenOff: what is offered for a second attempt is not taken off in the
// round that launches that, which the manager would refuse.
func TestNoSecondBesideOneThatIsTakenOff(t *testing.T) {
	policytest.Run(t, New, policytest.Options{NoStories: true, Seeds: 1, First: 9047, Config: scheduler.Config{Text: []byte("mode: suspend\n")}})
}

// TestResumedAttemptsCountForTheirUser: the manager resumes an attempt of a user who has a limit. It tells so at once, and
// the policy launches nothing beside it that the limit does not allow.
func TestResumedAttemptsCountForTheirUser(t *testing.T) {
	policytest.Run(t, New, policytest.Options{NoStories: true, Seeds: 1, First: 415, Config: scheduler.Config{Text: []byte("mode: suspend\n")}})
}
