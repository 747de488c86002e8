package api

import (
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/manager/internal/launchers"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// Attempts that wait only for inputs are idle if no other attempt of the job makes progress.
func TestIdleAttemptsAreNamed(t *testing.T) {
	x := idleOfJob{reported: map[uint64]launchers.Idle{1: {ReadsOnly: true}, 2: {}, 3: {}, 4: {}}}
	for id, idle := range []time.Duration{90 * time.Second, 2 * time.Minute, 5 * time.Minute, 10 * time.Second} {
		x.all = append(x.all, &wire.AttemptStatus{Attempt: uint64(id + 1), IdleNs: int64(idle)})
	}
	for others, want := range map[bool][]uint64{true: {3, 2}, false: {3, 2, 1}} {
		x.others = others
		var got []uint64
		for _, a := range x.longer(time.Minute) {
			got = append(got, a.Attempt)
		}
		if len(got) != len(want) || got[0] != want[0] || got[1] != want[1] {
			t.Errorf("while others go on (%t): %v, want %v", others, got, want)
		}
	}
}
