package view

import (
	"cmp"
	"iter"
	"math"
	"slices"

	"github.com/hamadryad/hamadryad/internal/prefetch"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// compactMin is the number of dead entries up to which a list is not compacted.
const compactMin = 32

// entriesMin is the initial capacity of a list.
const entriesMin = 8

// list holds launchable bundles in order of id. Removal leaves a dead entry, so that removing
// thousands from a long list copies nothing. The list is compacted when most of it is dead.
type list struct {
	entries []entry
	dead    int
	head    int // entries before it are dead
}

type entry struct {
	id     scheduler.BundleID
	bundle *Bundle // nil when dead
}

func (l *list) len() int { return len(l.entries) - l.dead }

// front returns the first bundle, or nil if the list is empty or nil.
func (l *list) front() *Bundle {
	if l == nil || l.head >= len(l.entries) {
		return nil
	}
	return l.entries[l.head].bundle
}

// prefetch touches the first bundle's entry.
func (l *list) prefetch() byte { return prefetch.At(l.entries, l.head) }

func (l *list) find(id scheduler.BundleID) (int, bool) {
	return slices.BinarySearchFunc(l.entries, id, func(e entry, id scheduler.BundleID) int { return cmp.Compare(e.id, id) })
}

func (l *list) add(b *Bundle) {
	if l.entries == nil {
		l.entries = make([]entry, 0, entriesMin)
	}
	if n := len(l.entries); n == 0 || l.entries[n-1].id < b.ID {
		l.entries = append(l.entries, entry{b.ID, b})
		return
	}
	i, found := l.find(b.ID)
	switch {
	case !found:
		l.entries = slices.Insert(l.entries, i, entry{b.ID, b})
	case l.entries[i].bundle == nil:
		l.entries[i].bundle = b
		l.dead--
	}
	l.head = min(l.head, i)
}

func (l *list) remove(id scheduler.BundleID) {
	i, found := l.head, true
	if i == len(l.entries) || l.entries[i].id != id { // usually it is the first
		i, found = l.find(id)
	}
	if !found || l.entries[i].bundle == nil {
		return
	}
	l.entries[i].bundle = nil
	l.dead++
	for l.head < len(l.entries) && l.entries[l.head].bundle == nil {
		l.head++
	}
	if l.dead > compactMin && l.dead > len(l.entries)/2 {
		l.entries = slices.DeleteFunc(l.entries, func(e entry) bool { return e.bundle == nil })
		l.dead, l.head = 0, 0
	}
}

// BundleList holds launchable bundles that the policy chooses, in order of id, such as those of one
// stage. The policy adds and removes them. The zero value is empty.
type BundleList struct{ list list }

// Add adds a bundle that is not in the list.
func (l *BundleList) Add(b *Bundle) { l.list.add(b) }

// Remove removes a bundle, if it is in the list.
func (l *BundleList) Remove(b *Bundle) { l.list.remove(b.ID) }

// Launchable walks the bundles of the list that were not given to Launch or LeaveOut since the last
// Apply, and are Bundle.WithinUserLimit. All of the list's bundles are of one job.
func (l *BundleList) Launchable() iter.Seq[*Bundle] {
	if b := l.list.front(); b != nil {
		return b.Job.walk(&l.list, 0).All()
	}
	return Walk{}.All()
}

// All walks all bundles of the list, including those given to Launch.
func (l *BundleList) All() iter.Seq[*Bundle] { return l.list.all(noTurn) }

// noTurn is a turn in which no bundle was given to Launch.
const noTurn = math.MaxUint64

// Walk iterates over launchable bundles without allocating, for what a policy does for every
// launch. It is valid until the next Apply.
type Walk struct {
	rest    []entry
	turn    uint64
	limited *Job // whose bundles they are, if its user has a limit
}

// Next returns the next bundle that was not given to Launch since the last Apply and is within its
// user's limit, or nil after the last.
func (w *Walk) Next() *Bundle {
	for i := range w.rest {
		if b := w.rest[i].bundle; b != nil && b.given != w.turn {
			if w.limited != nil && !b.WithinUserLimit() {
				if w.limited.WithinUserLimit() {
					continue
				}
				break // none of the job is
			}
			w.rest = w.rest[i+1:]
			return b
		}
	}
	w.rest = nil
	return nil
}

// All returns the walk as an iterator.
func (w Walk) All() iter.Seq[*Bundle] {
	return func(yield func(*Bundle) bool) {
		for b := w.Next(); b != nil && yield(b); b = w.Next() {
		}
	}
}

// ready walks those of the bundles that are ready.
func (w Walk) ready() iter.Seq[*Bundle] {
	return func(yield func(*Bundle) bool) {
		for b := w.Next(); b != nil; b = w.Next() {
			if !b.SpeculationOffered && !yield(b) {
				return
			}
		}
	}
}

// all walks the bundles not given to Launch in a turn.
func (l *list) all(turn uint64) iter.Seq[*Bundle] { return l.after(0, turn).All() }

// after walks the bundles with ids above id that were not given to Launch in a turn.
func (l *list) after(id scheduler.BundleID, turn uint64) Walk {
	if l == nil {
		return Walk{}
	}
	i := l.head
	if i < len(l.entries) && l.entries[i].id <= id {
		var found bool
		if i, found = l.find(id); found {
			i++
		}
	}
	return Walk{rest: l.entries[i:], turn: turn}
}
