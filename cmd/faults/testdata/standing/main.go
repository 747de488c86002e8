// Standing offers jobs whose programs never return, each in a different way, and graphs whose nodes
// wait for each other.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/hamadryad/hamadryad/app"
	"github.com/hamadryad/hamadryad/internal/anyjob"
	"github.com/hamadryad/hamadryad/sdk/job"
)

func main() {
	defs := []job.Definition{anyjob.Definition}
	for name, program := range map[string]job.Program{
		"goexit": func(context.Context, *job.Node) error { runtime.Goexit(); return nil },
		"spins":  func(context.Context, *job.Node) error { spin(); return nil },
		"waits":  func(ctx context.Context, _ *job.Node) error { <-ctx.Done(); return ctx.Err() },
		"works": func(ctx context.Context, n *job.Node) error {
			for ctx.Err() == nil {
				time.Sleep(100 * time.Millisecond)
				n.Count("steps", 1)
			}
			return ctx.Err()
		},
		"steers": func(context.Context, *job.Node) error {
			fmt.Println("printed " + orders)
			return errors.New("the program says " + orders)
		},
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
	defs = append(defs, job.Definition{Name: "told", Help: "counts what its nodes were told", Env: []string{"TOLD"}, Build: told})
	defs = append(defs, job.Definition{Name: "differs", Help: "has another graph in a worker", Build: func(g *job.Graph, _ []string) error {
		nodes := 3
		if inWorker() {
			nodes = 2
		}
		g.Stage("x", nodes, func(context.Context, *job.Node) error { return nil })
		return nil
	}})
	defs = append(defs, job.Definition{Name: "unread", Help: "b does not read what a writes", Build: unread})
	defs = append(defs, job.Definition{Name: "crossed", Help: "b reads last what a writes first", Build: crossed})
	flag.Var(&words, "word", "`WORD` for nodes; may be repeated")
	app.Main(defs...)
}

// orders are terminal control sequences, and characters that reverse the following text.
const orders = "\x1b]0;owned\x07\x1b[31mred\u009b2J\u202eend"

// unread is a graph whose first node is blocked writing to its second.
func unread(g *job.Graph, _ []string) error {
	a := g.Stage("a", 1, func(ctx context.Context, n *job.Node) error { return writeLines(ctx, n, "lines", 1<<20) })
	b := g.Stage("b", 1, func(ctx context.Context, _ *job.Node) error { <-ctx.Done(); return ctx.Err() })
	g.OneToOne(a.Out("lines"), b.In("lines"), job.Channel{Kind: job.TCP})
	return nil
}

// crossed is a graph of two nodes: a writes port big, then port small; b reads small, then big.
func crossed(g *job.Graph, _ []string) error {
	a := g.Stage("a", 1, func(ctx context.Context, n *job.Node) error {
		return errors.Join(writeLines(ctx, n, "big", 8<<10), writeLines(ctx, n, "small", 1))
	})
	b := g.Stage("b", 1, func(ctx context.Context, n *job.Node) error {
		for _, port := range []string{"small", "big"} {
			if err := n.Each(ctx, port, func([]byte) error { n.Count(port, 1); return nil }); err != nil {
				return err
			}
		}
		return nil
	})
	for _, port := range []string{"big", "small"} {
		g.OneToOne(a.Out(port), b.In(port), job.Channel{Kind: job.TCP})
	}
	return nil
}

// writeLines writes lines of a kibibyte.
func writeLines(ctx context.Context, n *job.Node, port string, lines int) error {
	emit, err := n.Emitter(ctx, port)
	for range lines {
		if err != nil {
			break
		}
		err = emit(nil, make([]byte, 1<<10))
	}
	return err
}

var (
	nodes = flag.Int("nodes", 1, "`N` nodes of the stage")
	words list
)

// list collects the values of a flag.
type list []string

func (l *list) String() string     { return fmt.Sprint(len(*l)) }
func (l *list) Set(s string) error { *l = append(*l, s); return nil }

// told makes nodes count the flags, arguments and variables that they receive, in a command as
// well.
func told(g *job.Graph, args []string) error {
	g.Stage("x", *nodes, func(ctx context.Context, n *job.Node) error {
		for _, word := range words {
			n.Count("word "+word, 1)
		}
		n.Count("nodes "+strconv.Itoa(*nodes)+" args "+strings.Join(flag.Args(), ","), 1)
		n.Count("env "+os.Getenv("TOLD")+" "+os.Getenv("ALSO"), 1)
		return n.Run(ctx, job.Command{Args: []string{"sh", "-c", "echo $TOLD $ALSO"}}, job.Pipes{Out: func(r io.Reader) error {
			b, err := io.ReadAll(r)
			n.Count("command "+strings.TrimSpace(string(b)), 1)
			return err
		}})
	})
	return nil
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
