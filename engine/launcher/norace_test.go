//go:build !race

package launcher_test

import "testing"

// raceHolds is the factor by which a race detector multiplies a program's memory: there is none
// here.
const raceHolds = 1

// A worker returns memory that a previous attempt was allowed. (With the race detector it returns
// none.)
func TestMemoryOfTheAttemptBeforeDoesNotCount(t *testing.T) {
	m := newManager(t)
	n := m.launch("a", nil)
	b := m.job("eat", "400") // only its first node holds that much
	first := b.attempt(0, 0)
	first.Memory = 512 << 20
	n.finished(n.start(first))
	second := b.attempt(0, 1)
	second.Memory = 64 << 20
	n.finished(n.start(second))
}
