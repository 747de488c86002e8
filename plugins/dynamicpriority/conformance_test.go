package dynamicpriority

import (
	"testing"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedtest"
)

func TestConformance(t *testing.T) {
	schedtest.Run(t, New, schedtest.Options{Seeds: 20})
}

// TestConformanceOfEverySetting runs the kit with intervals so short that accounts close and
// slots are taken back all the time, and with budgets that end.
func TestConformanceOfEverySetting(t *testing.T) {
	for name, settings := range map[string]string{
		"preempting": "alloc-interval: 1s\nkill-interval: 1s\n",
		"slowly":     "alloc-interval: 3s\nkill-interval: 10s\ncollect-after: 0s\n",
		"collecting": "alloc-interval: 2s\nkill-interval: 500ms\ncollect-after: 300ms\n",
		"nobody":     "simulated-spending: 0\ncollect-after: 300ms\n",
	} {
		t.Run(name, func(t *testing.T) {
			schedtest.Run(t, New, schedtest.Options{NoStories: true, Seeds: 6, First: 100, Config: scheduler.Config{Text: []byte(settings)}})
		})
	}
}
