package policies_test

import (
	"fmt"

	"github.com/hamadryad/hamadryad/policytest"
	"github.com/hamadryad/hamadryad/policytest/policies"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Each policy starts without settings.
func ExampleGang() {
	about, err := policies.Gang().Start(scheduler.Config{}, scheduler.Snapshot{}, policytest.Environment())
	fmt.Println(about.Name, err)
	// Output: gang <nil>
}
