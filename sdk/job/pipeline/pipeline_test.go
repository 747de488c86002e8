package pipeline

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/sdk/job"
	"github.com/hamadryad/hamadryad/sdk/job/jobtest"
	"github.com/hamadryad/hamadryad/sdk/job/text"
)

func TestGroupings(t *testing.T) {
	before := []member{{0, "a"}, {0, "b"}, {0, "a"}}
	for by, want := range map[Grouping]string{
		Split:       "[{0 a} {1 a} {0 b} {1 b} {0 a} {1 a}] [[0 1] [2 3] [4 5]] [[0 1] [0 1] [0 1]]",
		ByLabel:     "[{0 } {1 }] [[0 1] [0 1] [0 1]] [[0 1] [0 1] [0 1]]",
		ByNode:      "[{-1 a} {-1 b}] [[0 0] [1 1] [0 0]] [[0 0] [0 0] [0 0]]",
		ByNodeLabel: "[{0 a} {1 a} {0 b} {1 b}] [[0 1] [2 3] [0 1]] [[0 1] [0 1] [0 1]]",
		All:         "[{-1 }] [[0 0] [0 0] [0 0]] [[0 0] [0 0] [0 0]]",
	} {
		members, to := group(by, before, 2)
		if got := fmt.Sprint(members, to, partitions(to)); got != want {
			t.Errorf("grouping %d: %s, want %s", by, got, want)
		}
	}
}

// words counts words over three stages, the middle one grouped as asked.
func words(by Grouping) job.Definition {
	return job.Definition{Name: "words", Build: func(g *job.Graph, args []string) error {
		tasks, err := g.Files(job.Files{Patterns: args[:1], SplitBytes: 300})
		if err != nil {
			return err
		}
		out := g.Output(args[1])
		return Build(g, tasks, []Stage{
			{Name: "map", Group: Split, Labels: 3, Run: func(ctx context.Context, t *Task) error {
				for line, err := range text.Lines(ctx, t.Node) {
					if err != nil {
						return err
					}
					for _, w := range bytes.Fields(line) {
						if err := t.Emit(ctx, job.Partition(w, 3), w); err != nil {
							return err
						}
					}
				}
				return nil
			}},
			{Name: "sum", Group: by, Run: func(ctx context.Context, t *Task) error {
				n := 0
				for w, err := range t.Records(ctx) {
					if err != nil {
						return err
					}
					if t.Label >= 0 && job.Partition(w, 3) != t.Label {
						return fmt.Errorf("word %s came to label %d", w, t.Label)
					}
					n++
				}
				t.Count("sums", 1)
				return t.Emit(ctx, 0, strconv.AppendInt(nil, int64(n), 10))
			}},
			{Name: "report", Group: All, Run: func(ctx context.Context, t *Task) error {
				sum := 0
				for r, err := range t.Records(ctx) {
					if err != nil {
						return err
					}
					n, err := strconv.Atoi(string(r))
					if err != nil {
						return err
					}
					sum += n
				}
				f, err := t.Create(ctx, out, "total")
				if err != nil {
					return err
				}
				fmt.Fprint(f, sum)
				return f.Close()
			}},
		})
	}}
}

func TestPipelineCountsEachWordOnce(t *testing.T) {
	dir := t.TempDir()
	var in strings.Builder
	for i := range 500 {
		fmt.Fprintf(&in, "w%d x\n", i)
	}
	os.WriteFile(dir+"/in", []byte(in.String()), 0o666)
	for by, sums := range map[Grouping]int64{Split: 0, ByLabel: 3, ByNode: 1, ByNodeLabel: 3, All: 1} {
		out := fmt.Sprint(dir, "/out", by)
		result, err := jobtest.Run(t.Context(), words(by), []string{dir + "/in", out}, jobtest.Options{})
		if err != nil {
			t.Errorf("grouping %d: %v", by, err)
			continue
		}
		if got, _ := os.ReadFile(out + "/total"); string(got) != "1000" {
			t.Errorf("grouping %d: %s words, want 1000", by, got)
		}
		got := result.Counters["sums"]
		if by == Split && (got <= 3 || got%3 != 0) || by != Split && got != sums {
			t.Errorf("grouping %d: %d tasks, want %d (0: three for each map)", by, got, sums)
		}
	}
}

func TestWrongUseIsNamed(t *testing.T) {
	dir := t.TempDir()
	os.WriteFile(dir+"/in", []byte("x\n"), 0o666)
	run := func(stages ...Stage) error {
		_, err := jobtest.Run(t.Context(), job.Definition{Name: "p", Build: func(g *job.Graph, args []string) error {
			tasks, err := g.Files(job.Files{Patterns: args})
			if err != nil {
				return err
			}
			return Build(g, tasks, stages)
		}}, []string{dir + "/in"}, jobtest.Options{})
		return err
	}
	emit := func(label int) Stage {
		return Stage{Name: fmt.Sprint("emit", label), Labels: 2, Run: func(ctx context.Context, t *Task) error { return t.Emit(ctx, label, nil) }}
	}
	for want, err := range map[string]error{
		"no stage":      run(),
		"has no Run":    run(Stage{Name: "x"}),
		"last stage":    run(emit(0)),
		"labels 0 to 1": run(emit(2), Stage{Name: "end", Run: func(context.Context, *Task) error { return nil }}),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
