// Command hamadryad-policy-dynamic-priority is the dynamic-priority policy as a plug-in.
package main

import (
	"github.com/hamadryad/hamadryad/plugins/dynamicpriority"
	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/shell"
	"github.com/hamadryad/hamadryad/sdk/scheduler/serve"
)

func main() { serve.Main(dynamicpriority.New, serve.WithShell(shell.New())) }
