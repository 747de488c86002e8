// Command hamadryad is the cluster and the way to talk to it: manager, launcher,
// a whole cluster on one machine, and the commands that submit, show and steer
// jobs. "hamadryad --help" shows them all with examples.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := execute(ctx, os.Args[1:])
	stop()
	standardError.flush(lastLinesMax)
	os.Exit(code)
}
