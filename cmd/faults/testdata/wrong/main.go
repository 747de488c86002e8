// Wrong offers jobs with one mistake each.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/hamadryad/hamadryad/app"
	"github.com/hamadryad/hamadryad/sdk/job"
)

func main() {
	var defs []job.Definition
	for _, d := range []struct {
		name  string
		build func(g *job.Graph, args []string) error
	}{
		{"cycle", cycle},
		{"unconnected", unconnected},
		{"file-in-bundle", fileInBundle},
		{"shm-across-kinds", shmAcrossKinds},
		{"shm-own-process", shmOwnProcess},
		{"too-large", tooLarge},
		{"unknown-kind", unknownKind},
		{"other-graph", otherGraph},
		{"panics", panics},
		{"fails", fails},
		{"reads", reads},
		{"emits-late", emitsLate},
		{"command-fails", commandFails},
	} {
		defs = append(defs, job.Definition{Name: d.name, Help: "is wrong", Build: d.build})
	}
	app.Main(defs...)
}

func nothing(context.Context, *job.Node) error { return nil }

var (
	file = job.Channel{Kind: job.File}
	tcp  = job.Channel{Kind: job.TCP}
	shm  = job.Channel{Kind: job.SHM}
)

func cycle(g *job.Graph, _ []string) error {
	a, b := g.Stage("first", 2, nothing), g.Stage("second", 2, nothing)
	g.OneToOne(a.Out("x"), b.In("x"), file)
	g.OneToOne(b.Out("y"), a.In("y"), file)
	return nil
}

func unconnected(g *job.Graph, _ []string) error {
	g.Stage("alone", 1, nothing).Out("left")
	return nil
}

func fileInBundle(g *job.Graph, _ []string) error {
	a, b := g.Stage("first", 1, nothing), g.Stage("second", 1, nothing)
	g.OneToOne(a.Out("x"), b.In("x"), tcp)
	g.OneToOne(a.Out("y"), b.In("y"), file)
	return nil
}

func shmAcrossKinds(g *job.Graph, _ []string) error {
	a, b := g.Stage("first", 1, nothing), g.Stage("second", 1, nothing).Kind("gpu")
	g.OneToOne(a.Out("x"), b.In("x"), shm)
	return nil
}

func shmOwnProcess(g *job.Graph, _ []string) error {
	a, b := g.Stage("first", 1, nothing), g.Stage("second", 1, nothing).OwnProcess()
	g.OneToOne(a.Out("x"), b.In("x"), shm)
	return nil
}

func tooLarge(g *job.Graph, _ []string) error {
	a, b := g.Stage("first", 50, nothing), g.Stage("second", 50, nothing)
	g.AllToAll(a.Out("x"), b.In("x"), tcp)
	return nil
}

func unknownKind(g *job.Graph, _ []string) error {
	g.Stage("only", 1, nothing).Kind("quantum")
	return nil
}

// otherGraph builds a number of nodes that depends on its process's id.
func otherGraph(g *job.Graph, _ []string) error {
	g.Stage("only", os.Getpid()%1000+1, nothing)
	return nil
}

func panics(g *job.Graph, _ []string) error {
	g.Stage("only", 1, func(_ context.Context, n *job.Node) error {
		n.At("/data/input.txt", 4711)
		var none map[string]int
		none["x"] = 1
		return nil
	})
	return nil
}

func fails(g *job.Graph, args []string) error {
	out := g.Output(args[0])
	g.Stage("only", 3, func(ctx context.Context, n *job.Node) error {
		f, err := n.Create(ctx, out, fmt.Sprint("part-", n.Info().Index))
		if err != nil {
			return err
		}
		if _, err := io.WriteString(f, "half"); err != nil {
			return err
		}
		if n.Info().Index == 1 {
			return errors.New("the third record is odd")
		}
		return f.Close()
	})
	return nil
}

// reads reads its input once the gate file args[1] exists.
func reads(g *job.Graph, args []string) error {
	tasks, err := g.Files(job.Files{Patterns: args[:1]})
	if err != nil {
		return err
	}
	g.Stage("only", len(tasks), func(ctx context.Context, n *job.Node) error {
		for {
			if _, err := os.Stat(args[1]); err == nil {
				break
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(5 * time.Millisecond):
			}
		}
		for _, s := range n.Task() {
			r, err := n.Open(ctx, s)
			if err != nil {
				return err
			}
			if _, err := io.Copy(io.Discard, io.LimitReader(r, s.Length)); err != nil {
				return err
			}
			r.Close()
		}
		return nil
	}).Read(tasks)
	return nil
}

func emitsLate(g *job.Graph, _ []string) error {
	var kept job.Output
	done := make(chan error, 1)
	a := g.Stage("first", 1, func(ctx context.Context, n *job.Node) (err error) {
		kept, err = n.Output("x")
		return err
	})
	b := g.Stage("second", 1, func(ctx context.Context, n *job.Node) error {
		in, err := n.Input("x")
		if err != nil {
			return err
		}
		if _, err := in.Next(ctx); !errors.Is(err, io.EOF) {
			return fmt.Errorf("want the end, got %v", err)
		}
		done <- kept.Write(ctx, 0, []byte("late"))
		return <-done
	})
	g.OneToOne(a.Out("x"), b.In("x"), shm)
	return nil
}

func commandFails(g *job.Graph, _ []string) error {
	g.CommandStage("only", 1, job.Command{Args: []string{"sh", "-c", "echo something is wrong >&2; sleep 1000 & exit 7"}})
	return nil
}
