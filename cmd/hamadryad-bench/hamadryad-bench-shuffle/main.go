// Command hamadryad-bench-shuffle has jobs of hamadryad-bench. In the first each of many writers has
// records for each of many readers. In the second readers sort what they get, and partitions may be of
// unequal size.
//
//	hamadryad local -- hamadryad-bench-shuffle shuffle 1000 1000 1000000000
//	hamadryad local -- hamadryad-bench-shuffle skew half 1000000000
//
// A record has 100 bytes: its writer, its reader, and random digits. Each reader checks that it got
// the records that were written for it, and only those.
package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/hamadryad/hamadryad/app"
	"github.com/hamadryad/hamadryad/sdk/job"
)

const recordBytes = 100

func main() {
	app.Main(job.Definition{
		Name: "shuffle", Help: "WRITERS READERS BYTES  send so many bytes in all from all writers to all readers", Build: build,
	}, job.Definition{
		Name: "skew", Help: "even|half|large BYTES  sort so many bytes by partition; half: one partition has half of them; large: one has 1,000 times the median", Build: buildSkew,
	})
}

func build(g *job.Graph, args []string) error {
	if len(args) != 3 {
		return errors.New("give the numbers of writers, readers and bytes: WRITERS READERS BYTES")
	}
	var n [3]int
	for i, arg := range args {
		var err error
		if n[i], err = strconv.Atoi(arg); err != nil || n[i] < 1 {
			return fmt.Errorf("%q is no number from 1 on", arg)
		}
	}
	writers, readers, each := n[0], n[1], n[2]/recordBytes/n[0]
	from := g.Stage("write", writers, write(readers, each))
	to := g.Stage("read", readers, read(writers, readers, each))
	g.AllToAll(from.Out("records"), to.In("records"), job.Channel{Kind: job.File})
	return nil
}

// readerOf is the reader of a writer's record: each reader gets an equal share, up to one record.
func readerOf(writer, record, readers int) int { return (writer + record) % readers }

func write(readers, each int) job.Program {
	return func(ctx context.Context, n *job.Node) error {
		out, err := n.Output("records")
		if err != nil {
			return err
		}
		self := n.Info().Index
		random := rand.New(rand.NewPCG(1, uint64(self)))
		record := make([]byte, recordBytes)
		for i := range each {
			reader := readerOf(self, i, readers)
			binary.LittleEndian.PutUint32(record, uint32(self))
			binary.LittleEndian.PutUint32(record[4:], uint32(reader))
			for at := 8; at < recordBytes; at += 4 {
				binary.LittleEndian.PutUint32(record[at:], random.Uint32())
			}
			if err := out.Write(ctx, reader, record); err != nil {
				return err
			}
		}
		return nil
	}
}

func read(writers, readers, each int) job.Program {
	return func(ctx context.Context, n *job.Node) error {
		self, got := n.Info().Index, make([]int, writers)
		err := n.Each(ctx, "records", func(record []byte) error {
			writer, reader := int(binary.LittleEndian.Uint32(record)), int(binary.LittleEndian.Uint32(record[4:]))
			if reader != self || writer >= writers {
				return fmt.Errorf("reader %d got a record of writer %d for reader %d", self, writer, reader)
			}
			got[writer]++
			return nil
		})
		if err != nil {
			return err
		}
		for writer, count := range got {
			if want := wanted(writer, self, readers, each); count != want {
				return fmt.Errorf("reader %d got %d records of writer %d, and %d were written", self, count, writer, want)
			}
		}
		return nil
	}
}

// wanted is how many of a writer's records are for a reader.
func wanted(writer, reader, readers, each int) int {
	first := ((reader-writer)%readers + readers) % readers // its first record for this reader
	if first >= each {
		return 0
	}
	return (each-first-1)/readers + 1
}
