package policytest_test

import (
	"context"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/plugins/fifo"
	"github.com/hamadryad/hamadryad/policytest"
)

// A check whose context ends tells how many games passed, and blames nothing on the policy.
func TestStoppedCheckBlamesNobody(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	played := 0
	r := policytest.Check(ctx, policytest.InProcess(fifo.New), policytest.Options{Progress: func(string, int, int) {
		if played++; played == 4 {
			stop()
		}
	}})
	if !r.Stopped || r.Games != 3 || len(r.Problems) != 1 || !strings.Contains(r.Problems[0], "was stopped after 3 games, which passed") {
		t.Errorf("stopped %v after %d games: %q", r.Stopped, r.Games, r.Problems)
	}
}
