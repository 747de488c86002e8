package faultypolicies

import (
	"slices"

	"github.com/hamadryad/hamadryad/policytest/policies"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// ReservesInVain reserves launchers for bundles and never launches those.
func ReservesInVain() scheduler.TaskScheduler {
	reserved := map[scheduler.BundleID]bool{}
	return ignores(policies.Reserve(), func(d *scheduler.Decisions) {
		for _, r := range d.Reserve {
			reserved[r.Bundle] = true
		}
		d.Launch = slices.DeleteFunc(d.Launch, func(x scheduler.Launch) bool { return reserved[x.Bundle] })
	})
}

// ReservesForgetfully reserves for a time that depends on how often it has reserved since its start.
func ReservesForgetfully() scheduler.TaskScheduler {
	n := scheduler.Time(0)
	return ignores(policies.Reserve(), func(d *scheduler.Decisions) {
		for i := range d.Reserve {
			n++
			d.Reserve[i].Until += n
		}
	})
}

// SpeculatesTooSoon asks for second attempts of bundles that it launches in the same answer.
func SpeculatesTooSoon() scheduler.TaskScheduler {
	return tamed(func(_ scheduler.Round, d *scheduler.Decisions) {
		for _, x := range d.Launch {
			d.Speculate = append(d.Speculate, scheduler.Speculate{Bundle: x.Bundle})
		}
	})
}
