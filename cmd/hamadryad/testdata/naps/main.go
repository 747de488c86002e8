// Naps runs tasks that sleep for a given time: any further time is the engine's.
package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/hamadryad/hamadryad/app"
	"github.com/hamadryad/hamadryad/sdk/job"
)

func main() {
	app.Main(job.Definition{Name: "naps", Help: "NODES MS [NODES MS]  run stages of NODES tasks, one after the other, each task for MS milliseconds", Build: build})
}

func build(g *job.Graph, args []string) error {
	if len(args) == 0 || len(args)%2 != 0 {
		return fmt.Errorf("want NODES MS for each stage, got %q", args)
	}
	var before *job.Stage
	for i := 0; i < len(args); i += 2 {
		nodes, err := strconv.Atoi(args[i])
		if err != nil {
			return fmt.Errorf("number of tasks: %w", err)
		}
		ms, err := strconv.Atoi(args[i+1])
		if err != nil {
			return fmt.Errorf("milliseconds: %w", err)
		}
		s := g.Stage(fmt.Sprint("nap", i/2+1), nodes, func(ctx context.Context, _ *job.Node) error {
			return nap(ctx, time.Duration(ms)*time.Millisecond)
		})
		if before != nil {
			g.AllToAll(before.Out("out"), s.In("in"), job.Channel{Kind: job.File})
		}
		before = s
	}
	return nil
}

// nap sleeps for a while.
func nap(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
