// Command plugin serves one of the kit's own policies, which its argument names. So a test sends
// every part of the contract over the wire.
package main

import (
	"fmt"
	"os"
	"time"

	"github.com/hamadryad/hamadryad/policytest/policies"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/serve"
)

// slow answers questions beside the rounds rightly, and later than a manager's pacing allows for.
type slow struct{ scheduler.TaskScheduler }

// slowAnswer is how long it takes: nine times as long is more than a manager waits.
const slowAnswer = 700 * time.Millisecond

func (s slow) Status() (scheduler.Status, error) {
	time.Sleep(slowAnswer)
	return s.TaskScheduler.Status()
}

func main() {
	fresh := map[string]func() scheduler.TaskScheduler{
		"suspend": policies.Suspend, "gang": policies.Gang, "delay": policies.Delay,
		"admit": policies.Admit, "pages": policies.Pages, "remember": policies.Remember,
		"slow": func() scheduler.TaskScheduler { return slow{policies.Delay()} },
	}[os.Args[len(os.Args)-1]]
	if fresh == nil {
		fmt.Fprintln(os.Stderr, "name one of the kit's policies")
		os.Exit(2)
	}
	serve.Main(fresh)
}
