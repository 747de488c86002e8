// Command plugin is one of the kit's own policies as a plug-in, named by its
// argument, so that every part of the contract crosses the wire in a test.
package main

import (
	"fmt"
	"os"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedtest/policies"
	"github.com/hamadryad/hamadryad/sdk/scheduler/serve"
)

func main() {
	fresh := map[string]func() scheduler.TaskScheduler{
		"suspend": policies.Suspend, "gang": policies.Gang, "delay": policies.Delay,
		"admit": policies.Admit, "pages": policies.Pages, "remember": policies.Remember,
	}[os.Args[len(os.Args)-1]]
	if fresh == nil {
		fmt.Fprintln(os.Stderr, "name one of the kit's policies")
		os.Exit(2)
	}
	serve.Main(fresh)
}
