package faultypolicies_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/hamadryad/hamadryad/policytest"
	"github.com/hamadryad/hamadryad/policytest/faultypolicies"
)

// The kit says of each what is wrong with it.
func ExampleAll() {
	bad := faultypolicies.All()[0]
	err := policytest.Check(context.Background(), policytest.InProcess(bad.New), policytest.Options{Seeds: 1}).Err()
	fmt.Println(bad.Name, strings.Contains(err.Error(), bad.Caught))
	// Output: does nothing true
}
