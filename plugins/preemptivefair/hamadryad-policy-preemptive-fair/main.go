// Command hamadryad-policy-preemptive-fair is the preemptive-fair policy as a
// plug-in.
package main

import (
	"github.com/hamadryad/hamadryad/plugins/preemptivefair"
	"github.com/hamadryad/hamadryad/sdk/scheduler/serve"
)

func main() { serve.Main(preemptivefair.New) }
