package fifo

import (
	"testing"

	"github.com/hamadryad/hamadryad/policytest"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

func TestConformance(t *testing.T) {
	policytest.Run(t, New, policytest.Options{Seeds: 20})
}

// TestConformanceCollecting runs the kit with a patience so short that slots are
// collected all the time.
func TestConformanceCollecting(t *testing.T) {
	policytest.Run(t, New, policytest.Options{First: 500, Config: scheduler.Config{Text: []byte("collect-after: 500ms\n")}})
}

// TestConformanceOfLocality runs the kit with launches that are placed together, with bounds that
// are exceeded all the time, and without an eye for input.
func TestConformanceOfLocality(t *testing.T) {
	for name, settings := range map[string]string{
		"flow":  "locality: {mode: min-cost-flow, neighbour-bytes: 1000}\ncollect-after: 500ms\n",
		"over":  "locality: {mode: min-cost-flow, bundles-max: 3, steps-max: 20}\n",
		"blind": "locality: {mode: none}\n",
	} {
		t.Run(name, func(t *testing.T) {
			policytest.Run(t, New, policytest.Options{Seeds: 6, First: 700, Config: scheduler.Config{Text: []byte(settings)}})
		})
	}
}
