package work

import (
	"cmp"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// list holds launchable bundles in order of id. One that is removed leaves a gap, which
// costs no copying; it is closed when gaps are most of the list.
type list struct {
	entries []entry
	gaps    int
	head    int // entries before it are gaps
}

type entry struct {
	id     scheduler.BundleID
	bundle *view.Bundle // nil in a gap
	given  uint64       // the turn in which it was given away
}

// gapsMin is the number of gaps below which a list is left alone.
const gapsMin = 32

func (l *list) find(id scheduler.BundleID) (int, bool) {
	return slices.BinarySearchFunc(l.entries, id, func(e entry, id scheduler.BundleID) int { return cmp.Compare(e.id, id) })
}

func (l *list) add(b *view.Bundle) {
	if n := len(l.entries); n == 0 || l.entries[n-1].id < b.ID {
		l.entries = append(l.entries, entry{id: b.ID, bundle: b})
		return
	}
	i, found := l.find(b.ID)
	if found {
		l.entries[i] = entry{id: b.ID, bundle: b}
		l.gaps--
	} else {
		l.entries = slices.Insert(l.entries, i, entry{id: b.ID, bundle: b})
	}
	l.head = min(l.head, i)
}

func (l *list) remove(id scheduler.BundleID) {
	i, found := l.find(id)
	if !found || l.entries[i].bundle == nil {
		return
	}
	l.entries[i].bundle = nil
	l.gaps++
	for l.head < len(l.entries) && l.entries[l.head].bundle == nil {
		l.head++
	}
	if l.gaps > gapsMin && l.gaps > len(l.entries)/2 {
		l.entries = slices.DeleteFunc(l.entries, func(e entry) bool { return e.bundle == nil })
		l.gaps, l.head = 0, 0
	}
}

// each walks those that were not given away in a turn.
func (l *list) each(turn uint64) func(func(*view.Bundle) bool) {
	return func(yield func(*view.Bundle) bool) {
		for i := l.head; i < len(l.entries); i++ {
			if e := &l.entries[i]; e.bundle != nil && e.given != turn && !yield(e.bundle) {
				return
			}
		}
	}
}
