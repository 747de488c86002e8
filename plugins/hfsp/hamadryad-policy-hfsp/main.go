// Command hamadryad-policy-hfsp is the policy hfsp as a plug-in.
package main

import (
	"github.com/hamadryad/hamadryad/plugins/hfsp"
	"github.com/hamadryad/hamadryad/sdk/scheduler/serve"
)

func main() { serve.Main(hfsp.New) }
