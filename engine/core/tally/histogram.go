package tally

import (
	"math/bits"
	"time"

	"github.com/hamadryad/hamadryad/engine/core/codec"
)

// histogram counts durations in buckets a sixteenth of an octave wide, so that a
// median costs the same however many there are.
type histogram struct {
	counts []uint32 // made at the first duration
	total  int
}

const (
	bucketsPerOctave = 16
	bucketCount      = 64 * bucketsPerOctave
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
	return octave*bucketsPerOctave + int(part)
}

// bucketLow returns the least duration of a bucket.
func bucketLow(b int) time.Duration {
	octave, part := b/bucketsPerOctave, uint64(b%bucketsPerOctave)
	x := (16 + part) << max(octave-4, 0)
	if octave < 4 {
		x >>= 4 - octave
	}
	return time.Duration(x)
}

func (h *histogram) add(d time.Duration) {
	if h.counts == nil {
		h.counts = make([]uint32, bucketCount)
	}
	h.counts[bucketOf(d)]++
	h.total++
}

// median returns the median to a sixteenth; 0 when there is nothing.
func (h *histogram) median() time.Duration {
	left := h.total / 2
	for i, n := range h.counts {
		if n > 0 && left < int(n) {
			return bucketLow(i)
		}
		left -= int(n)
	}
	return 0
}

// code codes the buckets that are not empty.
func (h *histogram) code(w *codec.Codec) {
	type entry struct{ bucket, count uint32 }
	var entries []entry
	for i, n := range h.counts {
		if n > 0 {
			entries = append(entries, entry{uint32(i), n})
		}
	}
	codec.List(w, &entries, func(w *codec.Codec, e *entry) { codec.Num(w, &e.bucket); codec.Num(w, &e.count) })
	if !w.Reading || len(entries) == 0 {
		return
	}
	h.counts = make([]uint32, bucketCount)
	for _, e := range entries {
		h.counts[min(e.bucket, bucketCount-1)] = e.count
		h.total += int(e.count)
	}
}
