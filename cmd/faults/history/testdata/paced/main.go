// Paced offers the jobs of the histories. Each pauses for every record of its input, so that faults
// meet it at work. Its output is known to the last byte.
package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hamadryad/hamadryad/app"
	"github.com/hamadryad/hamadryad/mapreduce"
	"github.com/hamadryad/hamadryad/sdk/job"
	"github.com/hamadryad/hamadryad/sdk/job/text"
)

func main() {
	app.Main(
		paced("words", "PACE IN OUT: counts words", 2, words),
		paced("order", "PACE IN OUT: puts lines into order", 2, order),
		paced("join", "PACE IN OUT: joins the lines of two inputs", 2, join),
		paced("graph-tcp", "PACE IN OUT: counts lengths through all three kinds of channel", 2, graph(job.TCP)),
		paced("graph-file", "PACE IN OUT: counts lengths through shm and file channels", 2, graph(job.File)),
		paced("tasks", "PACE N: runs N tasks that count themselves", 1, tasks("")),
		paced("talk", "PACE N: runs N tasks that count themselves and talk much", 1, tasks(strings.Repeat("The oak said more than the elm.\n", 8000))),
		paced("broken", "PACE IN OUT: fails at a record", 2, broken),
	)
}

// splitBytes makes a handful of tasks of an input of a few kilobytes.
const splitBytes = 2000

func paced(name, help string, args int, build func(g *job.Graph, pace time.Duration, args []string) error) job.Definition {
	return job.Definition{Name: name, Help: help, Build: func(g *job.Graph, given []string) error {
		if len(given) != 1+args {
			return fmt.Errorf("want %s, got %q", help, given)
		}
		pace, err := time.ParseDuration(given[0])
		if err != nil {
			return err
		}
		return build(g, pace, given[1:])
	}}
}

// pause waits for the pace, or for the end of the attempt.
func pause(ctx context.Context, pace time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(pace):
		return nil
	}
}

func sum(_ *mapreduce.Task, key string, values iter.Seq[int64], emit func(string, int64)) error {
	var total int64
	for v := range values {
		total += v
	}
	emit(key, total)
	return nil
}

func words(g *job.Graph, pace time.Duration, args []string) error {
	return mapreduce.TextJob[string, int64]{
		Settings: mapreduce.Settings{SplitBytes: splitBytes, Reducers: 2},
		Map: func(t *mapreduce.Task, _ int64, line string, emit func(string, int64)) error {
			for _, word := range strings.Fields(line) {
				emit(word, 1)
			}
			return pause(t.Context(), pace)
		},
		Reduce: sum,
	}.Add(g, args[1], mapreduce.Source{Patterns: args[:1]})
}

// order writes each line with its count, all parts together in order. The sample, which is taken
// while the graph is built, has no pauses.
func order(g *job.Graph, pace time.Duration, args []string) error {
	return mapreduce.TextJob[string, int64]{
		Settings: mapreduce.Settings{SplitBytes: splitBytes, Reducers: 3, TotalOrder: true},
		Map: func(_ *mapreduce.Task, _ int64, line string, emit func(string, int64)) error {
			emit(line, 1)
			return nil
		},
		Reduce: func(t *mapreduce.Task, key string, values iter.Seq[int64], emit func(string, int64)) error {
			if err := pause(t.Context(), pace); err != nil {
				return err
			}
			return sum(t, key, values, emit)
		},
	}.Add(g, args[1], mapreduce.Source{Patterns: args[:1]})
}

// join writes each pair of a left and a right line with the same first field. Its
// input is a folder with the files left and right.
func join(g *job.Graph, pace time.Duration, args []string) error {
	j := mapreduce.Job[int64, string, string, string, string, string]{
		Settings: mapreduce.Settings{SplitBytes: splitBytes, Reducers: 2},
		Map: func(*mapreduce.Task, int64, string, func(string, string)) error {
			return errors.New("each source has a mapper of its own")
		},
		Reduce: func(_ *mapreduce.Task, key string, values iter.Seq[string], emit func(string, string)) error {
			sides := map[byte][]string{}
			for v := range values {
				sides[v[0]] = append(sides[v[0]], v[1:])
			}
			for _, left := range slices.Sorted(slices.Values(sides['l'])) {
				for _, right := range slices.Sorted(slices.Values(sides['r'])) {
					emit(key, left+" "+right)
				}
			}
			return nil
		},
	}
	var sources []mapreduce.Source
	for _, side := range []string{"left", "right"} {
		sources = append(sources, mapreduce.Source{
			Patterns: []string{args[0] + "/" + side},
			Map: j.MapOf(nil, func(t *mapreduce.Task, _ int64, line string, emit func(string, string)) error {
				key, value, _ := strings.Cut(line, " ")
				emit(key, side[:1]+value)
				return pause(t.Context(), pace)
			}),
		})
	}
	return j.Add(g, args[1], sources...)
}

