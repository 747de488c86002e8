// Package histogram counts durations in buckets a sixteenth of an octave wide (log-linear, as in
// HdrHistogram). So a quantile costs the same for any number of durations.
//
//	var h histogram.Histogram
//	h.Add(3 * time.Second)
//	median := h.Quantile(50) // to a sixteenth
//
// A histogram takes 4 bytes for each bucket between its least and its greatest, 4 KiB at most.
package histogram

import (
	"iter"
	"math/bits"
	"slices"
	"time"
)

// Histogram counts durations. The zero value has none. Not safe for concurrent use.
type Histogram struct {
	first  int      // bucket of counts[0]; a multiple of perOctave
	counts []uint32 // whole octaves, from the least to the greatest there is
	total  int
}

const (
	perOctave = 16
	// Buckets is how many there are, from 0 on.
	Buckets = 64 * perOctave
)

func bucketOf(d time.Duration) int {
	x := uint64(max(d, 1))
	octave := bits.Len64(x) - 1
	var part uint64 // the bits below the leading one, as sixteenths
	if octave >= 4 {
		part = x >> (octave - 4) & 15
	} else {
		part = x << (4 - octave) & 15
	}
	return octave*perOctave + int(part)
}

// Low returns the least duration of a bucket.
func Low(bucket int) time.Duration {
	octave, part := bucket/perOctave, uint64(bucket%perOctave)
	x := (16 + part) << max(octave-4, 0)
	if octave < 4 {
		x >>= 4 - octave
	}
	return time.Duration(x)
}

// Add counts a duration. Shorter ones count as a nanosecond.
func (h *Histogram) Add(d time.Duration) { h.Put(bucketOf(d), 1) }

// Put adds n durations to a bucket. A bucket beyond the last counts as the last.
func (h *Histogram) Put(bucket int, n uint32) {
	bucket = min(bucket, Buckets-1)
	h.cover(bucket)
	h.counts[bucket-h.first] += n
	h.total += int(n)
}

// cover allocates a bucket with its octave.
func (h *Histogram) cover(bucket int) {
	octave := bucket - bucket%perOctave
	switch {
	case len(h.counts) == 0:
		h.first, h.counts = octave, make([]uint32, perOctave)
	case bucket < h.first:
		h.counts = slices.Insert(h.counts, 0, make([]uint32, h.first-octave)...)
		h.first = octave
	case bucket >= h.first+len(h.counts):
		h.counts = append(h.counts, make([]uint32, octave+perOctave-h.first-len(h.counts))...)
	}
}

// Len returns how many durations were counted.
func (h *Histogram) Len() int { return h.total }

// Quantile returns the duration below which percent of all lie, to a sixteenth; 0 for an empty
// histogram.
func (h *Histogram) Quantile(percent int) time.Duration {
	left := min(h.total*percent/100, h.total-1)
	for i, n := range h.counts {
		if n > 0 && left < int(n) {
			return Low(h.first + i)
		}
		left -= int(n)
	}
	return 0
}

// All walks the buckets that are not empty, in order, with their numbers of durations.
func (h *Histogram) All() iter.Seq2[int, uint32] {
	return func(yield func(int, uint32) bool) {
		for i, n := range h.counts {
			if n > 0 && !yield(h.first+i, n) {
				return
			}
		}
	}
}

// Clone returns a copy.
func (h *Histogram) Clone() Histogram {
	f := *h
	f.counts = slices.Clone(h.counts)
	return f
}
