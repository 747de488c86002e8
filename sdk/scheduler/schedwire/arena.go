package schedwire

import "github.com/hamadryad/hamadryad/sdk/scheduler"

// arenaChunk is how many elements are made at once. Small lists come out of
// common chunks, which saves most allocations of a large round; chunks are
// small, because a policy that keeps one list keeps its chunk.
const arenaChunk = 128

// arena hands out slices of a common chunk.
type arena[T any] struct{ free []T }

// take returns a slice of n elements, nil for none. left is how many may be
// asked for from now on, n included: nothing larger is made.
func (a *arena[T]) take(n, left int) []T {
	if n <= 0 {
		return nil
	}
	if len(a.free) < n {
		a.free = make([]T, max(n, min(left, arenaChunk)))
	}
	s := a.free[:n:n]
	a.free = a.free[n:]
	return s
}

// arenas are those of one message.
type arenas struct {
	places    arena[scheduler.Place]
	groups    arena[scheduler.Group]
	slots     arena[scheduler.SlotCount]
	launchers arena[scheduler.LauncherID]
	attempts  arena[scheduler.AttemptID]
	stages    arena[uint64]
}
