package manager

import (
	"testing"
	"time"
)

// Memory is released at rest, when there is enough of it, and not too often.
func TestReleaser(t *testing.T) {
	const mib = 1 << 20
	begin := time.Now()
	at := func(d time.Duration) time.Time { return begin.Add(d) }
	var r releaser
	check := func(after time.Duration, revision uint64, resident int64, want bool) {
		t.Helper()
		if got := r.isDue(at(after), revision, resident); got != want {
			t.Errorf("after %v, at revision %d with %d MiB: %t, want %t", after, revision, resident/mib, got, want)
		}
	}
	check(0, 7, 40*mib, false)                 // it may just have begun
	check(restAfter-1, 7, 40*mib, false)       //
	check(restAfter, 8, 40*mib, false)         // a job changed
	check(2*restAfter-1, 8, 40*mib, false)     //
	check(2*restAfter, 8, releaseMin-1, false) // too little
	check(2*restAfter, 8, 40*mib, true)
	last := 2 * restAfter
	r.released(at(last), 20*mib)
	check(last+releaseGap-1, 8, 100*mib, false)
	check(last+releaseGap, 8, 20*mib+releaseMin-1, false)
	check(last+releaseGap, 9, 100*mib, false) // a job changed
	check(last+releaseGap+restAfter, 9, 100*mib, true)
	r.released(at(last+releaseGap+restAfter), 400*mib)
	check(last+3*releaseGap, 9, 420*mib, false) // less than a quarter more
	check(last+3*releaseGap, 9, 500*mib, true)
}
