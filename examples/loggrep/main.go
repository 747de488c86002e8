// Loggrep finds the lines of logs that have a word: a graph job in thirty lines.
//
//	hamadryad local -- loggrep WORD INPUT OUTPUT
package main

import (
	"bytes"
	"context"
	"fmt"

	"github.com/hamadryad/hamadryad/app"
	"github.com/hamadryad/hamadryad/sdk/job"
	"github.com/hamadryad/hamadryad/sdk/job/text"
)

func main() {
	app.Main(job.Definition{Name: "loggrep", Help: "WORD INPUT OUTPUT  find the lines with a word", Build: build})
}

func build(g *job.Graph, args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("give a word, an input and an output folder")
	}
	tasks, err := g.Files(job.Files{Patterns: args[1:2]})
	if err != nil {
		return err
	}
	word, out := []byte(args[0]), g.Output(args[2])
	g.Stage("grep", len(tasks), func(ctx context.Context, n *job.Node) error {
		f, err := n.CreatePart(ctx, out)
		if err != nil {
			return err
		}
		for line, err := range text.Lines(ctx, n) {
			if err != nil {
				return err
			}
			if bytes.Contains(line, word) {
				n.Count("hits", 1)
				if _, err := fmt.Fprintf(f, "%s\n", line); err != nil {
					return err
				}
			}
		}
		return f.Close()
	}).Read(tasks)
	return nil
}
