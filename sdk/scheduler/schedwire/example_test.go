package schedwire_test

import (
	"fmt"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire"
)

// What a policy decided goes to bytes and comes back equal.
func ExampleEncodeDecisions() {
	b, err := schedwire.EncodeDecisions(&scheduler.Decisions{Launch: []scheduler.Launch{{Bundle: 7, Launchers: []scheduler.LauncherID{1, 2}}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	d, err := schedwire.DecodeDecisions(b)
	fmt.Println(d.Launch, err)
	// Output: [{bundle-7 [1 2] false}] <nil>
}
