package policytest

import (
	"context"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// spareOneIn is the part of the time until go test's deadline in which Run starts no game that
// Options.For asks for.
const spareOneIn = 5

// Run puts a policy value through the kit, in process. It ends before go test's deadline: Options.For
// is shorter where less time is left.
func Run(t *testing.T, fresh func() scheduler.TaskScheduler, o Options) Report {
	t.Helper()
	ctx := t.Context()
	if at, is := t.Deadline(); is {
		left := time.Until(at)
		left -= left / spareOneIn
		o.For = min(o.For, left)
		var stop func()
		ctx, stop = context.WithDeadline(ctx, at.Add(-left/spareOneIn/2)) // so that what was found is told
		defer stop()
	}
	r := Check(ctx, InProcess(fresh), o)
	for _, p := range r.Problems {
		t.Error(p)
	}
	if r.Story != nil {
		t.Log(r.Story)
	}
	for _, w := range r.Warnings {
		t.Log("warning: " + w)
	}
	t.Logf("%s: %d games, %+v", r.Policy.Name, r.Games, r.Tally)
	return r
}
