package text_test

import (
	"context"
	"fmt"
	"os"

	"github.com/hamadryad/hamadryad/sdk/job"
	"github.com/hamadryad/hamadryad/sdk/job/jobtest"
	"github.com/hamadryad/hamadryad/sdk/job/text"
)

// A node reads the lines of its part of the input. Over all nodes each line is read once,
// wherever the file was cut.
func ExampleLines() {
	count := job.Definition{Name: "count", Build: func(g *job.Graph, args []string) error {
		tasks, err := g.Files(job.Files{Patterns: args, SplitBytes: 8})
		if err != nil {
			return err
		}
		g.Stage("count", len(tasks), func(ctx context.Context, n *job.Node) error {
			for _, err := range text.Lines(ctx, n) {
				if err != nil {
					return err
				}
				n.Count("lines", 1)
			}
			return nil
		}).Read(tasks)
		return nil
	}}
	in, err := os.CreateTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.Remove(in.Name())
	fmt.Fprint(in, "an oak\nan elm\ntwo oaks\n")
	in.Close()
	result, err := jobtest.Run(context.Background(), count, []string{in.Name()}, jobtest.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Counters)
	// Output: map[lines:3]
}
