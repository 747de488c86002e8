package pipeline_test

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/hamadryad/hamadryad/sdk/job"
	"github.com/hamadryad/hamadryad/sdk/job/jobtest"
	"github.com/hamadryad/hamadryad/sdk/job/pipeline"
	"github.com/hamadryad/hamadryad/sdk/job/text"
)

// Two stages: the first emits each word under the label of its hash, the second counts.
func Example() {
	const labels = 3
	count := job.Definition{Name: "count", Build: func(g *job.Graph, args []string) error {
		tasks, err := g.Files(job.Files{Patterns: args[:1]})
		if err != nil {
			return err
		}
		out := g.Output(args[1])
		return pipeline.Build(g, tasks, []pipeline.Stage{
			{Name: "split", Group: pipeline.Split, Labels: labels, Run: func(ctx context.Context, t *pipeline.Task) error {
				for line, err := range text.Lines(ctx, t.Node) {
					if err != nil {
						return err
					}
					for word := range strings.FieldsSeq(string(line)) {
						if err := t.Emit(ctx, job.Partition([]byte(word), labels), []byte(word)); err != nil {
							return err
						}
					}
				}
				return nil
			}},
			{Name: "count", Group: pipeline.All, Run: func(ctx context.Context, t *pipeline.Task) error {
				words := 0
				for _, err := range t.Records(ctx) {
					if err != nil {
						return err
					}
					words++
				}
				f, err := t.CreatePart(ctx, out)
				if err != nil {
					return err
				}
				fmt.Fprintf(f, "%d words\n", words)
				return f.Close()
			}},
		})
	}}
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(dir+"/in", []byte("oak elm\nash oak\n"), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	if _, err := jobtest.Run(context.Background(), count, []string{dir + "/in", dir + "/out"}, jobtest.Options{}); err != nil {
		fmt.Println(err)
		return
	}
	files, err := jobtest.Output(dir + "/out")
	fmt.Printf("%q %v\n", files, err)
	// Output: ["4 words\n"] <nil>
}
