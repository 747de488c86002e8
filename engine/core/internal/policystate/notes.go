package policystate

import (
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Note sends a note to the deciding policy, or to a numbered generation that was started and may
// not have taken over yet: a shell begins with its policy, and its notes are for no other. Without
// such a generation, or when Settings.NotesMax notes wait for it, the note is dropped and that is
// logged.
func (x *Session) Note(s *step.Step, generation uint64, n scheduler.Note) {
	g := x.current
	if generation != 0 {
		g = x.numbered(generation)
	}
	if g == nil || g.notes >= s.Set.NotesMax {
		s.Log(step.Warn, "a note was not delivered: its policy has ended, or too many wait for it", "note", n.Name)
		return
	}
	g.notes++
	g.notify(scheduler.Noted{At: s.Now, Note: n})
}

// numbered is the generation with a number, nil when it has ended.
func (x *Session) numbered(number uint64) *Generation {
	for _, g := range []*Generation{x.current, x.next} {
		if g != nil && g.Number == number {
			return g
		}
	}
	return nil
}
