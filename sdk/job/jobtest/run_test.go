package jobtest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/sdk/job"
	"github.com/hamadryad/hamadryad/sdk/job/jobtest"
	"github.com/hamadryad/hamadryad/sdk/job/text"
)

// squares has all kinds of channel: numbers read from files are squared beside
// their reader (shm), summed by residue over tcp, and gathered from files.
func squares(g *job.Graph, args []string) error {
	tasks, err := g.Files(job.Files{Patterns: args[:1], SplitBytes: 100})
	if err != nil {
		return err
	}
	out := g.Output(args[1])
	read := g.Stage("read", len(tasks), func(ctx context.Context, n *job.Node) error {
		o, err := n.Output("n")
		if err != nil {
			return err
		}
		for line, err := range text.Lines(ctx, n) {
			if err != nil {
				return err
			}
			if err := o.Write(ctx, 0, line); err != nil {
				return err
			}
		}
		return nil
	}).Read(tasks)
	square := g.Stage("square", len(tasks), each("n", "s", func(v, parts int) (int, int) { return v * v, v % parts }))
	sum := g.Stage("sum", 3, total("s", "t"))
	gather := g.Stage("gather", 1, func(ctx context.Context, n *job.Node) error {
		v, err := sumOf(ctx, n, "t")
		if err != nil {
			return err
		}
		f, err := n.Create(ctx, out, "total")
		if err != nil {
			return err
		}
		fmt.Fprintln(f, v)
		n.Count("files", 1)
		return f.Close()
	})
	g.OneToOne(read.Out("n"), square.In("n"), job.Channel{Kind: job.SHM})
	g.AllToAll(square.Out("s"), sum.In("s"), job.Channel{Kind: job.TCP})
	g.Merge(sum.Out("t"), gather.In("t"), job.Channel{Kind: job.File})
	return nil
}

func each(in, out string, f func(v, parts int) (int, int)) job.Program {
	return func(ctx context.Context, n *job.Node) error {
		i, err := n.Input(in)
		if err != nil {
			return err
		}
		o, err := n.Output(out)
		if err != nil {
			return err
		}
		for {
			b, err := i.Next(ctx)
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			for r := range b.All() {
				var v int
				fmt.Sscan(string(r), &v)
				w, part := f(v, o.Partitions())
				if err := o.Write(ctx, part, fmt.Append(nil, w)); err != nil {
					return err
				}
			}
		}
	}
}

func sumOf(ctx context.Context, n *job.Node, in string) (sum int, err error) {
	i, err := n.Input(in)
	if err != nil {
		return 0, err
	}
	for {
		s, err := i.NextSource(ctx)
		if errors.Is(err, io.EOF) {
			return sum, nil
		}
		for {
			b, err := s.Next(ctx)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return 0, err
			}
			for r := range b.All() {
				var v int
				fmt.Sscan(string(r), &v)
				sum += v
			}
		}
	}
}

func total(in, out string) job.Program {
	return func(ctx context.Context, n *job.Node) error {
		v, err := sumOf(ctx, n, in)
		if err != nil {
			return err
		}
		o, err := n.Output(out)
		if err != nil {
			return err
		}
		return o.Write(ctx, 0, fmt.Append(nil, v))
	}
}

func TestAllKindsOfChannel(t *testing.T) {
	dir := t.TempDir()
	var input strings.Builder
	want := 0
	for i := range 2000 {
		fmt.Fprintln(&input, i)
		want += i * i
	}
	os.WriteFile(dir+"/in", []byte(input.String()), 0o666)
	d := job.Definition{Name: "squares", Build: squares}
	for _, parallel := range []int{1, 8} {
		out := fmt.Sprint(dir, "/out", parallel)
		result, err := jobtest.Run(t.Context(), d, []string{dir + "/in", out}, jobtest.Options{Parallel: parallel})
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := os.ReadFile(out + "/total"); strings.TrimSpace(string(got)) != fmt.Sprint(want) {
			t.Errorf("total %s, want %d", got, want)
		}
		if result.Counters["files"] != 1 {
			t.Errorf("counters %v", result.Counters)
		}
	}
	if _, err := jobtest.Run(t.Context(), d, []string{dir + "/in", dir + "/out1"}, jobtest.Options{}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("existing output: %v", err)
	}
}

func TestFailedJobLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	boom := errors.New("boom")
	_, err := jobtest.Run(t.Context(), job.Definition{Name: "bad", Build: func(g *job.Graph, args []string) error {
		out := g.Output(args[0])
		a := g.Stage("a", 2, func(ctx context.Context, n *job.Node) error {
			f, err := n.Create(ctx, out, fmt.Sprint("part-", n.Info().Index))
			if err != nil {
				return err
			}
			f.Close()
			if n.Info().Index == 1 {
				return boom
			}
			return nil
		})
		b := g.Stage("b", 1, total("x", "none"))
		g.Merge(a.Out("x"), b.In("x"), job.Channel{Kind: job.TCP})
		return nil
	}}, []string{dir + "/out"}, jobtest.Options{})
	var failed *jobtest.Error
	if !errors.Is(err, boom) || !errors.As(err, &failed) || failed.Stage != "a" || failed.Index != 1 {
		t.Errorf("%v", err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 0 {
		t.Errorf("left behind: %v", entries)
	}
}

func TestOtherGraphTheSecondTime(t *testing.T) {
	nodes := 0
	_, err := jobtest.Run(t.Context(), job.Definition{Name: "fickle", Build: func(g *job.Graph, _ []string) error {
		nodes++
		g.Stage("a", nodes, func(context.Context, *job.Node) error { return nil })
		return nil
	}}, nil, jobtest.Options{})
	if err == nil || !strings.Contains(err.Error(), "another graph") {
		t.Errorf("%v", err)
	}
}

// A command as a stage, and a command that a program runs, with a file that
// travels with the job.
func TestCommands(t *testing.T) {
	folder := t.TempDir()
	script := filepath.Join(folder, "louder")
	if err := os.WriteFile(script, []byte("#!/bin/sh\ntr a-z A-Z\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	d := job.Definition{Name: "commands", Build: func(g *job.Graph, args []string) error {
		out := g.Output(args[0])
		say := g.CommandStage("say", 1, job.Command{Args: []string{"printf", "%s\n", "one", "two"}})
		write := g.Stage("write", 1, func(ctx context.Context, n *job.Node) error {
			file, err := n.Create(ctx, out, "part")
			if err != nil {
				return err
			}
			in, err := n.Input("in")
			if err != nil {
				return err
			}
			err = n.Run(ctx, job.Command{Args: []string{"./louder"}}, job.Pipes{
				In: func(w io.Writer) error {
					b, err := in.Next(ctx)
					if err != nil {
						return err
					}
					for r := range b.All() {
						fmt.Fprintf(w, "%s\n", r)
					}
					return nil
				},
				Out: func(r io.Reader) error { _, err := io.Copy(file, r); return err },
			})
			if err != nil {
				return err
			}
			return file.Close()
		}).Files(script)
		g.OneToOne(say.Out("out"), write.In("in"), job.Channel{Kind: job.File})
		return nil
	}}
	out := filepath.Join(folder, "out")
	if _, err := jobtest.Run(t.Context(), d, []string{out}, jobtest.Options{}); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(out, "part")); err != nil || string(got) != "ONE\nTWO\n" {
		t.Errorf("%v: %q", err, got)
	}
}

// Sums that no counter can hold fail the job with the counter's name, within a node and
// over nodes.
func TestACounterThatGoesRoundFails(t *testing.T) {
	for nodes, delta := range map[int]int64{1: 1 << 62, 2: 1<<63 - 1} {
		_, err := jobtest.Run(t.Context(), job.Definition{Name: "x", Build: func(g *job.Graph, _ []string) error {
			g.Stage("count", nodes, func(_ context.Context, n *job.Node) error {
				n.Count("rows", delta)
				if nodes == 1 {
					n.Count("rows", delta)
				}
				return nil
			})
			return nil
		}}, nil, jobtest.Options{})
		if !errors.Is(err, job.ErrPermanent) || !strings.Contains(err.Error(), `the counter "rows"`) {
			t.Errorf("%d nodes: %v", nodes, err)
		}
	}
}
