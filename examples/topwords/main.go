// Topwords finds the most frequent words: a pipeline of three stages, as in Disco.
//
//	hamadryad local -- topwords 10 INPUT... OUTPUT
//
// The file top of the output folder has a line for each word, the most frequent first: the word, a
// tab, and its count. Of equally frequent words the first in the order of bytes comes first.
package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/hamadryad/hamadryad/app"
	"github.com/hamadryad/hamadryad/sdk/job"
	"github.com/hamadryad/hamadryad/sdk/job/pipeline"
	"github.com/hamadryad/hamadryad/sdk/job/text"
)

func main() { app.Main(topwords) }

// sums is the number of summing tasks: each gets the words of one label.
const sums = 4

var topwords = job.Definition{
	Name: "topwords",
	Help: "N INPUT... OUTPUT  find the N words that occur most",
	Build: func(g *job.Graph, args []string) error {
		if len(args) < 3 {
			return errors.New("give a number, one or more inputs and the output folder: N INPUT... OUTPUT")
		}
		n, err := strconv.Atoi(args[0])
		if err != nil || n < 1 {
			return fmt.Errorf("%q: give a whole number from 1", args[0])
		}
		last := len(args) - 1
		tasks, err := g.Files(job.Files{Patterns: args[1:last]})
		if err != nil {
			return err
		}
		out := g.Output(args[last])
		return pipeline.Build(g, tasks, []pipeline.Stage{
			{Name: "split", Group: pipeline.Split, Labels: sums, Run: split},
			{Name: "sum", Group: pipeline.ByLabel, Run: sum(n)},
			{Name: "top", Group: pipeline.All, Run: top(n, out)},
		})
	},
}

// split emits each word of a task's input with a label from its hash.
func split(ctx context.Context, t *pipeline.Task) error {
	for line, err := range text.Lines(ctx, t.Node) {
		if err != nil {
			return err
		}
		for _, word := range bytes.Fields(line) {
			if err := t.Emit(ctx, job.Partition(word, sums), word); err != nil {
				return err
			}
		}
	}
	return nil
}

// sum counts the words of one label. All occurrences of a word have one label, so only the label's
// n most frequent words can be among the overall n.
func sum(n int) func(context.Context, *pipeline.Task) error {
	return func(ctx context.Context, t *pipeline.Task) error {
		counts := map[string]int{}
		for word, err := range t.Records(ctx) {
			if err != nil {
				return err
			}
			counts[string(word)]++
		}
		for _, w := range most(counts, n) {
			if err := t.Emit(ctx, 0, fmt.Appendf(nil, "%s\t%d", w, counts[w])); err != nil {
				return err
			}
		}
		return nil
	}
}

// top writes the n most frequent words of all labels.
func top(n int, out job.Folder) func(context.Context, *pipeline.Task) error {
	return func(ctx context.Context, t *pipeline.Task) error {
		counts := map[string]int{}
		for record, err := range t.Records(ctx) {
			if err != nil {
				return err
			}
			word, count, _ := bytes.Cut(record, []byte("\t"))
			if counts[string(word)], err = strconv.Atoi(string(count)); err != nil {
				return err
			}
		}
		f, err := t.Create(ctx, out, "top")
		if err != nil {
			return err
		}
		for _, w := range most(counts, n) {
			if _, err := fmt.Fprintf(f, "%s\t%d\n", w, counts[w]); err != nil {
				return err
			}
		}
		return f.Close()
	}
}

// most returns the n words with the largest counts, or all if there are fewer.
func most(counts map[string]int, n int) []string {
	words := make([]string, 0, len(counts))
	for w := range counts {
		words = append(words, w)
	}
	slices.SortFunc(words, func(a, b string) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b)) })
	return words[:min(n, len(words))]
}
