package job_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/hamadryad/hamadryad/sdk/job"
	"github.com/hamadryad/hamadryad/sdk/job/jobtest"
	"github.com/hamadryad/hamadryad/sdk/job/text"
)

// run runs a job on an input of its own and prints what it wrote. An application calls
// app.Main instead, and is run on a cluster.
func run(build func(g *job.Graph, in, out string) error, input string) {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	in, out := filepath.Join(dir, "in"), filepath.Join(dir, "out")
	if err := os.WriteFile(in, []byte(input), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	d := job.Definition{Name: "example", Build: func(g *job.Graph, args []string) error { return build(g, args[0], args[1]) }}
	if _, err := jobtest.Run(context.Background(), d, []string{in, out}, jobtest.Options{}); err != nil {
		fmt.Println(strings.ReplaceAll(err.Error(), dir, "")) // the folder has another name each time
		return
	}
	files, err := jobtest.Output(out)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(strings.Join(files, ""))
}

// A graph of one stage: each node reads its part of the input and writes a part of the
// output.
func Example() {
	find := func(word string) func(g *job.Graph, in, out string) error {
		return func(g *job.Graph, in, out string) error {
			tasks, err := g.Files(job.Files{Patterns: []string{in}})
			if err != nil {
				return err
			}
			folder := g.Output(out)
			g.Stage("find", len(tasks), func(ctx context.Context, n *job.Node) error {
				f, err := n.CreatePart(ctx, folder)
				if err != nil {
					return err
				}
				for line, err := range text.Lines(ctx, n) {
					if err != nil {
						return err
					}
					if strings.Contains(string(line), word) {
						fmt.Fprintf(f, "%s\n", line)
					}
				}
				return f.Close()
			}).Read(tasks)
			return nil
		}
	}
	run(find("oak"), "an oak\nan elm\ntwo oaks\n")
	// Output:
	// an oak
	// two oaks
}

// Two stages joined all to all: each word goes to the node that counts it. The kind of
// the channel says how: through files, so that a count that was lost is made again; or
// streamed by TCP, or within one process.
func ExampleGraph_AllToAll() {
	build := func(g *job.Graph, in, out string) error {
		tasks, err := g.Files(job.Files{Patterns: []string{in}})
		if err != nil {
			return err
		}
		split := g.Stage("split", len(tasks), splitWords).Read(tasks)
		count := g.Stage("count", 1, countWords(g.Output(out)))
		g.AllToAll(split.Out("words"), count.In("words"), job.Channel{Kind: job.File})
		return nil
	}
	run(build, "oak elm oak\nash oak\n")
	// Output:
	// 3 different words
}

// splitWords writes each word to the partition of its own.
func splitWords(ctx context.Context, n *job.Node) error {
	emit, err := n.Emitter(ctx, "words")
	if err != nil {
		return err
	}
	for line, err := range text.Lines(ctx, n) {
		if err != nil {
			return err
		}
		for _, word := range strings.Fields(string(line)) {
			if err := emit([]byte(word), []byte(word)); err != nil {
				return err
			}
		}
	}
	return nil
}

func countWords(out job.Folder) job.Program {
	return func(ctx context.Context, n *job.Node) error {
		seen := map[string]bool{}
		err := n.Each(ctx, "words", func(word []byte) error {
			seen[string(word)] = true
			return nil
		})
		if err != nil {
			return err
		}
		f, err := n.CreatePart(ctx, out)
		if err != nil {
			return err
		}
		fmt.Fprintf(f, "%d different words\n", len(seen))
		return f.Close()
	}
}

// An external command as a stage: it reads lines and prints lines, here from stored
// input, and its output goes to a program.
func ExampleGraph_CommandStage() {
	build := func(g *job.Graph, in, out string) error {
		tasks, err := g.Files(job.Files{Patterns: []string{in}})
		if err != nil {
			return err
		}
		cut := g.CommandStage("cut", len(tasks), job.Command{Args: []string{"cut", "-d", " ", "-f", "2"}}).Read(tasks)
		count := g.Stage("count", 1, countWords(g.Output(out)))
		g.AllToAll(cut.Out("out"), count.In("words"), job.Channel{Kind: job.TCP})
		return nil
	}
	run(build, "an oak\nan elm\nthe oak\n")
	// Output:
	// 2 different words
}

// A failed attempt is tried again, unless its error says that this can't help. The
// failure names the node, and the record at hand.
func ExamplePermanent() {
	build := func(g *job.Graph, in, _ string) error {
		tasks, err := g.Files(job.Files{Patterns: []string{in}})
		if err != nil {
			return err
		}
		g.Stage("check", len(tasks), func(ctx context.Context, n *job.Node) error {
			for line, err := range text.Lines(ctx, n) {
				if err != nil {
					return err
				}
				if len(line) == 0 {
					return job.Permanent(errors.New("an empty line"))
				}
			}
			return nil
		}).Read(tasks)
		return nil
	}
	run(build, "oak\n\nelm\n")
	// Output:
	// job example: stage check, node 0 at /in:4: an empty line
}
