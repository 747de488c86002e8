// Channels counts the lengths of lines with a graph that uses all three kinds of
// channel in one job.
//
//	hamadryad local -- channels INPUT OUTPUT
//
//	read --shm--> measure --tcp--> sum --file--> report
//
// Each reader and its measurer share a process and hand lines over in memory. The measurers stream
// to the sums over tcp, so readers, measurers and sums all start together or not at all. The bundle
// takes one slot for each reader and each sum, and waits for as many. The report starts when the
// sums' files are complete. Its one file lists, in order, each length and how many lines have it,
// and does not depend on how many machines ran it. The number of readers is fixed for the same
// reason: the bundle must fit the smallest cluster.
package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/hamadryad/hamadryad/app"
	"github.com/hamadryad/hamadryad/sdk/job"
	"github.com/hamadryad/hamadryad/sdk/job/text"
)

const (
	readers = 2 // and as many measurers
	sums    = 2
)

func main() { app.Main(lengths) }

var lengths = job.Definition{Name: "channels", Help: "INPUT OUTPUT  count the lengths of lines", Build: build}

func build(g *job.Graph, args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("give an input and an output folder")
	}
	planned, err := g.Files(job.Files{Patterns: args[:1]})
	if err != nil {
		return err
	}
	tasks := make([]job.Task, readers)
	for i, t := range planned {
		tasks[i%readers] = append(tasks[i%readers], t...)
	}
	read := g.Stage("read", readers, readLines).Read(tasks)
	measure := g.Stage("measure", readers, measureLines)
	sum := g.Stage("sum", sums, addUp)
	report := g.Stage("report", 1, write(g.Output(args[1])))
	g.OneToOne(read.Out("lines"), measure.In("lines"), job.Channel{Kind: job.SHM})
	g.AllToAll(measure.Out("lengths"), sum.In("lengths"), job.Channel{Kind: job.TCP})
	g.Merge(sum.Out("sums"), report.In("sums"), job.Channel{Kind: job.File})
	return nil
}

func readLines(ctx context.Context, n *job.Node) error {
	emit, err := n.Emitter(ctx, "lines")
	if err != nil {
		return err
	}
	for line, err := range text.Lines(ctx, n) {
		if err != nil {
			return err
		}
		if err := emit(nil, line); err != nil {
			return err
		}
	}
	return nil
}

// measureLines sends each line's length to the sum of that length.
func measureLines(ctx context.Context, n *job.Node) error {
	emit, err := n.Emitter(ctx, "lengths")
	if err != nil {
		return err
	}
	return n.Each(ctx, "lines", func(line []byte) error {
		length := binary.BigEndian.AppendUint64(nil, uint64(len(line)))
		return emit(length, length)
	})
}

// addUp sends each length with its count.
func addUp(ctx context.Context, n *job.Node) error {
	counts := map[uint64]uint64{}
	err := n.Each(ctx, "lengths", func(length []byte) error {
		counts[binary.BigEndian.Uint64(length)]++
		return nil
	})
	if err != nil {
		return err
	}
	emit, err := n.Emitter(ctx, "sums")
	if err != nil {
		return err
	}
	for _, length := range slices.Sorted(maps.Keys(counts)) {
		record := binary.BigEndian.AppendUint64(nil, length)
		if err := emit(nil, binary.BigEndian.AppendUint64(record, counts[length])); err != nil {
			return err
		}
	}
	return nil
}

// write returns the program that writes all sums in order of length.
func write(folder job.Folder) job.Program {
	return func(ctx context.Context, n *job.Node) error {
		var all [][2]uint64
		err := n.Each(ctx, "sums", func(sum []byte) error {
			all = append(all, [2]uint64{binary.BigEndian.Uint64(sum), binary.BigEndian.Uint64(sum[8:])})
			return nil
		})
		if err != nil {
			return err
		}
		slices.SortFunc(all, func(a, b [2]uint64) int { return slices.Compare(a[:], b[:]) })
		f, err := n.Create(ctx, folder, "lengths.txt")
		if err != nil {
			return err
		}
		for _, x := range all {
			if _, err := fmt.Fprintf(f, "%d\t%d\n", x[0], x[1]); err != nil {
				return err
			}
			n.Count("lines", int64(x[1]))
		}
		return f.Close()
	}
}
