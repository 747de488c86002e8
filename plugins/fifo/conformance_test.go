package fifo

import (
	"testing"

	"github.com/hamadryad/hamadryad/plugins/internal/variants"
	"github.com/hamadryad/hamadryad/policytest"
)

func TestConformance(t *testing.T) {
	policytest.Run(t, New, policytest.Options{Seeds: 20})
}

// TestConformanceOfEverySetting runs the kit with each variant: also with a patience so short that
// slots are collected all the time, with launches that are placed together, with bounds that are
// exceeded all the time, and without an eye for input.
func TestConformanceOfEverySetting(t *testing.T) {
	for _, v := range variants.Of("fifo")[1:] {
		t.Run(v.Name, func(t *testing.T) {
			policytest.Run(t, New, policytest.Options{Seeds: 6, First: 700, Config: v.Config()})
		})
	}
}
