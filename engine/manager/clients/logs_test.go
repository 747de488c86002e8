package clients

import (
	"slices"
	"testing"

	"github.com/hamadryad/hamadryad/engine/wire"
)

// Logs of a job come in one order each time, whichever of its attempts ended first; the
// status that they are taken from stays.
func TestLogsComeInOrderOfAttempts(t *testing.T) {
	ids := func(list []*wire.AttemptStatus) (ids []uint64) {
		for _, a := range list {
			ids = append(ids, a.Attempt)
		}
		return ids
	}
	status := []*wire.AttemptStatus{{Attempt: 7}, {Attempt: 5}, {Attempt: 9}, {Attempt: 6}}
	if got := ids(inOrder(status)); !slices.Equal(got, []uint64{5, 6, 7, 9}) {
		t.Errorf("logs come in the order %v", got)
	}
	if got := ids(status); !slices.Equal(got, []uint64{7, 5, 9, 6}) {
		t.Errorf("the status has now %v", got)
	}
}
