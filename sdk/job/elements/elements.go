// Package elements has sets of the indices of a job array: how they are written, counted and
// found.
//
// A set is a list of runs, ascending and without overlap. So 0-99999 is one run, however many
// elements it has.
package elements

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const (
	// Max bounds the elements of one array.
	Max = 1_000_000
	// IndexMax is the largest index of an element.
	IndexMax = 1<<31 - 1
	// TextMax bounds the bytes of a set as text.
	TextMax = 1 << 20
)

// Run is Count indices from First on, each by Step larger than the one before.
type Run struct{ First, Count, Step uint32 }

// last returns the largest index of a run.
func (r Run) last() uint32 { return r.First + (r.Count-1)*r.Step }

// Set is a set of indices. The zero value is empty. A Set does not change.
type Set struct {
	runs   []Run
	before []int // by run: the indices in earlier runs
	count  int
}

// OfRuns returns the set of the given runs. It refuses runs that overlap, are out of order, or go
// beyond the bounds.
func OfRuns(runs []Run) (Set, error) {
	s := Set{runs: runs, before: make([]int, len(runs))}
	next := uint64(0)
	for i, r := range runs {
		last := uint64(r.First) + (uint64(r.Count)-1)*uint64(r.Step)
		switch {
		case r.Count == 0 || r.Step == 0:
			return Set{}, fmt.Errorf("a range of indices has %d indices in steps of %d: both are at least 1", r.Count, r.Step)
		case r.Count > Max || last > IndexMax:
			return Set{}, fmt.Errorf("a range of indices goes up to %d: use up to %d", last, IndexMax)
		case uint64(r.First) < next:
			return Set{}, fmt.Errorf("the ranges of indices overlap at %d, or are out of order", r.First)
		}
		s.before[i], next = s.count, last+1
		if s.count += int(r.Count); s.count > Max {
			return Set{}, tooMany(s.count)
		}
	}
	return s, nil
}

func tooMany(n int) error {
	return fmt.Errorf("an array has up to %d elements, and these are at least %d: make several arrays", Max, n)
}

// Of returns the set of the given indices, which are ascending and at most IndexMax.
func Of(indices []uint32) Set {
	var s Set
	for i := 0; i < len(indices); {
		r := Run{First: indices[i], Count: 1, Step: 1}
		if i+1 < len(indices) {
			step := indices[i+1] - indices[i]
			n := i + 1
			for n < len(indices) && indices[n]-indices[n-1] == step {
				n++
			}
			if step == 1 || n-i > 2 { // two indices alone are no run
				r.Count, r.Step = uint32(n-i), step
			}
		}
		s.runs, s.before = append(s.runs, r), append(s.before, s.count)
		s.count += int(r.Count)
		i += int(r.Count)
	}
	return s
}

// Parse reads a set such as 0-99, 0-99:5 (each fifth) or 1,3,7-9. Each index may be named once.
func Parse(text string) (Set, error) {
	if len(text) > TextMax {
		return Set{}, fmt.Errorf("the indices have %d bytes, at most %d are allowed: use ranges such as 0-99999", len(text), TextMax)
	}
	if strings.TrimSpace(text) == "" {
		return Set{}, fmt.Errorf("there is no index: write them like 0-99, 0-99:5 or 1,3,7-9")
	}
	var runs []Run
	count := 0
	for part := range strings.SplitSeq(text, ",") {
		r, err := parseRun(strings.TrimSpace(part))
		if err != nil {
			return Set{}, err
		}
		if count += int(r.Count); count > Max {
			return Set{}, tooMany(count)
		}
		runs = append(runs, r)
	}
	indices := make([]uint32, 0, count)
	for _, r := range runs {
		for i := range r.Count {
			indices = append(indices, r.First+i*r.Step)
		}
	}
	slices.Sort(indices)
	for i := 1; i < len(indices); i++ {
		if indices[i] == indices[i-1] {
			return Set{}, fmt.Errorf("index %d is named twice in %.100q: name it once", indices[i], text)
		}
	}
	return Of(indices), nil
}

// parseRun reads 7, 7-9 or 7-19:3.
func parseRun(text string) (Run, error) {
	wrong := fmt.Errorf("%.100q is no index: write them like 0-99, 0-99:5 or 1,3,7-9, up to %d", text, IndexMax)
	bounds, step, stepped := strings.Cut(text, ":")
	from, to, isRange := strings.Cut(bounds, "-")
	first, err := number(from)
	if err != nil || stepped && !isRange {
		return Run{}, wrong
	}
	last, by := first, uint32(1)
	if isRange {
		if last, err = number(to); err != nil {
			return Run{}, wrong
		}
	}
	if stepped {
		if by, err = number(step); err != nil || by == 0 {
			return Run{}, wrong
		}
	}
	if last < first {
		return Run{}, fmt.Errorf("the range %.100q goes backwards: write %d-%d", text, last, first)
	}
	n := (last-first)/by + 1
	if n > Max {
		return Run{}, tooMany(int(n))
	}
	return Run{First: first, Count: n, Step: by}, nil
}

// number reads an index. Signs and spaces are none.
func number(text string) (uint32, error) {
	n, err := strconv.ParseUint(text, 10, 31)
	return uint32(n), err
}

// Runs returns the runs of the set, ascending. The caller must not change them.
func (s Set) Runs() []Run { return s.runs }

// Len returns how many indices the set has.
func (s Set) Len() int { return s.count }

// At returns the i-th index, from 0. There must be one.
func (s Set) At(i int) uint32 {
	k, found := slices.BinarySearch(s.before, i)
	if !found {
		k--
	}
	return s.runs[k].First + uint32(i-s.before[k])*s.runs[k].Step
}

// Find returns the position of an index, from 0; false: the set does not have it.
func (s Set) Find(index uint32) (int, bool) {
	k, found := slices.BinarySearchFunc(s.runs, index, func(r Run, index uint32) int {
		switch {
		case r.last() < index:
			return -1
		case r.First > index:
			return 1
		}
		return 0
	})
	if !found || (index-s.runs[k].First)%s.runs[k].Step != 0 {
		return 0, false
	}
	return s.before[k] + int((index-s.runs[k].First)/s.runs[k].Step), true
}

// String writes the set as Parse reads it.
func (s Set) String() string { return s.text(len(s.runs)) }

// shownMax bounds the runs that Short writes.
const shownMax = 20

// Short is String of the first runs, and says how many indices are left out.
func (s Set) Short() string {
	if len(s.runs) <= shownMax {
		return s.String()
	}
	return fmt.Sprintf("%s and %d more", s.text(shownMax), s.count-s.before[shownMax])
}

func (s Set) text(runs int) string {
	var b strings.Builder
	for i, r := range s.runs[:runs] {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%d", r.First)
		if r.Count > 1 {
			fmt.Fprintf(&b, "-%d", r.last())
		}
		if r.Step > 1 && r.Count > 1 {
			fmt.Fprintf(&b, ":%d", r.Step)
		}
	}
	return b.String()
}
