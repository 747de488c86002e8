// Gated is the fault tests' application: a word count in two stages whose nodes stop at gates, so
// that a test can break things at a known moment. A node that reaches a gate creates a file
// REACHED.<gate>.<index>.a<attempt> in the gates' folder and continues when a file OPEN.<gate>
// exists.
//
// Gates: reading (after a map's first word was read), map (before it writes), maphalf (after half
// of its words), read (before a reduce reads), reduce (after its first batch), part (before it
// makes its part file), partway (after half of it).
//
// CHANNEL is file, tcp, shm, or adapted: a file channel whose readers are chosen by bytes. It may be
// aggregated: a stage, with the gate gather, copies what the maps of a machine wrote.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/hamadryad/hamadryad/app"
	_ "github.com/hamadryad/hamadryad/hdfs" // hdfs://
	"github.com/hamadryad/hamadryad/sdk/job"
)

func main() {
	app.Main(job.Definition{
		Name:  "gated",
		Help:  "IN OUT GATES CHANNEL SLOWSTART REDUCES: counts words, stopping at gates",
		Build: build,
	})
}

func build(g *job.Graph, args []string) error {
	if len(args) != 6 {
		return fmt.Errorf("want IN OUT GATES CHANNEL SLOWSTART REDUCES, got %q", args)
	}
	tasks, err := g.Files(job.Files{Patterns: []string{args[0]}, SplitBytes: 4 << 10, Whole: true})
	if err != nil {
		return err
	}
	slow, err := strconv.ParseFloat(args[4], 64)
	if err != nil {
		return err
	}
	reduces, err := strconv.Atoi(args[5])
	if err != nil {
		return err
	}
	kinds := map[string]job.ChannelKind{"file": job.File, "tcp": job.TCP, "shm": job.SHM}
	w := &wordCount{gates: args[2], out: g.Output(args[1])}
	maps := g.Stage("map", len(tasks), w.doMap).Read(tasks)
	reduce := g.Stage("reduce", reduces, w.doReduce).Shuffles()
	channel := job.Channel{Kind: kinds[args[3]], SlowStart: slow}
	if args[3] == "adapted" {
		channel.Kind, channel.Adapt = job.File, job.Adapt{Partitions: reduces, Bytes: adaptBytes}
	}
	if args[3] == "aggregated" {
		gather := g.Stage("gather", len(tasks), w.gather)
		channel.Kind = job.File
		g.AllToAll(gather.Out("words"), reduce.In("words"), channel)
		channel.Aggregate, reduce = job.Aggregate{By: job.Machine, Bytes: 1}, gather
	}
	g.AllToAll(maps.Out("words"), reduce.In("words"), channel)
	return nil
}

// adaptBytes is up to how many bytes an adapted connection joins partitions: a few of them.
const adaptBytes = 4000

type wordCount struct {
	gates string
	out   job.Folder
}

// gate reports that it was reached and waits until it is open; a gate whose folder holds no
// SHUT.<name> is open from the start.
func (w *wordCount) gate(ctx context.Context, n *job.Node, name string) error {
	info := n.Info()
	reached := filepath.Join(w.gates, fmt.Sprintf("REACHED.%s.%d.a%d", name, info.Index, info.Attempt))
	hidden := filepath.Join(w.gates, "."+filepath.Base(reached)) // so that a reader that sees the file can read all of it
	if err := os.WriteFile(hidden, []byte(strconv.Itoa(os.Getpid())), 0o644); err != nil {
		return err
	}
	if err := os.Rename(hidden, reached); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(w.gates, "SHUT."+name)); err != nil {
		return nil
	}
	for {
		if _, err := os.Stat(filepath.Join(w.gates, "OPEN."+name)); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (w *wordCount) doMap(ctx context.Context, n *job.Node) error {
	if err := w.gate(ctx, n, "map"); err != nil {
		return err
	}
	out, err := n.Output("words")
	if err != nil {
		return err
	}
	words, err := w.readWords(ctx, n)
	if err != nil {
		return err
	}
	for i, word := range words {
		if i == len(words)/2 {
			if err := w.gate(ctx, n, "maphalf"); err != nil {
				return err
			}
		}
		if err := send(ctx, out, []byte(word)); err != nil {
			return err
		}
	}
	n.Count("words", int64(len(words)))
	return nil
}

// send writes a word to its partition.
func send(ctx context.Context, out job.Output, word []byte) error {
	h := fnv.New32a()
	h.Write(word)
	return out.Write(ctx, int(h.Sum32()%uint32(out.Partitions())), word)
}

func (w *wordCount) gather(ctx context.Context, n *job.Node) error {
	if err := w.gate(ctx, n, "gather"); err != nil {
		return err
	}
	out, err := n.Output("words")
	if err != nil {
		return err
	}
	return n.Each(ctx, "words", func(word []byte) error { return send(ctx, out, word) })
}

func (w *wordCount) readWords(ctx context.Context, n *job.Node) ([]string, error) {
	var words []string
	for _, split := range n.Task() {
		r, err := n.Open(ctx, split)
		if err != nil {
			return nil, err
		}
		scan := bufio.NewScanner(r)
		scan.Split(bufio.ScanWords)
		for scan.Scan() {
			words = append(words, scan.Text())
			if len(words) == 1 {
				if err := w.gate(ctx, n, "reading"); err != nil {
					return nil, errors.Join(err, r.Close())
				}
			}
		}
		r.Close()
		if scan.Err() != nil {
			return nil, scan.Err()
		}
	}
	return words, nil
}

func (w *wordCount) doReduce(ctx context.Context, n *job.Node) error {
	in, err := n.Input("words")
	if err != nil {
		return err
	}
	if err := w.gate(ctx, n, "read"); err != nil {
		return err
	}
	counts := map[string]int{}
	for first := true; ; first = false {
		b, err := in.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		for word := range b.All() {
			counts[string(word)]++
		}
		if first {
			if err := w.gate(ctx, n, "reduce"); err != nil {
				return err
			}
		}
	}
	n.Executing()
	if err := w.gate(ctx, n, "part"); err != nil {
		return err
	}
	return w.write(ctx, n, counts)
}

func (w *wordCount) write(ctx context.Context, n *job.Node, counts map[string]int) error {
	lines := make([]string, 0, len(counts))
	for word, c := range counts {
		lines = append(lines, fmt.Sprintf("%s\t%d\n", word, c))
	}
	sort.Strings(lines)
	f, err := n.Create(ctx, w.out, fmt.Sprintf("part-%05d", n.Info().Index))
	if err != nil {
		return err
	}
	if _, err := io.WriteString(f, strings.Join(lines[:len(lines)/2], "")); err != nil {
		return err
	}
	if err := w.gate(ctx, n, "partway"); err != nil {
		return err
	}
	if _, err := io.WriteString(f, strings.Join(lines[len(lines)/2:], "")); err != nil {
		return err
	}
	return f.Close()
}
