// Steady runs N tasks that do nothing. The later half waits for a file GATE: a test's actions
// before it makes that file happen in mid-job, on any machine.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/hamadryad/hamadryad/app"
	"github.com/hamadryad/hamadryad/sdk/job"
)

func main() {
	app.Main(job.Definition{Name: "steady", Help: "N GATE  run N tasks, half of them once GATE is there", Build: build})
}

func build(g *job.Graph, args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("want N GATE, got %q", args)
	}
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return fmt.Errorf("number of tasks: %w", err)
	}
	g.Stage("steady", n, func(ctx context.Context, node *job.Node) error {
		if node.Info().Index < n/2 {
			return nil
		}
		return await(ctx, args[1])
	})
	return nil
}

// await waits until a file is there.
func await(ctx context.Context, path string) error {
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for {
		if _, err := os.Stat(path); err == nil {
			return nil
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
