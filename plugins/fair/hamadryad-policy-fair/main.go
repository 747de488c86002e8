// Command hamadryad-policy-fair is the fair policy as a plug-in.
package main

import (
	"github.com/hamadryad/hamadryad/plugins/fair"
	"github.com/hamadryad/hamadryad/plugins/fair/tracefile"
	"github.com/hamadryad/hamadryad/sdk/scheduler/serve"
)

func main() {
	serve.Main(fair.Traced(func(path string, bytesMax int) (fair.Trace, error) { return tracefile.Open(path, bytesMax) }))
}
