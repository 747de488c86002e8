package app_test

import (
	"context"
	"fmt"

	"github.com/hamadryad/hamadryad/app"
	"github.com/hamadryad/hamadryad/sdk/job"
)

// hello is a job of one stage with four nodes, which say hello in their logs.
var hello = job.Definition{Name: "hello", Build: func(g *job.Graph, _ []string) error {
	g.Stage("hello", 4, func(context.Context, *job.Node) error {
		fmt.Println("hello")
		return nil
	})
	return nil
}}

// The whole main of an application with one job.
func Example() {
	app.Main(hello)
}

// A program that runs its job until it has the result that it wants.
func ExampleDrive() {
	app.Drive(func(ctx context.Context, c *app.Client) error {
		for {
			result, err := c.Run(ctx, "hello", c.Args())
			if err != nil || result.Counter("left") == 0 {
				return err
			}
		}
	}, hello)
}
