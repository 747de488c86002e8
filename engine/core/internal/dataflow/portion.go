package dataflow

import (
	"cmp"
	"slices"

	"github.com/hamadryad/hamadryad/engine/core/changes"
)

// Portion is what one reader of an adapted connection reads: the partitions from Low up to and
// without High, of the writers from First up to and without End.
type Portion struct {
	Low, High  int32
	First, End int32
	Bytes      int64 // as stored, when the portions were chosen
}

// A partition is large if it has more than largeRatio times the median's bytes, and more than
// largeBytes.
const (
	largeRatio = 5
	largeBytes = 256 << 20
)

// portioning is what the portions of a connection's readers are chosen from.
type portioning struct {
	sizes   []int64                      // of the partitions
	of      func(partition, w int) int64 // bytes of a partition by one writer
	writers int
	readers int   // the most that there may be; at least one for each partition
	bytes   int64 // partitions are joined up to so many
	split   bool  // large partitions may have several readers
}

// choose returns the portions, in order of partition, then writer. Each pair of a partition and a
// writer is in exactly one. A large partition is split into pieces of about p.bytes, as far as there
// are readers and writers; the largest comes first. Of the others, neighbours are joined, as many
// as p.bytes hold.
func (p *portioning) choose() []Portion {
	var large []int
	if median := medianOf(p.sizes); p.split && p.writers > 1 {
		for i, n := range p.sizes {
			if n > largeBytes && n/largeRatio > median {
				large = append(large, i)
			}
		}
	}
	list := p.join(large)
	spare := p.readers - len(list)
	slices.SortFunc(large, func(a, b int) int { return cmp.Or(cmp.Compare(p.sizes[b], p.sizes[a]), cmp.Compare(a, b)) })
	for _, i := range large {
		pieces := p.pieces(int32(i), int(min((p.sizes[i]-1)/p.bytes+1, int64(spare+1))))
		spare -= len(pieces) - 1
		at := slices.IndexFunc(list, func(x Portion) bool { return x.Low == int32(i) })
		list = slices.Replace(list, at, at+1, pieces...)
	}
	return list
}

// join joins neighbouring partitions, except large ones. large is ascending.
func (p *portioning) join(large []int) (list []Portion) {
	joins := false // the last portion takes more
	for i, n := range p.sizes {
		_, alone := slices.BinarySearch(large, i)
		if last := len(list) - 1; joins && !alone && n <= p.bytes-list[last].Bytes {
			list[last].High++
			list[last].Bytes += n
			continue
		}
		list = append(list, Portion{int32(i), int32(i) + 1, 0, int32(p.writers), n})
		joins = !alone
	}
	return list
}

// pieces splits a partition by writers into at most n portions of about the same size.
func (p *portioning) pieces(i int32, n int) (list []Portion) {
	n = min(n, p.writers)
	left := p.sizes[i]
	piece := Portion{Low: i, High: i + 1}
	for w := range p.writers {
		b := p.of(int(i), w)
		// A piece ends where it is nearest to an even share of what is left.
		if even := left / int64(n-len(list)); piece.End > piece.First && len(list) < n-1 && piece.Bytes+b/2 > even {
			list, left = append(list, piece), left-piece.Bytes
			piece = Portion{i, i + 1, piece.End, piece.End, 0}
		}
		piece.End++
		piece.Bytes += b
	}
	return append(list, piece)
}

// medianOf returns the lower median; 0 without sizes.
func medianOf(sizes []int64) int64 {
	if len(sizes) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(sizes))
	return sorted[(len(sorted)-1)/2]
}

// rangesMax bounds the joined and split partitions that are listed for people.
const rangesMax = 50

// spreadOf says how portions were chosen. It lists the split partitions first, then the joined ones
// with the most bytes.
func spreadOf(list []Portion) (s changes.Spread) {
	for i, x := range list {
		s.Largest = max(s.Largest, x.Bytes)
		s.Partitions = uint32(x.High)
		more := i > 0 && list[i-1].Low == x.Low // a further piece of a partition
		switch {
		case more:
			last := &s.Ranges[len(s.Ranges)-1]
			last.Readers++
			last.Bytes += x.Bytes
			s.Pieces++
		case i+1 < len(list) && list[i+1].Low == x.Low:
			s.Split++
			s.Pieces++
			s.Ranges = append(s.Ranges, changes.Range{Reader: uint32(i), Readers: 1, Partition: uint32(x.Low), Partitions: 1, Bytes: x.Bytes})
		case x.High-x.Low > 1:
			s.Joined += uint32(x.High - x.Low)
			s.Ranges = append(s.Ranges, changes.Range{Reader: uint32(i), Readers: 1, Partition: uint32(x.Low), Partitions: uint32(x.High - x.Low), Bytes: x.Bytes})
		}
	}
	s.LeftOut = uint32(max(len(s.Ranges)-rangesMax, 0))
	if s.LeftOut > 0 {
		slices.SortFunc(s.Ranges, func(a, b changes.Range) int {
			return cmp.Or(cmp.Compare(min(b.Readers, 2), min(a.Readers, 2)), cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Reader, b.Reader))
		})
		s.Ranges = slices.Clone(s.Ranges[:rangesMax])
		slices.SortFunc(s.Ranges, func(a, b changes.Range) int { return cmp.Compare(a.Reader, b.Reader) })
	}
	return s
}
