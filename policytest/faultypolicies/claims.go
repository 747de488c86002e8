package faultypolicies

import (
	"slices"

	"github.com/hamadryad/hamadryad/policytest/policies"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// ClaimsInVain claims launchers for bundles and never launches those.
func ClaimsInVain() scheduler.TaskScheduler {
	claimed := map[scheduler.BundleID]bool{}
	return ignores(policies.Reserve(), func(d *scheduler.Decisions) {
		for _, r := range d.Reserve {
			claimed[r.Bundle] = true
		}
		d.Launch = slices.DeleteFunc(d.Launch, func(x scheduler.Launch) bool { return claimed[x.Bundle] })
	})
}
