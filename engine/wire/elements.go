package wire

import (
	"fmt"

	"github.com/hamadryad/hamadryad/sdk/job/elements"
)

// ElementSet is a set of indices of a job array.
type ElementSet = elements.Set

// ElementSetOf is the set of indices, which are ascending.
func ElementSetOf(indices []uint32) ElementSet { return elements.Of(indices) }

// ElementIndexMax is the largest index of an element.
const ElementIndexMax = elements.IndexMax

// ParseElements reads indices of a job array, such as 3-18:5 or 1,3,7-9.
func ParseElements(text string) ([]*ElementRange, error) {
	set, err := elements.Parse(text)
	if err != nil {
		return nil, err
	}
	return ElementRanges(set), nil
}

// ElementRanges are the ranges of a set of indices of a job array.
func ElementRanges(s elements.Set) []*ElementRange {
	list := make([]*ElementRange, len(s.Runs()))
	for i, r := range s.Runs() {
		list[i] = &ElementRange{First: r.First, Count: r.Count, Step: r.Step}
	}
	return list
}

// ElementsOf is the set of ranges of indices. It refuses ranges that ElementRanges does not make.
func ElementsOf(ranges []*ElementRange) (elements.Set, error) {
	runs := make([]elements.Run, len(ranges))
	for i, r := range ranges {
		runs[i] = elements.Run{First: r.GetFirst(), Count: r.GetCount(), Step: r.GetStep()}
	}
	return elements.OfRuns(runs)
}

// CheckElements returns why a stage with a number of nodes can't be a job array with these elements.
func CheckElements(e *Elements, nodes uint32) error {
	set, err := ElementsOf(e.GetRanges())
	switch {
	case err != nil:
		return err
	case set.Len() != int(nodes):
		return fmt.Errorf("it has %d nodes and %d elements: give each node one", nodes, set.Len())
	case e.GetAtOnce() > elements.Max:
		return fmt.Errorf("%d of its elements may run at once: use up to %d, or 0 for all", e.GetAtOnce(), elements.Max)
	}
	return nil
}
