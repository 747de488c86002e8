package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// channelSizes are the record sizes, and the records of a run with each: so many that the start of
// the job is a small part of the time.
var channelSizes = []struct {
	name           string
	bytes, records int
}{
	{"10b", 10, 20_000_000},
	{"100b", 100, 5_000_000},
	{"10kb", 10_000, 200_000},
}

// channels measures a million records from one node to another, by kind of channel and size of
// record, on a running cluster. The time of the same job without records is subtracted. The
// baseline is a hand-written loop that sends the same records, each with its length before it,
// through a pipe.
func channels(ctx context.Context, b *bench) error {
	c, err := startCluster(ctx, b, 1, 2)
	if err != nil {
		return err
	}
	defer c.Stop()
	for _, size := range channelSizes {
		pipe, times := []float64{}, map[string][]float64{}
		kinds := []string{"shm", "tcp", "file"}
		perMillion := 1e6 / float64(size.records)
		for range b.runs {
			took, err := pipeRecords(size.bytes, size.records)
			if err != nil {
				return err
			}
			pipe = append(pipe, took.Seconds()*1000*perMillion)
			for _, kind := range kinds {
				ms, err := b.channelOnce(ctx, c, kind, size.bytes, size.records)
				if err != nil {
					return err
				}
				times[kind] = append(times[kind], ms*perMillion)
			}
		}
		for _, kind := range kinds {
			if err := b.out.add("channel-"+kind+"-"+size.name, "ms/M", times[kind], pipe, "a pipe, hand-written"); err != nil {
				return err
			}
		}
	}
	return nil
}

// channelOnce returns the milliseconds that records add to a job without any.
func (b *bench) channelOnce(ctx context.Context, c cluster, kind string, bytes, records int) (float64, error) {
	empty, err := c.run(ctx, b, "hamadryad-bench-channel", kind, fmt.Sprint(bytes), "0")
	if err != nil {
		return 0, err
	}
	full, err := c.run(ctx, b, "hamadryad-bench-channel", kind, fmt.Sprint(bytes), fmt.Sprint(records))
	return (full - empty).Seconds() * 1000, err
}

// pipeRecords sends records through a pipe of the system, from one goroutine to another.
func pipeRecords(size, records int) (time.Duration, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	defer r.Close()
	start := time.Now()
	sent := make(chan error, 1)
	go func() { sent <- errors.Join(sendRecords(w, size, records), w.Close()) }()
	in := bufio.NewReaderSize(r, 64<<10)
	record := make([]byte, size)
	received := 0
	for ; ; received++ {
		n, err := binary.ReadUvarint(in)
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			_, err = io.ReadFull(in, record[:n])
		}
		if err != nil {
			return 0, err
		}
	}
	if err := <-sent; err != nil {
		return 0, err
	}
	if received != records {
		return 0, fmt.Errorf("%d of %d records came through the pipe", received, records)
	}
	return time.Since(start), nil
}

func sendRecords(w io.Writer, size, records int) error {
	out := bufio.NewWriterSize(w, 64<<10)
	record := make([]byte, size)
	var length [binary.MaxVarintLen64]byte
	frame := length[:binary.PutUvarint(length[:], uint64(size))]
	for range records {
		if _, err := out.Write(frame); err != nil {
			return err
		}
		if _, err := out.Write(record); err != nil {
			return err
		}
	}
	return out.Flush()
}
