package wire

import "testing"

// Numbers of one run of the manager are no other run's, however many each gave.
func TestLivesShareNoNumbers(t *testing.T) {
	last := NewEpochID(7, 1<<numberBits-1)
	first := NewEpochID(8, 0)
	if last >= first {
		t.Errorf("the last of life 7 is %d, the first of life 8 %d", last, first)
	}
	for _, want := range [][2]uint64{{7, 0}, {7, 1<<numberBits - 1}, {1 << 39, 12}} {
		if term, n := SplitEpochID(NewEpochID(want[0], want[1])); term != want[0] || n != want[1] {
			t.Errorf("%v comes apart as %d and %d", want, term, n)
		}
	}
}
