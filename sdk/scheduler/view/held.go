package view

import (
	"slices"

	"github.com/hamadryad/hamadryad/internal/prefetch"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// slotsHeld counts slots, in order of kind. A kind stays when its count is 0.
type slotsHeld []scheduler.SlotCount

func (h *slotsHeld) add(kind scheduler.SlotKind, n int) {
	for i := range *h {
		if (*h)[i].Kind == kind {
			(*h)[i].Count += n
			return
		}
	}
	*h = append(*h, scheduler.SlotCount{Kind: kind, Count: n})
	slices.SortFunc(*h, byKind)
}

// prefetch touches its memory.
func (h slotsHeld) prefetch() byte { return prefetch.At(h, 0) }
