package exchange

import (
	"github.com/hamadryad/hamadryad/engine/core/step"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Note tells a note to the policy. Without one, or when Settings.NotesMax wait for it, it
// goes nowhere, and that is said.
func (x *Exchange) Note(s *step.Step, n scheduler.Note) {
	g := x.current
	if g == nil || g.notes >= s.Set.NotesMax {
		s.Log(step.Warn, "a note was not delivered: no policy runs, or too many wait for it", "note", n.Name)
		return
	}
	g.notes++
	g.tell(scheduler.Noted{At: s.Now, Note: n})
}
