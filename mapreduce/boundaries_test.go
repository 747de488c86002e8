package mapreduce

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
)

// What is sent to each map task stays small, whatever the keys are.
func TestBoundariesAreBounded(t *testing.T) {
	large := func(n int) (keys [][]byte) {
		for i := range n {
			keys = append(keys, fmt.Appendf(nil, "%01000d", i))
		}
		return keys
	}
	half := slices.Repeat([][]byte{bytes.Repeat([]byte("m"), 100_000)}, 500)
	const most = 150_000
	for name, c := range map[string]struct {
		keys           [][]byte
		repeat         bool
		wanted, ranges int
	}{
		"they fit":                      {large(100), false, 100, 100},
		"large keys":                    {large(1000), false, 1000, 125},
		"a large, frequent key":         {half, true, 1000, 1000},
		"one that does not fit":         {[][]byte{make([]byte, most), make([]byte, most)}, true, 8, 1},
		"no keys":                       {nil, true, 8, 8},
		"large keys and a frequent one": {append(large(100), half...), true, 600, 300},
	} {
		packed, ranges := fittingBoundaries(slices.Clone(c.keys), c.wanted, most, bytes.Compare, c.repeat)
		sent := 0
		for _, p := range packed {
			sent += len(p)
		}
		if ranges != c.ranges || sent > most {
			t.Errorf("%s: %d ranges by %d bytes, want %d ranges and at most %d bytes", name, ranges, sent, c.ranges, most)
		}
		first, err := unpackBoundaries(packed)
		if want := boundaries(slices.Clone(c.keys), ranges, bytes.Compare, c.repeat); err != nil || !slices.EqualFunc(first, want, bytes.Equal) {
			t.Errorf("%s: %d boundaries were read of %d that were sent, %v", name, len(first), len(want), err)
		}
	}
}

// A boundary that no task has written is refused, however large a number it has.
func TestWrongBoundariesAreRefused(t *testing.T) {
	for _, wrong := range [][]byte{nil, {0, 'k'}, {0x80}, {0xff, 0xff, 0xff, 0xff, 0x0f, 'k'}} {
		if first, err := unpackBoundaries([][]byte{wrong}); err == nil {
			t.Errorf("%x has %d boundaries", wrong, len(first))
		}
	}
}

// All samples together fit the memory of the task that gets them.
func TestSamplesFitTheMemoryOfATask(t *testing.T) {
	for _, memory := range []int64{0, 1 << 20, 64 << 20, 1 << 40} {
		all := int64(samplersMax * sampleBytes(memory))
		if all < min(max(memory, 1<<20), sampleBytesMax)/sampleShare || memory > 0 && all > memory/sampleShare || all > samplersMax*sampleBytesMax {
			t.Errorf("samples have %d bytes for a task of %d", all, memory)
		}
	}
}
