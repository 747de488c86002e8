package file

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"github.com/hamadryad/hamadryad/engine/channel/block"
	"github.com/hamadryad/hamadryad/sdk/job"
)

// Records of many partitions come back in the order of each partition, whatever their sizes, by records
// and by batches, small and large.
func TestManyPartitionsKeepTheirOrder(t *testing.T) {
	dir, files := t.TempDir(), 0
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		files++
		path := filepath.Join(dir, fmt.Sprint(files))
		parts := rapid.IntRange(gatherFrom, 3*gatherFrom).Draw(t, "partitions")
		budget := int64(rapid.SampledFrom([]int{1000, 100_000, 1 << 20}).Draw(t, "budget"))
		w, err := Create(path, parts, Options{Budget: budget, Codec: rapid.SampledFrom([]block.Codec{block.None, block.LZ4}).Draw(t, "codec")})
		if err != nil {
			t.Fatal(err)
		}
		if w.gathered == nil {
			t.Fatal("records are not gathered")
		}
		want := make([][][]byte, parts)
		bytesWritten, n := int64(0), 0
		record := func(size int) []byte {
			n++
			bytesWritten += int64(max(size, 8))
			return append(binary.LittleEndian.AppendUint64(nil, uint64(n)), bytes.Repeat([]byte{byte(n)}, max(size-8, 0))...)
		}
		sizes := []int{8, 100, 3000}
		if rapid.Bool().Draw(t, "large") {
			sizes = append(sizes, gatheredRecordMax, gatheredRecordMax+1, job.BatchBytes+1)
		}
		for range rapid.IntRange(0, 300).Draw(t, "writes") {
			p := rapid.IntRange(0, parts-1).Draw(t, "partition")
			size := rapid.SampledFrom(sizes).Draw(t, "size")
			if k := rapid.IntRange(0, 9).Draw(t, "batch"); k > 7 {
				b := &job.Batch{}
				for range k {
					want[p] = append(want[p], record(size))
					b.Append(want[p][len(want[p])-1])
				}
				err = w.WriteBatch(ctx, p, b)
			} else {
				want[p] = append(want[p], record(size))
				err = w.Write(ctx, p, want[p][len(want[p])-1])
			}
			if err != nil {
				t.Fatal(err)
			}
			if w.packedHeld > w.budget {
				t.Fatalf("%d bytes are held back, with a budget of %d", w.packedHeld, w.budget)
			}
		}
		if err := w.Close(ctx); err != nil {
			t.Fatal(err)
		}
		if c := w.Counts(); c.Records != int64(n) || c.Bytes != bytesWritten {
			t.Fatalf("%+v were counted, want %d records of %d bytes", c, n, bytesWritten)
		}
		f, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for p := range parts {
			i, source := 0, f.Source(p, 0)
			for {
				b, err := source.Next(ctx)
				if err != nil {
					break
				}
				for r := range b.All() {
					if i >= len(want[p]) || !bytes.Equal(r, want[p][i]) {
						t.Fatalf("record %d of partition %d is another", i, p)
					}
					i++
				}
			}
			if i != len(want[p]) {
				t.Fatalf("partition %d has %d records, want %d", p, i, len(want[p]))
			}
		}
		if _, err := verifyFile(ctx, path); err != nil {
			t.Fatal(err)
		}
	})
}
