// Command hamadryad-isolate starts the workers of a launcher that runs as root. Workers run as the
// users who submitted the jobs (launcher.isolation.user). The launcher runs it; it lies beside the
// program hamadryad. It is a separate, small program because each start of a worker waits for it,
// and because it runs as root.
package main

import (
	"fmt"
	"os"

	"github.com/hamadryad/hamadryad/engine/isolate/sandboxinit"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "hamadryad-isolate is started by a launcher, as launcher.isolation.user says")
		os.Exit(1)
	}
	sandboxinit.Main(os.Args[1:])
}
