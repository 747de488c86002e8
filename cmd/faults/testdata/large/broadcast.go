package main

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/hamadryad/hamadryad/sdk/job"
)

// broadcastRecord is the size of a record of the job broadcast, in bytes.
const broadcastRecord = 10_000

// broadcast is a stage of one node that is expected to be done at once, and whose readers read all of
// its output. How much that is shows when it runs.
func broadcast(g *job.Graph, args []string) error {
	if len(args) != 5 {
		return errors.New("give MEMORY BYTES READERS CHANNEL OUTPUT")
	}
	memory, err1 := strconv.ParseInt(args[0], 10, 64)
	bytes, err2 := strconv.Atoi(args[1])
	readers, err3 := strconv.Atoi(args[2])
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	write := g.Stage("write", 1, writeToAll(bytes/broadcastRecord)).Memory(memory).Expect(time.Millisecond)
	read := g.Stage("read", readers, readAll(g.Output(args[4]))).Memory(memory)
	from, to := write.Out("all"), read.In("all")
	switch args[3] {
	case "file":
		g.AllToAll(from, to, job.Channel{Kind: job.File})
	case "tcp":
		g.AllToAll(from, to, job.Channel{Kind: job.TCP})
	case "shm":
		g.AllToAll(from, to, job.Channel{Kind: job.SHM})
	case "edges":
		var edges []job.Edge
		for i := range readers {
			edges = append(edges, job.Edge{From: 0, To: i})
		}
		g.Connect(from, to, job.Channel{Kind: job.File}, edges)
	default:
		return fmt.Errorf("no channel is called %q", args[3])
	}
	return nil
}

// writeToAll writes each of so many records to all readers. No codec makes them smaller.
func writeToAll(records int) job.Program {
	return func(ctx context.Context, n *job.Node) error {
		out, err := n.Output("all")
		if err != nil {
			return err
		}
		record, random := make([]byte, broadcastRecord), rand.NewChaCha8([32]byte{})
		for range records {
			_, _ = random.Read(record) // it never fails
			for i := range out.Partitions() {
				if err := out.Write(ctx, i, record); err != nil {
					return err
				}
			}
		}
		return nil
	}
}

// readAll counts what it reads, and adds up its checksums.
func readAll(folder job.Folder) job.Program {
	return func(ctx context.Context, n *job.Node) error {
		count, sum := 0, uint64(0)
		err := n.Each(ctx, "all", func(record []byte) error {
			count, sum = count+1, sum+uint64(crc32.ChecksumIEEE(record))
			return nil
		})
		if err != nil {
			return err
		}
		f, err := n.CreatePart(ctx, folder)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(f, count, sum); err != nil {
			return err
		}
		return f.Close()
	}
}
