package mapreduce

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/job"
)

// The boundaries of a job in total order are the first keys of its ranges. Each map task holds them in
// memory, and reads a copy that was stored for it alone. Where keys are so large that these bounds
// don't suffice, there are fewer ranges than reduce tasks.
const (
	boundariesBytesMax  = 4 << 20 // bytes of all boundaries
	boundariesStoredMax = 1 << 30 // bytes of the copies for all map tasks
)

// pickBoundaries is the node of the boundaries stage.
func pickBoundaries(ctx context.Context, n *job.Node, reducers int, order func(a, b []byte) int, repeat bool) error {
	keys, err := receiveKeys(ctx, n, keysPort)
	if err != nil {
		return err
	}
	out, err := n.Output(boundariesPort)
	if err != nil {
		return err
	}
	most := min(boundariesBytesMax, boundariesStoredMax/max(out.Partitions(), 1))
	packed, ranges := fittingBoundaries(keys, reducers, most, order, repeat)
	if ranges < reducers {
		n.Log().Warn("keys are so large that there are fewer ranges of them than reduce tasks: others get nothing",
			"ranges", ranges, "reducers", reducers, "boundariesBytesMax", most)
	}
	return sendKeys(ctx, n, boundariesPort, packed)
}

// fittingBoundaries returns the packed boundaries of as many ranges as were asked for, or of a half,
// a quarter and so on, so that they have at most so many bytes.
func fittingBoundaries(keys [][]byte, ranges, most int, order func(a, b []byte) int, repeat bool) (packed [][]byte, fit int) {
	for ; ; ranges /= 2 {
		packed = packBoundaries(boundaries(keys, ranges, order, repeat))
		bytes := 0
		for _, p := range packed {
			bytes += len(p)
		}
		if bytes <= most || ranges <= 1 { // one range has no boundary
			return packed, ranges
		}
	}
}

// packBoundaries makes a record of each key, with how often it is a boundary before it: a frequent one
// is that of many ranges.
func packBoundaries(first [][]byte) (packed [][]byte) {
	for i := 0; i < len(first); {
		n := 1
		for i+n < len(first) && bytes.Equal(first[i], first[i+n]) {
			n++
		}
		packed = append(packed, append(binary.AppendUvarint(nil, uint64(n)), first[i]...))
		i += n
	}
	return packed
}

// unpackBoundaries is the reverse of packBoundaries.
func unpackBoundaries(packed [][]byte) (first [][]byte, err error) {
	for _, p := range packed {
		n, at := binary.Uvarint(p)
		if at <= 0 || n == 0 || n > job.NodesMax {
			return nil, fmt.Errorf("the boundary %q has no number of ranges", shorten(p))
		}
		first = append(first, slices.Repeat([][]byte{p[at:]}, int(n))...)
	}
	return first, nil
}

// boundaries picks the first keys of all ranges but the first. A key so frequent that it fills several
// ranges is there once, so there are fewer ranges. With repeat it is there for each of them, and so are
// keys that are equal in this order, by the first of them.
func boundaries(keys [][]byte, ranges int, order func(a, b []byte) int, repeat bool) [][]byte {
	// Keys that are equal in this order may differ in bytes: the bytes break ties, so that the
	// outcome does not depend on the order of arrival of samples.
	slices.SortFunc(keys, func(a, b []byte) int { return cmp.Or(order(a, b), bytes.Compare(a, b)) })
	var first [][]byte
	for i := 1; i < ranges && len(keys) > 0; i++ {
		k := keys[i*len(keys)/ranges]
		switch {
		case len(first) == 0 || order(first[len(first)-1], k) < 0:
			first = append(first, k)
		case repeat:
			first = append(first, first[len(first)-1])
		}
	}
	return first
}

// rangePartition reads the boundaries and returns the partition function that uses them.
func rangePartition(ctx context.Context, n *job.Node, order func(a, b []byte) int, repeated bool) (func(key []byte, n int) int, error) {
	packed, err := receiveKeys(ctx, n, boundariesPort)
	if err != nil {
		return nil, err
	}
	first, err := unpackBoundaries(packed)
	if err != nil {
		return nil, err
	}
	for i := 1; i < len(first); i++ {
		if c := order(first[i-1], first[i]); c > 0 || c == 0 && !repeated {
			return nil, fmt.Errorf("the boundaries %q and %q are not in order: Compare and Group must be orders, the same in every process", shorten(first[i-1]), shorten(first[i]))
		}
	}
	return rangeOf(first, order, n.Info().Index), nil
}

// rangeOf is the partition function of a map task. A boundary is the first key of its range. Where
// several are equal, the ranges between them have that key alone, and the one after them begins with
// it. So its pairs may go to any of these, and the files are in order all the same. All those of a map
// task go to one range: a task that runs again then gives each range the same pairs, in whatever order
// it emits them.
func rangeOf(first [][]byte, order func(a, b []byte) int, task int) func(key []byte, n int) int {
	equal := make([]int, len(first)) // how many boundaries from here on are equal to this one
	for i := len(first) - 1; i >= 0; i-- {
		equal[i] = 1
		if i+1 < len(first) && order(first[i], first[i+1]) == 0 {
			equal[i] += equal[i+1]
		}
	}
	return func(key []byte, _ int) int {
		at, found := slices.BinarySearchFunc(first, key, order)
		if found {
			at += 1 + task%equal[at]
		}
		return at
	}
}
