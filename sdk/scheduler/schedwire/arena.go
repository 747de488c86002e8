package schedwire

import "github.com/hamadryad/hamadryad/sdk/scheduler"

// arenaChunk is how many elements are allocated at once. Small lists share chunks, which saves most
// allocations of a large round. Chunks are small, because one kept list keeps its whole chunk in
// memory.
const arenaChunk = 128

// arena hands out slices of a common chunk.
type arena[T any] struct{ free []T }

// take returns a slice of n elements, nil for none. left bounds all further requests, n included,
// and so the chunk's size.
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

// arenas are the arenas of one message.
type arenas struct {
	places    arena[scheduler.Place]
	groups    arena[scheduler.Group]
	slots     arena[scheduler.SlotCount]
	launchers arena[scheduler.LauncherID]
	attempts  arena[scheduler.AttemptID]
	stages    arena[uint64]
}
