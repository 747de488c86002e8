package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/hamadryad/hamadryad/sdk/job"
)

// The sizes of the job skew.
const (
	skewWriters    = 16
	skewPartitions = 64
	skewBytes      = 64 << 20 // of a reader
	skewMemory     = 512 << 20
)

// largeOf are, by kind of skew, the thousandths of all records that partition 0 has beyond its share.
var largeOf = map[string]int{"even": 0, "half": 492, "large": 940}

func buildSkew(g *job.Graph, args []string) error {
	if len(args) != 2 {
		return errors.New("give the kind of skew and the number of bytes: even|half|large BYTES")
	}
	large, known := largeOf[args[0]]
	size, err := strconv.Atoi(args[1])
	if err != nil || size < 1 || !known {
		return fmt.Errorf("%q is none of even, half and large, or %q is no number from 1 on", args[0], args[1])
	}
	from := g.Stage("write", skewWriters, writeSkewed(large, size/recordBytes/skewWriters))
	to := g.Stage("sort", 2*skewPartitions, sortRecords).Memory(skewMemory)
	g.AllToAll(from.Out("records"), to.In("records"), job.Channel{
		Kind: job.File, Codec: job.NoCodec, Adapt: job.Adapt{Partitions: skewPartitions, Bytes: skewBytes, Split: true},
	})
	return nil
}

func writeSkewed(large, each int) job.Program {
	return func(ctx context.Context, n *job.Node) error {
		out, err := n.Output("records")
		if err != nil {
			return err
		}
		random := rand.New(rand.NewPCG(2, uint64(n.Info().Index)))
		record := make([]byte, recordBytes)
		for range each {
			for at := 0; at < recordBytes; at += 4 {
				binary.LittleEndian.PutUint32(record[at:], random.Uint32())
			}
			partition := random.IntN(out.Partitions())
			if random.IntN(1000) < large {
				partition = 0
			}
			if err := out.Write(ctx, partition, record); err != nil {
				return err
			}
		}
		n.Count("written", int64(each))
		return nil
	}
}

func sortRecords(ctx context.Context, n *job.Node) error {
	var all []byte
	if err := n.Each(ctx, "records", func(record []byte) error {
		all = append(all, record...)
		return nil
	}); err != nil {
		return err
	}
	records := slices.Collect(slices.Chunk(all, recordBytes))
	slices.SortFunc(records, bytes.Compare)
	n.Count("sorted", int64(len(records)))
	return nil
}
