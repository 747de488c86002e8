package view

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// The list equals a plain sorted slice, whatever is added and removed.
func TestLiveList(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	var l liveList
	var want []*Attempt
	for step := range 20_000 {
		switch x := random.IntN(100); {
		case x < 50 || len(want) == 0:
			id := scheduler.AttemptID(1000 + step)
			if x == 0 { // out of order, as in a snapshot
				id = scheduler.AttemptID(random.IntN(step + 1000))
			}
			if slices.ContainsFunc(want, func(a *Attempt) bool { return a.ID == id }) {
				continue
			}
			a := &Attempt{ID: id}
			l.add(a)
			want = insert(want, a, attemptID)
		default:
			i := random.IntN(len(want))
			if x < 70 {
				i = 0 // the oldest end first
			}
			l.remove(want[i])
			want = slices.Delete(want, i, i+1)
		}
		if l.len() != len(want) || len(want) > 0 && l.first() != want[0] {
			t.Fatalf("step %d: %d attempts, want %d", step, l.len(), len(want))
		}
		if step%97 == 0 && !slices.Equal(l.all(), want) {
			t.Fatalf("step %d: %d attempts are not those that should be there", step, l.len())
		}
	}
}
