package view

import (
	"cmp"
	"slices"

	"github.com/hamadryad/hamadryad/internal/prefetch"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// liveList holds a job's live attempts in order of id. Each attempt has its index, and leaves a gap
// when it ends. A job has thousands, and the end of one must not walk or move the others.
type liveList struct {
	attempts []*Attempt // nil in a gap
	gaps     int
}

func (l *liveList) len() int { return len(l.attempts) - l.gaps }

// prefetch touches the entry of an attempt that will end; for nil, the end, where one will be
// added.
func (l *liveList) prefetch(a *Attempt) byte {
	if a != nil {
		return prefetch.At(l.attempts, a.place)
	}
	return prefetch.At(l.attempts, len(l.attempts)-1)
}

// first returns the attempt with the lowest id; the list must not be empty.
func (l *liveList) first() *Attempt {
	return l.attempts[slices.IndexFunc(l.attempts, func(a *Attempt) bool { return a != nil })]
}

// add inserts an attempt in order, nearly always at the end.
func (l *liveList) add(a *Attempt) {
	n := len(l.attempts)
	if n == 0 || l.attempts[n-1].ID < a.ID {
		a.place = n
		l.attempts = append(l.attempts, a)
		return
	}
	l.close()
	i, _ := slices.BinarySearchFunc(l.attempts, a.ID, func(x *Attempt, id scheduler.AttemptID) int { return cmp.Compare(x.ID, id) })
	l.attempts = slices.Insert(l.attempts, i, a)
	l.number(i)
}

// remove removes an attempt that is in the list.
func (l *liveList) remove(a *Attempt) {
	l.attempts[a.place] = nil
	l.gaps++
	for n := len(l.attempts); n > 0 && l.attempts[n-1] == nil; n-- { // no gaps at the end
		l.attempts = l.attempts[:n-1]
		l.gaps--
	}
	if l.gaps > compactMin && l.gaps > len(l.attempts)/2 {
		l.close()
	}
}

// all returns the attempts without gaps.
func (l *liveList) all() []*Attempt {
	l.close()
	return l.attempts
}

// close removes the gaps.
func (l *liveList) close() {
	if l.gaps == 0 {
		return
	}
	l.attempts = slices.DeleteFunc(l.attempts, func(a *Attempt) bool { return a == nil })
	l.gaps = 0
	l.number(0)
}

// number sets the indices of the attempts from an index on.
func (l *liveList) number(from int) {
	for i, a := range l.attempts[from:] {
		a.place = from + i
	}
}
