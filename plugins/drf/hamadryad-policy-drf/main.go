// Command hamadryad-policy-drf is dominant resource fairness as a plug-in.
package main

import (
	"github.com/hamadryad/hamadryad/plugins/drf"
	"github.com/hamadryad/hamadryad/sdk/scheduler/serve"
)

func main() { serve.Main(drf.New) }
