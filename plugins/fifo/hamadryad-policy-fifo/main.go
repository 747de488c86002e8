// Command hamadryad-policy-fifo is the FIFO policy as a plug-in.
package main

import (
	"github.com/hamadryad/hamadryad/plugins/fifo"
	"github.com/hamadryad/hamadryad/sdk/scheduler/serve"
)

func main() { serve.Main(fifo.New) }
