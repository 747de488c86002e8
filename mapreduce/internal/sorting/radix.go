package sorting

import (
	"bytes"
	"cmp"
	"math/bits"
	"slices"
)

// sortRefs sorts refs by their keys, which the function key returns. It returns consecutive parts,
// each of which is sorted. Prefixes are useless for a custom order.
func sortRefs(refs []ref, o order, key func(ref) []byte) [][]ref {
	switch {
	case o.decoded != nil:
		return sortDecoded(refs, o, key)
	case o.compare != nil:
		slices.SortFunc(refs, func(a, b ref) int { return o.compare.total(key(a), key(b)) })
	default:
		prefixSort{key}.sort(refs, 0)
	}
	return [][]ref{refs}
}

// sortDecoded sorts at once only as many refs as there may be decoded keys.
func sortDecoded(refs []ref, o order, key func(ref) []byte) (parts [][]ref) {
	type decodedRef struct {
		ref
		held
	}
	most := cmp.Or(o.decoded.most, decodedMax)
	some := make([]decodedRef, 0, min(most, len(refs)))
	for start := 0; start < len(refs); {
		some = some[:0]
		for size := 0; start+len(some) < len(refs) && len(some) < most && size < decodedBytesMax; {
			r := refs[start+len(some)]
			some = append(some, decodedRef{r, o.hold(key(r))})
			size += len(some[len(some)-1].key)
		}
		slices.SortFunc(some, func(a, b decodedRef) int { return o.total(a.held, b.held) })
		part := refs[start : start+len(some)]
		for i := range some {
			part[i] = some[i].ref
		}
		parts, start = append(parts, part), start+len(some)
	}
	return parts
}

// prefixSort sorts by the keys' first bytes, in place. It distributes refs into 256 parts by the
// first eight bits in which the keys differ, and then each part likewise until it is small. For a
// million random keys that takes half the time of comparisons. If all prefixes of a part are equal,
// its refs get the bytes that follow.
type prefixSort struct{ key func(ref) []byte }

const (
	// radixMin is the least number of refs for which counting pays.
	radixMin = 128
	// insertionMax is the largest part that is sorted by insertion: its refs are few, and in the
	// fastest cache.
	insertionMax = 24
	// depthMax bounds how many equal bytes are skipped, eight at a time. Keys with a longer common
	// prefix are compared whole.
	depthMax = 256
)

func (p prefixSort) compare(a, b ref) int {
	if a.prefix != b.prefix {
		return cmp.Compare(a.prefix, b.prefix)
	}
	if a.more != b.more {
		return cmp.Compare(a.more, b.more)
	}
	return bytes.Compare(p.key(a), p.key(b))
}

// sort sorts refs whose keys, padded with zeros, are equal up to depth, and whose prefixes begin
// there.
func (p prefixSort) sort(refs []ref, depth int) {
	if len(refs) <= insertionMax {
		p.insertion(refs)
		return
	}
	var differ uint64
	if len(refs) >= radixMin {
		for differ = differing(refs); differ == 0 && p.deeper(refs, depth+8); differ = differing(refs) {
			depth += 8
		}
	}
	if differ == 0 {
		slices.SortFunc(refs, p.compare)
		return
	}
	start := 0
	for _, end := range distribute(refs, max(bits.Len64(differ)-8, 0)) {
		if end-start > 1 {
			p.sort(refs[start:end], depth)
		}
		start = end
	}
}

// differing returns the bits in which the prefixes are not all equal.
func differing(refs []ref) uint64 {
	var differ uint64
	for i := range refs {
		differ |= refs[i].prefix ^ refs[0].prefix
	}
	return differ
}

// deeper sets the refs' prefixes to the bytes of their keys from depth on. It returns false if
// there are none, or depth is beyond depthMax.
func (p prefixSort) deeper(refs []ref, depth int) bool {
	if depth > depthMax {
		return false
	}
	any := false
	for i := range refs {
		r := &refs[i]
		key := p.key(*r)
		any = any || len(key) > depth
		r.prefix, r.more = prefixes(key[min(depth, len(key)):])
	}
	return any
}

// distribute orders refs by the eight bits of their prefix from shift on. It returns where the refs
// of each value of these bits end. Higher bits are equal in all.
func distribute(refs []ref, shift int) [256]int {
	var ends, next [256]int // of each part; next is the index for its next ref
	for i := range refs {
		ends[uint8(refs[i].prefix>>shift)]++
	}
	at := 0
	for part, n := range ends {
		next[part] = at
		at += n
		ends[part] = at
	}
	for part := range ends {
		for next[part] < ends[part] {
			// Move the ref here to its part, and the displaced ref to its own, until a ref belongs
			// here.
			r := refs[next[part]]
			for to := uint8(r.prefix >> shift); int(to) != part; to = uint8(r.prefix >> shift) {
				refs[next[to]], r = r, refs[next[to]]
				next[to]++
			}
			refs[next[part]] = r
			next[part]++
		}
	}
	return ends
}

func (p prefixSort) insertion(refs []ref) {
	for i := 1; i < len(refs); i++ {
		r := refs[i]
		j := i
		for ; j > 0; j-- {
			before := &refs[j-1]
			if before.prefix < r.prefix || before.prefix == r.prefix && p.compare(*before, r) <= 0 {
				break
			}
			refs[j] = *before
		}
		refs[j] = r
	}
}
