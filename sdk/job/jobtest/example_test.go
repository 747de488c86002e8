package jobtest_test

import (
	"context"
	"fmt"
	"os"

	"github.com/hamadryad/hamadryad/sdk/job"
	"github.com/hamadryad/hamadryad/sdk/job/jobtest"
)

// A job runs whole in the process of a test, and its output is read.
func Example() {
	greet := job.Definition{Name: "greet", Build: func(g *job.Graph, args []string) error {
		folder := g.Output(args[0])
		g.Stage("greet", 2, func(ctx context.Context, n *job.Node) error {
			f, err := n.CreatePart(ctx, folder)
			if err != nil {
				return err
			}
			fmt.Fprintf(f, "hello from %d of %d\n", n.Info().Index, n.Info().Nodes)
			return f.Close()
		})
		return nil
	}}
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	if _, err := jobtest.Run(context.Background(), greet, []string{dir + "/out"}, jobtest.Options{}); err != nil {
		fmt.Println(err)
		return
	}
	files, err := jobtest.Output(dir + "/out")
	fmt.Printf("%q %v\n", files, err)
	// Output: ["hello from 0 of 2\n" "hello from 1 of 2\n"] <nil>
}
