package histogram

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func TestQuantilesAreRightToASixteenth(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var h Histogram
		var all []time.Duration
		scale := time.Duration(1) << r.IntN(45)
		for range 1 + r.IntN(50) {
			d := time.Duration(r.Int64N(int64(scale) + 1))
			h.Add(d)
			all = append(all, max(d, 1))
		}
		slices.Sort(all)
		for _, percent := range []int{0, 1, 50, 95, 100} {
			want, got := all[min(len(all)*percent/100, len(all)-1)], h.Quantile(percent)
			if got > want || got < want-want/16-1 {
				t.Fatalf("of %v, %d %% are below %v, got %v", all, percent, want, got)
			}
		}
	}
}

func TestEveryDurationHasItsBucket(t *testing.T) {
	for shift := range 62 {
		for _, d := range []time.Duration{1 << shift, 1<<shift + 1, 3 << shift >> 1} {
			b := bucketOf(d)
			if low, next := Low(b), Low(b+1); low > d || shift >= 4 && next <= d || b >= Buckets {
				t.Errorf("%d is in bucket %d from %d to %d", d, b, low, next)
			}
		}
	}
}

// The counts are restored from the buckets, in whatever order they are added, and take only the
// octaves of their values.
func TestBucketsHoldAll(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		var h, back Histogram
		least, greatest := Buckets, 0
		for range 1 + r.IntN(20) {
			d := time.Duration(1) << r.IntN(62)
			h.Add(d)
			least, greatest = min(least, bucketOf(d)), max(greatest, bucketOf(d))
		}
		var buckets []int
		counts := map[int]uint32{}
		for b, n := range h.All() {
			buckets, counts[b] = append(buckets, b), n
		}
		if !slices.IsSorted(buckets) || buckets[0] != least || buckets[len(buckets)-1] != greatest {
			t.Fatalf("the buckets are %v, want %d to %d", buckets, least, greatest)
		}
		r.Shuffle(len(buckets), func(i, j int) { buckets[i], buckets[j] = buckets[j], buckets[i] })
		for _, b := range buckets {
			back.Put(b, counts[b])
		}
		if back.first != h.first || !slices.Equal(back.counts, h.counts) || back.Len() != h.Len() {
			t.Fatalf("%v came back as %v", h, back)
		}
		if most := (greatest/perOctave - least/perOctave + 1) * perOctave; len(h.counts) > most {
			t.Fatalf("%d counts for buckets %d to %d", len(h.counts), least, greatest)
		}
	}
}
