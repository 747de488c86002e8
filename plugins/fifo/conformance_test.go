package fifo

import (
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/plugins/internal/variants"
	"github.com/hamadryad/hamadryad/policytest"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
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

// TestNoCheckpoint: a policy that keeps nothing does not declare that it gives checkpoints, and the kit does not warn of it.
func TestNoCheckpoint(t *testing.T) {
	r := policytest.Check(t.Context(), policytest.InProcess(New), policytest.Options{NoStories: true, Seeds: 2})
	if r.Err() != nil || r.Policy.Abilities.Has(scheduler.AbilityCheckpoint) || strings.Contains(strings.Join(r.Warnings, "\n"), "checkpoint") {
		t.Errorf("it declares %v: %v, %q", r.Policy.Abilities, r.Err(), r.Warnings)
	}
}
