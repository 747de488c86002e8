// Fetch makes the kit of the small HDFS (package minihdfs) in the user's cache folder, where tests
// find it. It also makes the kits of the folders in its arguments (package kit). `make test` runs
// it first. A folder has a pom.xml, or a requirements.txt for Python.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/hamadryad/hamadryad/internal/minihdfs"
	"github.com/hamadryad/hamadryad/internal/minihdfs/kit"
)

// timeout bounds the whole run, with Prepare's retries.
const timeout = 10 * time.Minute

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	_, err := minihdfs.Prepare(ctx, os.Stderr)
	for _, folder := range os.Args[1:] {
		if err == nil {
			err = prepare(ctx, folder)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "the tests that run programs in Java and Python can't run:", err)
		os.Exit(1) //nolint:gocritic // nothing is left to clean up
	}
}

// prepare makes the kit of a folder.
func prepare(ctx context.Context, folder string) (err error) {
	name, source := filepath.Base(folder), os.DirFS(folder)
	if _, is := os.Stat(filepath.Join(folder, "requirements.txt")); is == nil {
		_, err = kit.Python(ctx, name, source, os.Stderr)
	} else {
		_, err = kit.Prepare(ctx, name, source, os.Stderr)
	}
	return err
}
