package estimation

import (
	"cmp"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Kind groups tasks that are assumed to have similar lengths.
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

// Bounds of the remembered means.
const (
	// weightMax bounds how many tasks a mean counts for. Beyond it, each new task has this weight,
	// so that the mean follows changes.
	weightMax = 10_000
	// kindsMax bounds how many kinds are remembered: later ones are ignored. A site has a few.
	kindsMax = 1000
)

// Mean is the mean length of past tasks of a kind.
type Mean struct {
	Kind    Kind
	Tasks   int     // at most weightMax
	Seconds float64 // of one task
}

// Past is the mean lengths of past tasks, in order of kind: plain data.
type Past []Mean

func (p Past) find(k Kind) (int, bool) {
	return slices.BinarySearchFunc(p, k, func(m Mean, k Kind) int { return compareKinds(m.Kind, k) })
}

// Of returns the mean length of a kind's tasks in seconds, and whether there is one.
func (p Past) Of(k Kind) (float64, bool) {
	i, found := p.find(k)
	if !found {
		return 0, false
	}
	return p[i].Seconds, true
}

// Learn adds one finished task.
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
