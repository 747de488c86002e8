package dynamicpriority

import (
	"testing"

	"github.com/hamadryad/hamadryad/plugins/internal/variants"
	"github.com/hamadryad/hamadryad/policytest"
)

func TestConformance(t *testing.T) {
	policytest.Run(t, New, policytest.Options{Seeds: 20})
}

// TestConformanceOfEverySetting runs the kit with intervals so short that accounts close and slots
// are preempted all the time, and with budgets that end.
func TestConformanceOfEverySetting(t *testing.T) {
	for _, v := range variants.Of("dynamic-priority")[1:] {
		t.Run(v.Name, func(t *testing.T) {
			policytest.Run(t, New, policytest.Options{NoStories: true, Seeds: 6, First: 100, Config: v.Config()})
		})
	}
}

// TestNoSecondBesideOneThatIsTakenOff: a round does not launch a second attempt of a bundle whose first attempt it stops.
func TestNoSecondBesideOneThatIsTakenOff(t *testing.T) {
	c := variants.Named("dynamic-priority", "preempting").Config()
	policytest.Run(t, New, policytest.Options{NoStories: true, Seeds: 1, First: 102208, Restarts: 2, Config: c})
}

// TestConformanceOfPages requests everything and makes all changes, as authorized and unauthorized
// users, while games go on. A restart would not pay for the interval in flight, and so change the
// budgets shown: there is none.
func TestConformanceOfPages(t *testing.T) {
	r := policytest.Run(t, New, policytest.Options{
		NoStories: true, Seeds: 12, First: 200, Restarts: -1, Config: variants.Named("dynamic-priority", "preempting").Config(),
		Queries: []string{
			"price", "time", "info", "infos", "info=user-0", "info=nobody", "setSpending=2", "setSpending=3&queue=user-1", "setSpending=NaN&queue=user-0",
			"setSpending=-1&queue=user-0", "setSpending=Infinity&queue=user-0", "setSpending=1e99&queue=user-0", "addBudget=50&queue=user-2", "addBudget=-1e9&queue=user-2",
			"addBudget=1e999999999&queue=user-0", "addQueue&queue=user-0", "addQueue=new", "addQueue=%3Cq%26%22%3E", "removeQueue=user-2", "removeQueue=never",
		},
	})
	if r.Pages == 0 || r.Tally.Answers == 0 {
		t.Errorf("%d pages were asked for, %d requests answered", r.Pages, r.Tally.Answers)
	}
}
