//go:build !race

package launcher_test

import "testing"

// raceHolds is how many times the memory of a program its race detector may hold:
// there is none.
const raceHolds = 1

// A worker that had more for the attempt before gives it back. (The race
// detector gives nothing back.)
func TestMemoryOfTheAttemptBeforeDoesNotCount(t *testing.T) {
	m := newManager(t)
	n := m.launch("a", nil)
	b := m.job("eat", "400") // only its first node holds so much
	first := b.attempt(0, 0)
	first.Memory = 512 << 20
	n.finished(n.start(first))
	second := b.attempt(0, 1)
	second.Memory = 64 << 20
	n.finished(n.start(second))
}
