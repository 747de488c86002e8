// Many offers jobs of very many nodes that do almost nothing.
package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/hamadryad/hamadryad/app"
	"github.com/hamadryad/hamadryad/sdk/job"
)

func main() {
	app.Main(
		job.Definition{Name: "sums", Help: "N READERS OUTPUT [LATER]  N nodes write their index, READERS nodes add all up; LATER: readers begin early", Build: sums},
		job.Definition{Name: "parts", Help: "N OUTPUT  each of N nodes writes one part", Build: parts},
		job.Definition{Name: "taken", Help: "N OUTPUT  as parts, and the first makes a folder OUTPUT that is in the way", Build: taken},
		job.Definition{Name: "twice", Help: "OUTPUT  two nodes make one file", Build: twice},
	)
}

func numbers(args []string, most int) (list []int, err error) {
	if len(args) < most+1 {
		return nil, errors.New("give the numbers of nodes and OUTPUT")
	}
	for _, a := range args[:most] {
		n, err := strconv.Atoi(a)
		if err != nil {
			return nil, err
		}
		list = append(list, n)
	}
	return list, nil
}

func sums(g *job.Graph, args []string) error {
	n, err := numbers(args, 2)
	if err != nil {
		return err
	}
	c := job.Channel{Kind: job.File}
	if len(args) > 3 {
		c.SlowStart = 0.01
	}
	write := g.Stage("write", n[0], writeIndexes)
	read := g.Stage("read", n[1], addUp(g.Output(args[2])))
	g.AllToAll(write.Out("indexes"), read.In("indexes"), c)
	return nil
}

// writeIndexes sends its own index to every reader.
func writeIndexes(ctx context.Context, n *job.Node) error {
	out, err := n.Output("indexes")
	if err != nil {
		return err
	}
	for i := range out.Partitions() {
		if err := out.Write(ctx, i, binary.LittleEndian.AppendUint64(nil, uint64(n.Info().Index))); err != nil {
			return err
		}
	}
	return nil
}

// addUp writes the number of records, and their sum.
func addUp(f job.Folder) job.Program {
	return func(ctx context.Context, n *job.Node) error {
		var count, sum uint64
		if err := n.Each(ctx, "indexes", func(record []byte) error {
			count++
			sum += binary.LittleEndian.Uint64(record)
			return nil
		}); err != nil {
			return err
		}
		return part(ctx, n, f, fmt.Sprintf("%d %d\n", count, sum))
	}
}

func part(ctx context.Context, n *job.Node, f job.Folder, text string) error {
	w, err := n.CreatePart(ctx, f)
	if err != nil {
		return err
	}
	if _, err := w.Write([]byte(text)); err != nil {
		return err
	}
	return w.Close()
}

func parts(g *job.Graph, args []string) error {
	n, err := numbers(args, 1)
	if err != nil {
		return err
	}
	f := g.Output(args[1])
	g.Stage("write", n[0], func(ctx context.Context, n *job.Node) error { return part(ctx, n, f, "x") })
	return nil
}

func taken(g *job.Graph, args []string) error {
	n, err := numbers(args, 1)
	if err != nil {
		return err
	}
	f := g.Output(args[1])
	g.Stage("write", n[0], func(ctx context.Context, n *job.Node) error {
		if n.Info().Index == 0 {
			if err := os.MkdirAll(args[1], 0o755); err != nil {
				return err
			}
		}
		return part(ctx, n, f, fmt.Sprintln(n.Info().Index))
	})
	return nil
}

func twice(g *job.Graph, args []string) error {
	if len(args) != 1 {
		return errors.New("give OUTPUT")
	}
	f := g.Output(args[0])
	g.Stage("write", 2, func(ctx context.Context, n *job.Node) error {
		w, err := n.Create(ctx, f, "result")
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(w, n.Info().Index); err != nil {
			return err
		}
		return w.Close()
	})
	return nil
}
