package wire

import (
	"encoding/binary"
	"errors"
	"slices"
)

// statesMax bounds ArrayStatus.States, in bytes. A run takes one to three, so these are some 30,000
// runs of equal states.
const statesMax = 64 << 10

// NewArrayStatus describes a job array by its elements' states, in order of their indices.
func NewArrayStatus(e *Elements, set ElementSet, stage int, states []ElementState) *ArrayStatus {
	a := &ArrayStatus{Elements: e, Stage: uint32(stage)}
	lists := make([][]uint32, ElementState_ELEMENT_STATE_KILLED+1)
	at := 0
	for _, r := range set.Runs() {
		for i := range r.Count {
			lists[states[at]] = append(lists[states[at]], r.First+i*r.Step)
			at++
		}
	}
	for state, list := range lists {
		if len(list) > 0 {
			a.Counts = append(a.Counts, &ElementCount{State: ElementState(state), Count: uint32(len(list)), Indices: ElementSetOf(list).Short()})
		}
	}
	return a
}

// PackElementStates writes states as ArrayStatus has them; nil: they would take more than statesMax
// bytes.
func PackElementStates(states []ElementState) (packed []byte) {
	for i := 0; i < len(states); {
		n := 1
		for i+n < len(states) && states[i+n] == states[i] {
			n++
		}
		packed = binary.AppendUvarint(packed, uint64(n)<<3|uint64(states[i]))
		if len(packed) > statesMax {
			return nil
		}
		i += n
	}
	return packed
}

// UnpackElementStates reads the states of so many elements. Where they were not kept, all are
// ELEMENT_STATE_UNSPECIFIED.
func UnpackElementStates(packed []byte, count int) ([]ElementState, error) {
	states := make([]ElementState, 0, count)
	if len(packed) == 0 {
		return states[:count], nil
	}
	for len(packed) > 0 {
		run, n := binary.Uvarint(packed)
		if n <= 0 || run>>3 > uint64(count-len(states)) || ElementState(run&7) > ElementState_ELEMENT_STATE_KILLED {
			return nil, errors.New("the states of the elements are damaged")
		}
		packed = packed[n:]
		states = append(states, slices.Repeat([]ElementState{ElementState(run & 7)}, int(run>>3))...)
	}
	if len(states) != count {
		return nil, errors.New("states of some elements are missing")
	}
	return states, nil
}
