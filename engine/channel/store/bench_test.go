package store

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/hamadryad/hamadryad/engine/channel"
	"github.com/hamadryad/hamadryad/engine/channel/block"
	"github.com/hamadryad/hamadryad/engine/channel/file"
	"github.com/hamadryad/hamadryad/sdk/job"
)

// A reader of many small partitions: each costs its open and one batch.
func BenchmarkSmallPartitions(b *testing.B) {
	for _, local := range []bool{false, true} {
		name := map[bool]string{false: "remote", true: "local"}[local]
		b.Run(name, func(b *testing.B) {
			s := open(b)
			const files, parts = 100, 200
			for a := range files {
				s.put(b, a, parts, 2, file.Options{Codec: block.LZ4})
			}
			f := fetcher(b, Options{})
			at := 0
			for b.Loop() {
				m := channel.NewMerge(files)
				for a := range files {
					w := s.want(a, at%parts)
					if local {
						w.Path = s.path(a)
					}
					m.Add(together{f.Source(w), f})
				}
				at++
				m.Done()
				if err := drain(b.Context(), m); err != nil {
					b.Fatal(err)
				}
				if err := m.Close(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(at)/files, "µs/partition")
		})
	}
}

func drain(ctx context.Context, in job.BatchReader) error {
	for {
		batch, err := in.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		job.PutBatch(batch)
	}
}
