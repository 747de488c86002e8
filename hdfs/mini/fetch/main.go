// Fetch makes the kit of the small HDFS (package mini) in the user's cache folder, so
// that tests find it there: `make test` runs it first.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"time"

	"github.com/hamadryad/hamadryad/hdfs/mini"
)

// timeout bounds all of it, with the tries that Prepare makes.
const timeout = 10 * time.Minute

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if _, err := mini.Prepare(ctx, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "the tests on a real HDFS can't run:", err)
		os.Exit(1) //nolint:gocritic // nothing is left to clean up
	}
}
