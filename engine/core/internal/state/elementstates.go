package state

import (
	"slices"

	"github.com/hamadryad/hamadryad/engine/core/changes"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// markElementDirty reports the state of a bundle that is an element of a job array.
func (j *Job) markElementDirty(b *Bundle) {
	if j.Elements.Len() > 0 && !b.Element.dirty && !b.Last() && j.IsElement(b) {
		b.Element.dirty = true
		j.Elements.dirty = append(j.Elements.dirty, int32(b.Index-j.Elements.first))
	}
}

// elementState is the state of an element for people.
func (b *Bundle) elementState() wire.ElementState {
	switch {
	case b.phase == BundleRunning:
		return wire.ElementState_ELEMENT_STATE_RUNNING
	case b.phase == BundleFinished:
		return wire.ElementState_ELEMENT_STATE_SUCCEEDED
	case b.phase == BundleGivenUp && b.Element.end == ElementFailed:
		return wire.ElementState_ELEMENT_STATE_FAILED
	case b.phase == BundleGivenUp && b.Element.end == ElementKilled:
		return wire.ElementState_ELEMENT_STATE_KILLED
	}
	return wire.ElementState_ELEMENT_STATE_WAITING // also of one that is to be tried again
}

// Array describes the job array for readers.
func (j *Job) Array() changes.Array {
	e := &j.Elements
	if e.Len() == 0 {
		return changes.Array{}
	}
	return changes.Array{Set: e.set, Spec: j.Plan.Graph.Stages[e.stage].Elements, Stage: e.stage}
}

// ArrayStatus describes the job array; nil: it is none. With ended, elements that have not ended
// were killed with their job, and the states of all are in it.
func (j *Job) ArrayStatus(ended bool) *wire.ArrayStatus {
	a := j.Array()
	if a.Set.Len() == 0 {
		return nil
	}
	states := make([]wire.ElementState, a.Set.Len())
	for i := range states {
		if states[i] = j.element(i).elementState(); ended && states[i] <= wire.ElementState_ELEMENT_STATE_RUNNING {
			states[i] = wire.ElementState_ELEMENT_STATE_KILLED
		}
	}
	s := wire.NewArrayStatus(a.Spec, a.Set, a.Stage, states)
	if ended {
		s.States = wire.PackElementStates(states)
	}
	return s
}

// drainElements appends the rows of elements that changed.
func (j *Job) drainElements(rows []changes.Elements) []changes.Elements {
	e := &j.Elements
	slices.Sort(e.dirty)
	for _, i := range e.dirty {
		b := j.element(int(i))
		b.Element.dirty = false
		rows = j.addElementRow(rows, i, b)
	}
	e.dirty = e.dirty[:0]
	return rows
}

// elementRows appends the rows of all elements.
func (j *Job) elementRows(rows []changes.Elements) []changes.Elements {
	for i := range j.Elements.Len() {
		rows = j.addElementRow(rows, int32(i), j.element(i))
	}
	return rows
}

// addElementRow appends the row of an element, or makes the last row longer.
func (j *Job) addElementRow(rows []changes.Elements, i int32, b *Bundle) []changes.Elements {
	state := b.elementState()
	if n := len(rows); n > 0 {
		if last := &rows[n-1]; last.Job == j.ID && last.State == state && last.First+last.Count == i {
			last.Count++
			return rows
		}
	}
	return append(rows, changes.Elements{Job: j.ID, First: i, Count: 1, State: state})
}
