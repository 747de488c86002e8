package manager

import (
	"slices"
	"sync"
	"testing"
)

func TestWhatIsDueWaitsForItsRecord(t *testing.T) {
	var h durableQueue
	var done []uint64
	do := func(n uint64) func() { return func() { done = append(done, n) } }
	h.add(1, do(1))
	h.add(1, do(2))
	h.add(3, do(3))
	h.add(2, do(4)) // never before earlier entries
	if len(done) != 0 {
		t.Fatal("done before it was durable")
	}
	h.reached(2)
	if !slices.Equal(done, []uint64{1, 2}) {
		t.Fatal(done)
	}
	h.reached(3)
	h.add(3, do(5)) // durable already
	if !slices.Equal(done, []uint64{1, 2, 3, 4, 5}) {
		t.Fatal(done)
	}
}

func TestWhatIsDueKeepsItsOrderUnderContention(t *testing.T) {
	var h durableQueue
	var done []int
	var wait sync.WaitGroup
	const n = 2000
	wait.Go(func() {
		for seq := range uint64(n + 1) {
			h.reached(seq)
		}
	})
	for i := range n {
		h.add(uint64(i), func() { done = append(done, i) })
	}
	wait.Wait()
	if len(done) != n || !slices.IsSorted(done) {
		t.Fatalf("%d done, in order: %v", len(done), slices.IsSorted(done))
	}
}
