package step

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/hamadryad/hamadryad/engine/core/internal/checkpoint"
	"github.com/hamadryad/hamadryad/engine/core/internal/checkpoint/codectest"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Timers come in order of time, those of one time in the order in which they were set, also after
// being written and read back at any moment.
func TestTimersComeInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var timers Timers
		var obvious []Timer // in order of setting
		now := scheduler.Time(0)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "do") {
			case 0, 1:
				at := now + scheduler.Time(rapid.IntRange(0, 5).Draw(t, "in"))
				timers.Set(at, 1, uint64(len(obvious)))
				obvious = append(obvious, Timer{At: at, Kind: 1, ID: uint64(len(obvious))})
			case 2:
				now += scheduler.Time(rapid.IntRange(0, 3).Draw(t, "pass"))
				for timers.Due(now) {
					got := timers.Take()
					want := slices.MinFunc(obvious, func(x, y Timer) int { return cmp.Compare(x.At, y.At) })
					if got.ID != want.ID || got.At != want.At {
						t.Fatalf("%d at %d came, want %d at %d", got.ID, got.At, want.ID, want.At)
					}
					i := slices.IndexFunc(obvious, func(x Timer) bool { return x.ID == want.ID })
					obvious[i].At = 1 << 62 // taken
				}
			case 3:
				timers = readBack(t, &timers)
			}
		}
	})
}

func readBack(t *rapid.T, timers *Timers) (back Timers) {
	code := func(x *Timers) func(*checkpoint.Codec) { return func(w *checkpoint.Codec) { x.CodeLast(w); x.Code(w) } }
	codectest.Read(t, codectest.Bytes(t, code(timers)), code(&back))
	return back
}
