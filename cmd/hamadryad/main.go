// Command hamadryad runs a cluster and talks to it. It runs a manager, a launcher, or a whole
// cluster on one machine. Its other commands submit, show and control jobs. "hamadryad --help"
// shows them all with examples.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	_ "github.com/hamadryad/hamadryad/hdfs" // hdfs://, for what is published and kept there
)

// lastLinesMax is how long the end of the process waits for the last lines of the log.
const lastLinesMax = time.Second

func main() {
	beCommandArray()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := execute(ctx, os.Args[1:])
	stop()
	standardError.Flush(lastLinesMax)
	os.Exit(code)
}
