package faultsim

import (
	"bytes"
	"testing"
)

// A log that lost its end equals one that ended there. Its batches lead to the state to which the
// core goes back, whichever checkpoint is nearest, and it can lose more.
func TestRecordsLoseTheirEnd(t *testing.T) {
	s := New(Options{Seed: 3, Policies: policiesOf(3), ReplayEvery: 7})
	if err := s.Run(); err != nil {
		t.Fatal(err)
	}
	r, before := s.records, 0
	for range r.all() {
		before++
	}
	for before > 0 {
		r.loseEnd()
		left := 0
		c, err := r.restored()
		if err != nil {
			t.Fatal(err)
		}
		again := New(Options{Seed: 3}).Core
		for b := range r.all() {
			again.Step(b)
			left++
		}
		if left >= before || !r.lossy() {
			t.Fatalf("of %d batches %d are left, lossy %t", before, left, r.lossy())
		}
		if want := again.Checkpoint(); !bytes.Equal(c.Checkpoint(), want) || !bytes.Equal(s.Core.Checkpoint(), want) {
			t.Fatalf("with %d batches left the core is not where they lead", left)
		}
		before = left
	}
	if s.err != nil {
		t.Error(s.err)
	}
}
