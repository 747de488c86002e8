// Standing offers jobs whose programs never return, in one way each, and graphs whose nodes
// wait for each other.
package main

import (
	"context"
	"os"
	"runtime"
	"time"

	"github.com/hamadryad/hamadryad/engine/app"
	"github.com/hamadryad/hamadryad/sdk/job"
	"github.com/hamadryad/hamadryad/sdk/job/jobtest/anyjob"
)

func main() {
	defs := []job.Definition{anyjob.Definition}
	for name, program := range map[string]job.Program{
		"goexit": func(context.Context, *job.Node) error { runtime.Goexit(); return nil },
		"spins":  func(context.Context, *job.Node) error { spin(); return nil },
		"waits":  func(ctx context.Context, _ *job.Node) error { <-ctx.Done(); return ctx.Err() },
		"goes-on": func(_ context.Context, n *job.Node) error {
			for range 40 { // longer than its Quiet
				time.Sleep(100 * time.Millisecond)
				n.Count("steps", 1)
			}
			return nil
		},
	} {
		defs = append(defs, stands(name, program))
	}
	defs = append(defs, job.Definition{Name: "build-goexit", Build: func(g *job.Graph, args []string) error {
		if len(g.Stages()) == 0 && inWorker() {
			runtime.Goexit()
		}
		g.Stage("x", 1, func(context.Context, *job.Node) error { return nil })
		return nil
	}})
	app.Main(defs...)
}

// stands is a job of one node. Its arguments are the stage's Timeout and Quiet.
func stands(name string, program job.Program) job.Definition {
	return job.Definition{Name: name, Help: "[TIMEOUT QUIET]", Build: func(g *job.Graph, args []string) error {
		s := g.Stage("x", 1, program)
		if len(args) < 2 {
			return nil
		}
		timeout, err := time.ParseDuration(args[0])
		if err != nil {
			return err
		}
		quiet, err := time.ParseDuration(args[1])
		s.Timeout(timeout).Quiet(quiet)
		return err
	}}
}

// spin calls nothing in its loop.
func spin() {
	for i := 0; ; i++ {
		_ = i
	}
}

// inWorker reports whether a launcher started this process: a person names the manager.
func inWorker() bool { return os.Getenv("HAMADRYAD_MANAGER") == "" }
