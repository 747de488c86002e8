// Package packing decides whether groups fit on launchers together, and where. A group takes slots
// of one kind, memory and countable resources of one launcher. An exact answer may take long, so a search has a bound. A
// search that ends at its bound says so.
//
// It is pure: the same question has the same answer, after the same number of steps.
package packing

import (
	"cmp"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Item is a number of groups with the same needs.
type Item struct {
	Kind      int // of slots, from 0
	Slots     int
	Memory    int64
	Resources scheduler.Resources // of one group
	Count     int
}

// Bin is a launcher: its slots by kind, its memory, and its countable resources.
type Bin struct {
	Slots     []int
	Memory    int64
	Resources scheduler.Resources
}

// Answer is the result of a search.
type Answer struct {
	Fits bool
	Sure bool // false: the search ended at its bound, without an answer
	// On has, for each item, how many of its groups each bin takes; nil unless all fit.
	On    [][]int
	Steps int
}

// Search looks for an arrangement, in at most most steps.
func Search(items []Item, bins []Bin, most int) Answer {
	s := search{items: items, bins: bins, most: most, failed: map[string]bool{}}
	s.order()
	if on := s.greedy(); on != nil {
		return Answer{Fits: true, Sure: true, On: on, Steps: s.steps}
	}
	if s.tooMuch() {
		return Answer{Sure: true, Steps: s.steps}
	}
	s.taken = make([][]int, len(bins))
	left := make([]int, len(items))
	for i := range items {
		left[i] = items[i].Count
	}
	fits := s.fill(0, left)
	a := Answer{Fits: fits, Sure: fits || s.steps < s.most, Steps: s.steps}
	if fits {
		a.On = s.arranged()
	}
	return a
}

type search struct {
	items []Item
	bins  []Bin
	hard  []int // items, the largest first
	sized []int // bins, equal ones together
	most  int
	steps int

	taken  [][]int // by bin, of each item; nil: not yet
	failed map[string]bool
}

func (s *search) order() {
	s.hard, s.sized = make([]int, len(s.items)), make([]int, len(s.bins))
	for i := range s.hard {
		s.hard[i] = i
	}
	for i := range s.sized {
		s.sized[i] = i
	}
	slices.SortStableFunc(s.hard, func(x, y int) int {
		a, b := &s.items[x], &s.items[y]
		return cmp.Or(cmp.Compare(b.Memory, a.Memory), cmp.Compare(b.Slots, a.Slots))
	})
	slices.SortStableFunc(s.sized, func(x, y int) int { return compare(&s.bins[x], &s.bins[y]) })
}

// compare orders bins by their size, the smallest first.
func compare(a, b *Bin) int {
	order := cmp.Or(cmp.Compare(a.Memory, b.Memory), slices.Compare(a.Slots, b.Slots))
	if order == 0 && a.Resources != b.Resources {
		order = cmp.Compare(a.Resources.String(), b.Resources.String())
	}
	return order
}

// greedy puts each item, the largest first, on the smallest bins with room.
func (s *search) greedy() [][]int {
	left := make([]Bin, len(s.bins))
	for i, b := range s.bins {
		left[i] = Bin{slices.Clone(b.Slots), b.Memory, b.Resources}
	}
	on := make([][]int, len(s.items))
	for _, i := range s.hard {
		on[i] = make([]int, len(s.bins))
		need := s.items[i].Count
		for _, at := range s.sized {
			s.steps++
			n := min(need, left[at].holds(&s.items[i]))
			left[at].takeItem(&s.items[i], n)
			on[i][at] = n
			need -= n
		}
		if need > 0 {
			return nil
		}
	}
	return on
}

// holds is how many groups of an item have room.
func (b *Bin) holds(x *Item) int {
	n := x.Count
	if x.Slots > 0 {
		n = min(n, b.Slots[x.Kind]/x.Slots)
	}
	if x.Memory > 0 {
		n = int(min(int64(n), b.Memory/x.Memory))
	}
	for _, c := range x.Resources.Counts() {
		n = min(n, b.Resources.Of(c.Kind)/c.Count)
	}
	return n
}

func (b *Bin) takeItem(x *Item, n int) {
	b.Slots[x.Kind] -= n * x.Slots
	b.Memory -= int64(n) * x.Memory
	b.Resources = b.Resources.Minus(x.Resources.Times(n))
}

// tooMuch reports whether the items need more than all bins together have: slots of a kind, memory,
// resources, or places for groups with the same needs.
func (s *search) tooMuch() bool {
	var slots []int
	var memory int64
	var resources, has scheduler.Resources
	for i := range s.items {
		x := &s.items[i]
		for len(slots) <= x.Kind {
			slots = append(slots, 0)
		}
		slots[x.Kind] += x.Count * x.Slots
		memory += int64(x.Count) * x.Memory
		resources = resources.Plus(x.Resources.Times(x.Count))
		places := 0
		for at := range s.bins {
			places += s.bins[at].holds(x)
		}
		if places < x.Count {
			return true
		}
	}
	for at := range s.bins {
		for k := range slots {
			slots[k] -= s.bins[at].Slots[k]
		}
		memory -= s.bins[at].Memory
		has = has.Plus(s.bins[at].Resources)
	}
	return memory > 0 || !has.Covers(resources) || slices.ContainsFunc(slots, func(n int) bool { return n > 0 })
}

// fill places the rest of each item on the bins from index place on.
func (s *search) fill(place int, left []int) bool {
	if !slices.ContainsFunc(left, func(n int) bool { return n > 0 }) {
		return true
	}
	if place == len(s.sized) {
		return false
	}
	key := stateKey(place, left)
	if s.failed[key] || s.steps >= s.most {
		return false
	}
	at := s.sized[place]
	b := Bin{slices.Clone(s.bins[at].Slots), s.bins[at].Memory, s.bins[at].Resources}
	if s.choose(place, 0, b, left, make([]int, len(left))) {
		return true
	}
	if s.steps < s.most {
		s.failed[key] = true
	}
	return false
}

// choose tries numbers of groups that a bin takes of an item and of later items, most first, and
// then goes on to the other bins. Taking fewer than fit helps only if later items use the room.
func (s *search) choose(place, item int, b Bin, left, took []int) bool {
	if s.steps++; s.steps >= s.most {
		return false
	}
	if item == len(s.hard) {
		if s.takesMore(b, left, took) {
			return false // with more groups taken, the rest is easier to place
		}
		after := slices.Clone(left)
		for i, n := range took {
			after[i] -= n
		}
		if !s.fill(place+1, after) {
			return false
		}
		s.taken[s.sized[place]] = slices.Clone(took)
		return true
	}
	i := s.hard[item]
	for n := min(left[i], b.holds(&s.items[i])); n >= 0; n-- {
		rest := Bin{slices.Clone(b.Slots), b.Memory, b.Resources}
		rest.takeItem(&s.items[i], n)
		took[i] = n
		if s.choose(place, item+1, rest, left, took) {
			return true
		}
	}
	took[i] = 0
	return false
}

// takesMore reports whether a bin has room for another remaining group.
func (s *search) takesMore(b Bin, left, took []int) bool {
	for i := range s.items {
		if took[i] < left[i] && b.holds(&s.items[i]) > 0 {
			return true
		}
	}
	return false
}

func (s *search) arranged() [][]int {
	on := make([][]int, len(s.items))
	for i := range on {
		on[i] = make([]int, len(s.bins))
		for at := range s.bins {
			if s.taken[at] != nil {
				on[i][at] = s.taken[at][i]
			}
		}
	}
	return on
}

// stateKey encodes the groups left for the bins from place on.
func stateKey(place int, left []int) string {
	key := make([]byte, 0, 4*(len(left)+1))
	for _, n := range append([]int{place}, left...) {
		key = append(key, byte(n), byte(n>>8), byte(n>>16), byte(n>>24))
	}
	return string(key)
}
