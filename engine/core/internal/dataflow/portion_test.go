package dataflow

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/hamadryad/hamadryad/engine/core/changes"
)

// drawnPortioning draws sizes by partition and writer. Some partitions are much larger than others.
func drawnPortioning(t *rapid.T) *portioning {
	writers, partitions := rapid.IntRange(1, 6).Draw(t, "writers"), rapid.IntRange(1, 12).Draw(t, "partitions")
	by := make([][]int64, partitions)
	p := &portioning{
		sizes: make([]int64, partitions), writers: writers, readers: partitions + rapid.IntRange(0, 8).Draw(t, "spare"),
		bytes: rapid.Int64Range(1, 300<<20).Draw(t, "bytes"), split: rapid.Bool().Draw(t, "split"),
		of: func(partition, w int) int64 { return by[partition][w] },
	}
	for i := range by {
		by[i] = make([]int64, writers)
		most := rapid.SampledFrom([]int64{0, 100, 50 << 20, 400 << 20}).Draw(t, "most")
		for w := range by[i] {
			by[i][w] = rapid.Int64Range(0, most).Draw(t, "size")
			p.sizes[i] += by[i][w]
		}
	}
	return p
}

func TestPortionsCoverEachPairOnceAndAreAsFewAsCanBe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawnPortioning(t)
		list := p.choose()
		if len(list) > p.readers {
			t.Fatalf("%d portions for %d readers", len(list), p.readers)
		}
		covered := map[[2]int32]int{}
		for i, x := range list {
			bytes := int64(0)
			for a := x.Low; a < x.High; a++ {
				for w := x.First; w < x.End; w++ {
					covered[[2]int32{a, w}]++
					bytes += p.of(int(a), int(w))
				}
			}
			whole := x.First == 0 && int(x.End) == p.writers
			switch {
			case bytes != x.Bytes:
				t.Fatalf("portion %+v has %d bytes", x, bytes)
			case x.High-x.Low > 1 && (bytes > p.bytes || !whole):
				t.Fatalf("portion %+v joins partitions, with more than %d bytes or without some writers", x, p.bytes)
			case !whole && !p.isLarge(x.Low):
				t.Fatalf("portion %+v is a piece of a partition that is not large", x)
			case x.First >= x.End:
				t.Fatalf("portion %+v has no writer", x)
			case i > 0 && (list[i-1].Low > x.Low || list[i-1].Low == x.Low && list[i-1].First >= x.First):
				t.Fatalf("%+v comes after %+v", x, list[i-1])
			}
		}
		if len(covered) != len(p.sizes)*p.writers {
			t.Fatalf("%d of %d pairs are covered: %+v", len(covered), len(p.sizes)*p.writers, list)
		}
		for pair, n := range covered {
			if n != 1 {
				t.Fatalf("%v is covered %d times: %+v", pair, n, list)
			}
		}
		if got, least := p.groups(list), p.leastGroups(); got != least {
			t.Fatalf("%d portions without the pieces, and %d suffice: %+v", got, least, list)
		}
		p.checkPieces(t, list)
	})
}

// isLarge is the rule for large partitions, in other words.
func (p *portioning) isLarge(partition int32) bool {
	n, smaller := p.sizes[partition], 0
	for _, other := range p.sizes {
		if other < n && n-other*largeRatio >= largeRatio { // n/largeRatio > other, in whole numbers
			smaller++
		}
	}
	return p.split && p.writers > 1 && n > largeBytes && smaller >= (len(p.sizes)+1)/2
}

// groups counts the portions, with all pieces of one partition as one.
func (p *portioning) groups(list []Portion) (n int) {
	for i, x := range list {
		if i == 0 || list[i-1].Low != x.Low {
			n++
		}
	}
	return n
}

// leastGroups tries each way to join neighbours.
func (p *portioning) leastGroups() int {
	least := make([]int, len(p.sizes)+1) // for the first so many partitions
	for end := 1; end <= len(p.sizes); end++ {
		least[end] = least[end-1] + 1
		sum := int64(0)
		for begin := end - 1; begin >= 0 && !p.isLarge(int32(begin)); begin-- {
			if sum += p.sizes[begin]; sum > p.bytes {
				break
			}
			least[end] = min(least[end], least[begin]+1)
		}
	}
	return least[len(p.sizes)]
}

// checkPieces checks that large partitions are split as far as readers, writers and bytes allow, and
// evenly as far as writers allow.
func (p *portioning) checkPieces(t *rapid.T, list []Portion) {
	spare := p.readers - len(list)
	for i := range p.sizes {
		if !p.isLarge(int32(i)) {
			continue
		}
		pieces, nonEmpty, largest, most := 0, 0, int64(0), int64(0)
		for _, x := range list {
			if x.Low == int32(i) {
				pieces++
				most = max(most, x.Bytes)
			}
		}
		for w := range p.writers {
			largest = max(largest, p.of(i, w))
			if p.of(i, w) > 0 {
				nonEmpty++
			}
		}
		wanted := min((p.sizes[i]-1)/p.bytes+1, int64(p.writers))
		switch {
		case int64(pieces) > wanted:
			t.Fatalf("partition %d has %d pieces, and %d were wanted", i, pieces, wanted)
		case pieces < 2 && spare > 0 && wanted > 1 && nonEmpty > 1 && 2*largest < p.sizes[i]:
			t.Fatalf("partition %d is not split, and %d readers are left: %+v", i, spare, list)
		case pieces > 1 && most > p.sizes[i]/int64(pieces)+largest:
			t.Fatalf("partition %d of %d bytes has a piece of %d, and no writer has more than %d: %+v", i, p.sizes[i], most, largest, list)
		}
	}
}

func TestSpreadSaysWhatWasJoinedAndSplit(t *testing.T) {
	list := []Portion{{0, 3, 0, 4, 30}, {3, 4, 0, 1, 500}, {3, 4, 1, 4, 600}, {4, 5, 0, 4, 7}, {5, 7, 0, 4, 9}}
	want := changes.Spread{Partitions: 7, Joined: 5, Split: 1, Pieces: 2, Largest: 600, Ranges: []changes.Range{
		{Readers: 1, Partitions: 3, Bytes: 30}, {Reader: 1, Readers: 2, Partition: 3, Partitions: 1, Bytes: 1100}, {Reader: 4, Readers: 1, Partition: 5, Partitions: 2, Bytes: 9},
	}}
	if got := spreadOf(list); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// More are joined than are listed: the split one is there all the same, and of the others the largest.
func TestSpreadListsSplitPartitionsFirstThenLargeOnes(t *testing.T) {
	var list []Portion
	for i := range int32(rangesMax + 9) {
		list = append(list, Portion{2 * i, 2*i + 2, 0, 4, 1000 - int64(i)})
	}
	last := list[len(list)-1].High
	list = append(list, Portion{last, last + 1, 0, 1, 1}, Portion{last, last + 1, 1, 4, 1})
	got := spreadOf(list)
	if got.LeftOut != 10 || len(got.Ranges) != rangesMax {
		t.Fatalf("%d are listed and %d left out", len(got.Ranges), got.LeftOut)
	}
	for i, r := range got.Ranges[:rangesMax-1] {
		if r.Reader != uint32(i) {
			t.Errorf("range %d is %+v", i, r)
		}
	}
	if r := got.Ranges[rangesMax-1]; r.Readers != 2 || r.Partition != uint32(last) {
		t.Errorf("the last one is %+v, and not the split one", r)
	}
}
