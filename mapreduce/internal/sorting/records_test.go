package sorting

import (
	"fmt"
	"testing"
)

// allocated is the memory that records have taken, used or not.
func allocated(r *records) int64 { return r.taken + int64(cap(r.refs))*refBytes }

// Records take memory as they come: a task with few pairs does not pay for its whole budget, and one
// with many uses nearly all of it.
func TestMemoryGrowsWithTheRecords(t *testing.T) {
	const budget = 64 << 20
	for _, size := range []int{10, 100, 10_000, 1_000_000} {
		r := newRecords(budget)
		record := AppendPair(nil, []byte("key"), make([]byte, size))
		for n := 1; !r.full(len(record)); n++ {
			r.add(record, []byte("key"))
			if most := refsGrowth*r.bytes() + chunkFirst + refsFirst*refBytes; allocated(&r) > most || allocated(&r) > budget+1<<20 {
				t.Fatalf("%d records of %d bytes hold %d, want at most %d", n, size, allocated(&r), most)
			}
		}
		if r.bytes() < budget*6/10 {
			t.Errorf("records of %d bytes: full with %d bytes of %d", size, r.bytes(), budget)
		}
	}
}

// Records that are emptied keep their memory, but for that of a single large record.
func TestEmptiedRecordsKeepTheirMemory(t *testing.T) {
	const budget = 16 << 20
	r := newRecords(budget)
	fill := func() {
		for i := 0; ; i++ {
			record := AppendPair(nil, fmt.Append(nil, i), make([]byte, 100))
			if r.full(len(record)) {
				return
			}
			r.add(record, fmt.Append(nil, i))
		}
	}
	r.add(make([]byte, budget/2), nil)
	fill()
	r.reset()
	fill()
	before := allocated(&r)
	r.reset()
	if after := allocated(&r); after != before || after < budget/2 {
		t.Errorf("emptied it holds %d bytes, and full %d", after, before)
	}
}
