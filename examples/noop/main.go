// Noop runs N tasks that do nothing, to measure the engine's own cost.
//
//	hamadryad local -- noop 20000
//
// Each task is a group of its own, with its own decision of the policy, attempt, log records and
// report.
package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/hamadryad/hamadryad/app"
	"github.com/hamadryad/hamadryad/sdk/job"
)

func main() {
	app.MainWith(app.Options{Reuse: true}, job.Definition{Name: "noop", Help: "N  run N tasks that do nothing", Build: build})
}

func build(g *job.Graph, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("give the number of tasks")
	}
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return fmt.Errorf("number of tasks: %w", err)
	}
	g.Stage("noop", n, func(context.Context, *job.Node) error { return nil })
	return nil
}
