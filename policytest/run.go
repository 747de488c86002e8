package policytest

import (
	"testing"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Run puts a policy value through the kit, in process.
func Run(t *testing.T, fresh func() scheduler.TaskScheduler, o Options) Report {
	t.Helper()
	r := Check(t.Context(), InProcess(fresh), o)
	for _, p := range r.Problems {
		t.Error(p)
	}
	for _, w := range r.Warnings {
		t.Log("warning: " + w)
	}
	t.Logf("%s: %d games, %+v", r.Policy.Name, r.Games, r.Tally)
	return r
}
