package tcp

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/channel"
	"github.com/hamadryad/hamadryad/sdk/job"
)

// The cost of a record through a streamed channel and through a pipe, both ends in this process:
// elapsed time, and processor time.
func BenchmarkRecords(b *testing.B) {
	for _, size := range []int{100, 10_000} {
		b.Run(fmt.Sprintf("tcp/%d", size), func(b *testing.B) {
			record := incompressible(size)
			l, _ := listen(b, Options{})
			src := expect(b, l, key(0))
			out := channel.NewOutput([]channel.Writer{dial(b, l, key(0), Options{})}, 0)
			measured(b, func() error {
				for range b.N {
					if err := out.Write(b.Context(), 0, record); err != nil {
						return err
					}
				}
				return out.Close(b.Context())
			}, func() (n int, err error) {
				for {
					batch, err := src.Next(b.Context())
					if errors.Is(err, io.EOF) {
						return n, nil
					}
					if err != nil {
						return n, err
					}
					n += batch.Len()
					job.PutBatch(batch)
				}
			})
		})
		b.Run(fmt.Sprintf("pipe/%d", size), func(b *testing.B) {
			record := incompressible(size)
			r, w, err := os.Pipe()
			if err != nil {
				b.Fatal(err)
			}
			defer r.Close()
			measured(b, func() error {
				out := bufio.NewWriterSize(w, 64<<10)
				for range b.N {
					if _, err := out.Write(binary.AppendUvarint(nil, uint64(size))); err != nil {
						return err
					}
					if _, err := out.Write(record); err != nil {
						return err
					}
				}
				return errors.Join(out.Flush(), w.Close())
			}, func() (n int, err error) {
				in, into := bufio.NewReaderSize(r, 64<<10), make([]byte, size)
				for ; ; n++ {
					if _, err := binary.ReadUvarint(in); errors.Is(err, io.EOF) {
						return n, nil
					} else if err != nil {
						return n, err
					}
					if _, err := io.ReadFull(in, into); err != nil {
						return n, err
					}
				}
			})
		})
	}
}

func incompressible(size int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	record := make([]byte, size)
	for i := range record {
		record[i] = byte(r.Uint32())
	}
	return record
}

// measured runs and measures both ends.
func measured(b *testing.B, send func() error, receive func() (int, error)) {
	before := processorTime(b)
	b.ResetTimer()
	sent := make(chan error, 1)
	go func() { sent <- send() }()
	n, err := receive()
	if err := errors.Join(err, <-sent); err != nil || n != b.N {
		b.Fatalf("%d of %d records came: %v", n, b.N, err)
	}
	b.ReportMetric(float64((processorTime(b)-before).Nanoseconds())/float64(b.N), "cpu-ns/op")
}

func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
