package state

import (
	"bytes"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hamadryad/hamadryad/engine/core/internal/checkpoint/codectest"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// However often the store is found full, and whenever there is room again: each waiting bundle is
// tried again, the waits since the store last took files add up to at most the bound, and the state
// is read back as written.
func TestRoomIsWaitedForWithinABound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limits := StoreRoomLimits{After: time.Second, AfterMax: 4 * time.Second, Max: 20 * time.Second}
		now, room := scheduler.Time(1), StoreRoom{}
		waits, out := time.Duration(0), map[int]bool{} // bundles that are being tried
		for i := range 5 {
			out[i] = true
		}
		for range 200 {
			bundle := rapid.IntRange(0, 4).Draw(t, "bundle")
			switch does := rapid.SampledFrom([]string{"full", "full", "full", "later", "took"}).Draw(t, "does"); {
			case does == "full" && out[bundle]:
				due := room.Due(now)
				wait, more := room.Full(now, bundle, "no room", limits)
				if !more {
					if waits != limits.Max {
						t.Fatalf("given up after %v", waits)
					}
					return
				}
				if waits += wait; waits > limits.Max || wait > limits.AfterMax || (wait > 0) != due || room.Due(now) {
					t.Fatalf("a wait of %v, of %v in all, where none went on: %t", wait, waits, due)
				}
				out[bundle] = false
			case does == "later":
				now = now.Add(2 * time.Second)
			case does == "took":
				room.Took()
				waits = 0
			}
			was := codectest.Bytes(t, room.Code)
			room = StoreRoom{}
			codectest.Read(t, was, room.Code)
			if !bytes.Equal(codectest.Bytes(t, room.Code), was) {
				t.Fatal("it comes back as another state")
			}
			for room.Due(now) && room.Waiting() > 0 {
				out[room.Next()] = true
			}
			if waiting := room.Waiting(); (room.Why() == "") != (waiting == 0) || waiting+count(out) != len(out) {
				t.Fatalf("%d wait and %d are tried, of %d: %s", waiting, count(out), len(out), room.Why())
			}
		}
	})
}

func count(set map[int]bool) (n int) {
	for _, in := range set {
		if in {
			n++
		}
	}
	return n
}
