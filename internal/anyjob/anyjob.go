// Package anyjob makes random graphs for tests of the engines that run them. Their stages are
// joined by file, tcp and shm channels. Nodes read their inputs and write their outputs in any
// order. Each channel carries more than it holds in memory, and each reader checks what it
// receives.
//
//	jobtest.Run(ctx, anyjob.Definition, []string{"17"}, jobtest.Options{}) // seed 17
package anyjob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"

	"github.com/hamadryad/hamadryad/sdk/job"
)

// Definition builds the graph of a seed.
var Definition = job.Definition{Name: "any", Help: "SEED  a random graph whose nodes read and write in any order", Build: build}

const (
	stagesMax  = 6
	nodesMax   = 2
	recordSize = 9 << 10
	// recordsMost is over a megabyte of records for one channel: more than a tcp or a shm channel
	// holds.
	recordsMost = 160
)

// joint is one connection of the drawn graph.
type joint struct {
	from, to int
	kind     job.ChannelKind
	records  int // of each of its channels
}

func (j joint) name(i int) string { return "c" + strconv.Itoa(i) }

// drawn is the graph of a seed.
type drawn struct {
	nodes  []int // of each stage
	joints []joint
}

func draw(seed uint64) drawn {
	r := rand.New(rand.NewPCG(seed, 1))
	d := drawn{nodes: make([]int, 2+r.IntN(stagesMax-1))}
	for i := range d.nodes {
		d.nodes[i] = 1 + r.IntN(nodesMax)
	}
	kinds := []job.ChannelKind{job.TCP, job.TCP, job.TCP, job.SHM, job.File}
	for to := 1; to < len(d.nodes); to++ {
		for _, from := range r.Perm(to)[:1+r.IntN(min(to, 2))] {
			for range 1 + r.IntN(2) {
				d.joints = append(d.joints, joint{from, to, kinds[r.IntN(len(kinds))], r.IntN(recordsMost)})
			}
		}
	}
	d.order()
	return d
}

// order replaces file channels that form a cycle by tcp channels. Nodes joined by tcp or shm start
// together; nodes joined by files start one after the other.
func (d *drawn) order() {
	bundle := make([]int, len(d.nodes))
	for i := range bundle {
		bundle[i] = i
	}
	union := func(j joint) {
		a, b := bundle[j.from], bundle[j.to]
		for i := range bundle {
			if bundle[i] == a {
				bundle[i] = b
			}
		}
	}
	for _, j := range d.joints {
		if j.kind != job.File {
			union(j)
		}
	}
	for again := true; again; {
		again = false
		for i, j := range d.joints {
			if j.kind == job.File && d.reaches(bundle, bundle[j.to], bundle[j.from], map[int]bool{}) {
				d.joints[i].kind, again = job.TCP, true
				union(j)
			}
		}
	}
}

// reaches reports whether a path of file channels leads from one bundle to another.
func (d *drawn) reaches(bundle []int, from, to int, seen map[int]bool) bool {
	if from == to {
		return true
	}
	seen[from] = true
	for _, j := range d.joints {
		if bundle[j.from] == from && !seen[bundle[j.to]] && d.reaches(bundle, bundle[j.to], to, seen) {
			return true
		}
	}
	return false
}

func build(g *job.Graph, args []string) error {
	if len(args) != 1 {
		return errors.New("give a seed")
	}
	seed, err := strconv.ParseUint(args[0], 10, 64)
	if err != nil {
		return err
	}
	d := draw(seed)
	stages := make([]*job.Stage, len(d.nodes))
	for i, nodes := range d.nodes {
		stages[i] = g.Stage("s"+strconv.Itoa(i), nodes, d.program(seed, i))
	}
	for i, j := range d.joints {
		g.AllToAll(stages[j.from].Out(j.name(i)), stages[j.to].In(j.name(i)), job.Channel{Kind: j.kind})
	}
	return nil
}

// program reads and writes the ports of a stage's node one after the other, in an order of its
// own.
func (d *drawn) program(seed uint64, stage int) job.Program {
	return func(ctx context.Context, n *job.Node) error {
		r := rand.New(rand.NewPCG(seed, 1000*uint64(stage)+uint64(n.Info().Index)+2))
		for _, i := range r.Perm(len(d.joints)) {
			j := d.joints[i]
			var err error
			switch {
			case j.from == stage:
				err = write(ctx, n, j, j.name(i))
			case j.to == stage && r.IntN(2) == 0:
				err = readBatches(ctx, n, j, j.name(i), d.nodes[j.from])
			case j.to == stage:
				err = readSources(ctx, n, j, j.name(i))
			}
			if err != nil {
				return fmt.Errorf("port %s: %w", j.name(i), err)
			}
		}
		return nil
	}
}

// write sends to each reader in turn.
func write(ctx context.Context, n *job.Node, j joint, port string) error {
	out, err := n.Output(port)
	if err != nil {
		return err
	}
	record := make([]byte, recordSize)
	for i := range j.records * out.Partitions() {
		copy(record, fmt.Sprintf("%d %d;", n.Info().Index, i/out.Partitions()))
		if err := out.Write(ctx, i%out.Partitions(), record); err != nil {
			return err
		}
	}
	n.Count("sent", int64(j.records*out.Partitions()))
	return nil
}

func readBatches(ctx context.Context, n *job.Node, j joint, port string, writers int) error {
	in, err := n.Input(port)
	if err != nil {
		return err
	}
	next := make([]int, writers)
	if err := each(ctx, n, in, next); err != nil {
		return err
	}
	for from, got := range next {
		if got != j.records {
			return job.Permanent(fmt.Errorf("%d of %d records came from node %d", got, j.records, from))
		}
	}
	return nil
}

func readSources(ctx context.Context, n *job.Node, j joint, port string) error {
	in, err := n.Input(port)
	if err != nil {
		return err
	}
	for {
		s, err := in.NextSource(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		next := make([]int, s.From()+1)
		if err := each(ctx, n, s, next); err != nil {
			return err
		}
		if next[s.From()] != j.records {
			return job.Permanent(fmt.Errorf("%d of %d records came from node %d", next[s.From()], j.records, s.From()))
		}
	}
}

// each checks that the records of each writer come in order.
func each(ctx context.Context, n *job.Node, in job.BatchReader, next []int) error {
	for {
		b, err := in.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for r := range b.All() {
			var from, i int
			if _, err := fmt.Sscanf(string(r[:min(len(r), 40)]), "%d %d;", &from, &i); err != nil || len(r) != recordSize || from >= len(next) || next[from] != i {
				return job.Permanent(fmt.Errorf("record %d of node %d came out of order: %w", i, from, err))
			}
			next[from]++
		}
		n.Count("got", int64(b.Len()))
		job.PutBatch(b)
	}
}
