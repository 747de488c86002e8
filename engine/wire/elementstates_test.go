package wire

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestElementStates: packed states come back, and are bounded.
func TestElementStates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) ElementState {
			return ElementState(rapid.IntRange(0, int(ElementState_ELEMENT_STATE_KILLED)).Draw(t, "state"))
		}), 1, 300).Draw(t, "states")
		packed := PackElementStates(want)
		got, err := UnpackElementStates(packed, len(want))
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("%v came back as %v (%v)", want, got, err)
		}
		if _, err := UnpackElementStates(packed, len(want)+1); err == nil {
			t.Fatal("a state is missing, and nothing is said")
		}
		if _, err := UnpackElementStates(packed, len(want)-1); err == nil && len(want) > 1 {
			t.Fatal("there is a state too many, and nothing is said")
		}
	})
	many := make([]ElementState, 200_000)
	for i := range many {
		many[i] = ElementState(3 + i%2)
	}
	if packed := PackElementStates(many); packed != nil {
		t.Errorf("they take %d bytes", len(packed))
	}
	if got, err := UnpackElementStates(nil, 3); err != nil || !slices.Equal(got, make([]ElementState, 3)) {
		t.Errorf("states that were not kept are %v (%v)", got, err)
	}
}