// width is the number of readers, and of sums, of a graph.
const width = 2

// graph makes read --shm--> measure --kind--> sum --file--> report.
func graph(kind job.ChannelKind) func(g *job.Graph, pace time.Duration, args []string) error {
	return func(g *job.Graph, pace time.Duration, args []string) error {
		planned, err := g.Files(job.Files{Patterns: args[:1], SplitBytes: splitBytes})
		if err != nil {
			return err
		}
		splits := make([]job.Task, width)
		for i, t := range planned {
			splits[i%width] = append(splits[i%width], t...)
		}
		read := g.Stage("read", width, readLines(pace)).Read(splits)
		measure := g.Stage("measure", width, measureLines)
		sums := g.Stage("sum", width, addUp)
		report := g.Stage("report", 1, write(g.Output(args[1])))
		g.OneToOne(read.Out("lines"), measure.In("lines"), job.Channel{Kind: job.SHM})
		g.AllToAll(measure.Out("lengths"), sums.In("lengths"), job.Channel{Kind: kind})
		g.Merge(sums.Out("sums"), report.In("sums"), job.Channel{Kind: job.File})
		return nil
	}
}

func readLines(pace time.Duration) job.Program {
	return func(ctx context.Context, n *job.Node) error {
		out, err := n.Output("lines")
		if err != nil {
			return err
		}
		for line, err := range text.Lines(ctx, n) {
			if err == nil {
				err = errors.Join(out.Write(ctx, 0, line), pause(ctx, pace))
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
}

func measureLines(ctx context.Context, n *job.Node) error {
	out, err := n.Output("lengths")
	if err != nil {
		return err
	}
	return n.Each(ctx, "lines", func(line []byte) error {
		length := binary.BigEndian.AppendUint64(nil, uint64(len(line)))
		return out.Write(ctx, len(line)%out.Partitions(), length)
	})
}

func addUp(ctx context.Context, n *job.Node) error {
	counts := map[uint64]uint64{}
	err := n.Each(ctx, "lengths", func(length []byte) error {
		counts[binary.BigEndian.Uint64(length)]++
		return nil
	})
	if err != nil {
		return err
	}
	out, err := n.Output("sums")
	if err != nil {
		return err
	}
	for _, length := range slices.Sorted(maps.Keys(counts)) {
		record := binary.BigEndian.AppendUint64(nil, length)
		if err := out.Write(ctx, 0, binary.BigEndian.AppendUint64(record, counts[length])); err != nil {
			return err
		}
	}
	return nil
}

func write(folder job.Folder) job.Program {
	return func(ctx context.Context, n *job.Node) error {
		counts := map[uint64]uint64{}
		err := n.Each(ctx, "sums", func(sum []byte) error {
			counts[binary.BigEndian.Uint64(sum)] += binary.BigEndian.Uint64(sum[8:])
			return nil
		})
		if err != nil {
			return err
		}
		f, err := n.Create(ctx, folder, "part-lengths")
		if err != nil {
			return err
		}
		for _, length := range slices.Sorted(maps.Keys(counts)) {
			if _, err := fmt.Fprintf(f, "%d\t%d\n", length, counts[length]); err != nil {
				return err
			}
		}
		return f.Close()
	}
}

// tasks count themselves and print a text.
func tasks(say string) func(g *job.Graph, pace time.Duration, args []string) error {
	return func(g *job.Graph, pace time.Duration, args []string) error {
		n, err := strconv.Atoi(args[0])
		if err != nil {
			return err
		}
		g.Stage("tasks", n, func(ctx context.Context, n *job.Node) error {
			n.Count("tasks run", 1)
			fmt.Print(say)
			return pause(ctx, pace)
		})
		return nil
	}
}

// broken fails at the line that demands it.
func broken(g *job.Graph, pace time.Duration, args []string) error {
	return mapreduce.TextJob[string, int64]{
		Settings: mapreduce.Settings{SplitBytes: splitBytes, Reducers: 1},
		Map: func(t *mapreduce.Task, _ int64, line string, emit func(string, int64)) error {
			if strings.Contains(line, "rotten") {
				return fmt.Errorf("%q is no tree", line)
			}
			emit(line, 1)
			return pause(t.Context(), pace)
		},
		Reduce: sum,
	}.Add(g, args[1], mapreduce.Source{Patterns: args[:1]})
}
