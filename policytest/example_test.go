package policytest_test

import (
	"context"
	"fmt"

	"github.com/hamadryad/hamadryad/policytest"
	"github.com/hamadryad/hamadryad/policytest/policies"
)

// A policy plays one random game, without the scripted ones.
func ExampleCheck() {
	report := policytest.Check(context.Background(), policytest.InProcess(policies.Delay), policytest.Options{Seeds: 1, NoStories: true})
	fmt.Println(report.Policy.Name, report.Games, report.Err())
	// Output: delay 1 <nil>
}
