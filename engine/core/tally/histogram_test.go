package tally

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func TestMedianIsRightToASixteenth(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var h histogram
		var all []time.Duration
		scale := time.Duration(1) << r.IntN(45)
		for range 1 + r.IntN(50) {
			d := time.Duration(r.Int64N(int64(scale) + 1))
			h.add(d)
			all = append(all, max(d, 1))
		}
		slices.Sort(all)
		want, got := all[len(all)/2], h.median()
		if got > want || got < want-want/16-1 {
			t.Fatalf("the median of %v is %v, got %v", all, want, got)
		}
	}
}

func TestEveryDurationHasItsBucket(t *testing.T) {
	for shift := range 62 {
		for _, d := range []time.Duration{1 << shift, 1<<shift + 1, 3 << shift >> 1} {
			b := bucketOf(d)
			if low, next := bucketLow(b), bucketLow(b+1); low > d || shift >= 4 && next <= d || b >= bucketCount {
				t.Errorf("%d is in bucket %d from %d to %d", d, b, low, next)
			}
		}
	}
}
