package store

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/engine/channel"
	"github.com/hamadryad/hamadryad/engine/channel/block"
	"github.com/hamadryad/hamadryad/sdk/job"
)

// segmentOf is a segment of records, in blocks of two.
func segmentOf(t *testing.T, codec block.Codec, records ...string) Segment {
	t.Helper()
	e, s := block.NewEncoder(codec), Segment{records: int64(len(records))}
	for two := range slices.Chunk(records, 2) {
		var b job.Batch
		for _, r := range two {
			b.Append([]byte(r))
		}
		var err error
		if s.blocks, err = e.Append(s.blocks, &b); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// Segments are read in order into few batches, small or large, and nothing is read of those that are
// damaged.
func TestJoinedReader(t *testing.T) {
	large := strings.Repeat("l", joinBelow)
	half := strings.Repeat("h", joinBelow-1)
	damaged := segmentOf(t, block.None, "x", "y", "damaged")
	damaged.blocks[len(damaged.blocks)-1] ^= 1
	short := segmentOf(t, block.None, "one", "two")
	short.records = 3
	all := []Segment{
		segmentOf(t, block.None, "a", "b", "c"),
		{},
		segmentOf(t, block.LZ4, half), damaged, segmentOf(t, block.ZSTD, "d"),
		segmentOf(t, block.None, large, "e"), segmentOf(t, block.None, "f"), short,
		segmentOf(t, block.None, half), segmentOf(t, block.None, half), segmentOf(t, block.None, half), segmentOf(t, block.None, half), segmentOf(t, block.None, half),
	}
	want := []string{"a", "b", "c", half, "d", large, "e", "f", half, half, half, half, half}
	r := NewJoinedReader(all)
	var got []string
	batches, bytes, wrong := 0, int64(0), 0
	add := func(list []*job.Batch) {
		for _, b := range list {
			if batches++; len(b.Data) > job.BatchBytes {
				t.Errorf("a batch has %d bytes", len(b.Data))
			}
			for record := range b.All() {
				got = append(got, string(record))
			}
		}
	}
	for i, s := range all {
		complete, n, err := r.Read(s)
		if add(complete); err != nil {
			if wrong++; !errors.Is(err, channel.ErrDamaged) || n != 0 {
				t.Errorf("segment %d: %d bytes, %v", i, n, err)
			}
		}
		bytes += n
	}
	add(r.PendingBatches())
	if !slices.Equal(got, want) || bytes != int64(len(strings.Join(want, ""))) {
		t.Errorf("%d records of %d bytes, want %d of %d", len(got), bytes, len(want), len(strings.Join(want, "")))
	}
	if wrong != 2 {
		t.Errorf("%d damaged segments, want 2", wrong)
	}
	if batches != 4 { // before the large segment, its own, and five times half in two
		t.Errorf("%d batches, want 4", batches)
	}
	if len(r.PendingBatches()) > 0 {
		t.Error("the rest is returned twice")
	}
}
