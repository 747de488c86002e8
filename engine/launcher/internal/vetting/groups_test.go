package vetting

import (
	"testing"

	"github.com/hamadryad/hamadryad/engine/wire"
)

// A worker may report the loss of a source that came in a group, once for each that it received.
func TestSourcesInGroupsMayBeLost(t *testing.T) {
	group := func(from ...uint32) []*wire.SourceGroup {
		return []*wire.SourceGroup{{Connection: 3, From: from, Attempts: make([]int64, len(from))}}
	}
	a := NewAttempt(&wire.StartAttempt{Attempt: 7, SourceGroups: group(4)})
	lost := func(from uint32) (bool, error) {
		return a.check(&wire.Report{What: &wire.Report_InputLost{InputLost: &wire.InputLost{Attempt: 7, Connection: 3, From: from}}})
	}
	if fresh, err := lost(4); !fresh || err != nil {
		t.Error(fresh, err)
	}
	if fresh, err := lost(4); fresh || err != nil {
		t.Error("reported again before it was replaced:", fresh, err)
	}
	if _, err := lost(5); err == nil {
		t.Error("the attempt does not read node 5 yet")
	}
	a.NoteCommand(&wire.ToWorker{Do: &wire.ToWorker_Sources{Sources: &wire.SourcesUpdate{Attempt: 7, Groups: group(4, 5)}}})
	for _, from := range []uint32{4, 5} {
		if fresh, err := lost(from); !fresh || err != nil {
			t.Error(from, fresh, err)
		}
	}
}
