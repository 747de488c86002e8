package estimation

import (
	"cmp"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Kind is what tasks have in common that are taken to be of like length.
type Kind struct {
	Slots    scheduler.SlotKind
	Shuffles bool
}

func compareKinds(a, b Kind) int {
	n := func(b bool) int {
		if b {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(a.Slots, b.Slots), cmp.Compare(n(a.Shuffles), n(b.Shuffles)))
}

// Bounds of what is remembered.
const (
	// weightMax is how many tasks a mean stands for at most. After that the newest
	// counts for that part, so that the mean follows what jobs become.
	weightMax = 10_000
	// kindsMax is how many kinds are remembered: those that were heard of first. A site
	// has a few.
	kindsMax = 1000
)

// Mean is the mean length of past tasks of a kind.
type Mean struct {
	Kind    Kind
	Tasks   int     // at most weightMax
	Seconds float64 // of one
}

// Past is what is known of past tasks, in order of kind: plain data.
type Past []Mean

func (p Past) find(k Kind) (int, bool) {
	return slices.BinarySearchFunc(p, k, func(m Mean, k Kind) int { return compareKinds(m.Kind, k) })
}

// Of returns the mean length in seconds of tasks of a kind, and whether there is one.
func (p Past) Of(k Kind) (float64, bool) {
	i, found := p.find(k)
	if !found {
		return 0, false
	}
	return p[i].Seconds, true
}

// Learn adds one task.
func (p *Past) Learn(k Kind, seconds float64) {
	i, found := p.find(k)
	if !found {
		if len(*p) >= kindsMax {
			return
		}
		*p = slices.Insert(*p, i, Mean{Kind: k})
	}
	m := &(*p)[i]
	m.Tasks = min(m.Tasks+1, weightMax)
	m.Seconds = length(m.Seconds + (length(seconds)-m.Seconds)/float64(m.Tasks))
}
