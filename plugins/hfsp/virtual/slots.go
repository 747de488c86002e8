package virtual

import (
	"cmp"
	"math"
	"slices"
)

// Sharer is one of those among whom slots are divided. Its numbers are bounded as those
// of a Spec.
type Sharer struct {
	Cap    int     // slots that it can use at most
	Weight float64 // its part in comparison with others
}

// Slots divides whole slots by max-min fairness: round by round, the smallest sharers
// first (section 3.3, "Resource Allocation"). Each slot goes to who is farthest below
// its share, which is who has the least (slots + ½) / weight; ties go to the smaller
// cap, then to who stands first. The slots that nobody can use are left over. It takes
// O(n log n) for n sharers, however many slots there are.
func Slots(total int, sharers []Sharer) []int {
	given := make([]int, len(sharers))
	turns := heap[turn]{before: turn.before}
	for i, s := range sharers {
		x := Spec{Weight: s.Weight, Cap: s.Cap}.bounded()
		turns.items = append(turns.items, turn{Sharer: Sharer{x.Cap, x.Weight}, index: i})
	}
	// So many as all have at some level go out at once: not too many, because rounding
	// adds no more than a half to each.
	level := fluid(float64(total)-float64(len(sharers))/2, turns.items)
	for i := range turns.items {
		t := &turns.items[i]
		t.given = int(min(float64(t.Cap), math.Floor(level*t.Weight+0.5)))
		given[i], total = t.given, total-t.given
	}
	turns.items = slices.DeleteFunc(turns.items, turn.full)
	for turns.order(); total > 0 && len(turns.items) > 0; total-- {
		t := &turns.items[0]
		t.given++
		given[t.index]++
		if t.full() {
			turns.remove(0)
		} else {
			turns.fix(0)
		}
	}
	return given
}

// turn is a sharer who waits for its next slot.
type turn struct {
	Sharer
	index, given int
}

func (t turn) full() bool { return t.given >= t.Cap }

func (t turn) before(u turn) bool {
	return cmp.Or(
		cmp.Compare((float64(t.given)+0.5)/t.Weight, (float64(u.given)+0.5)/u.Weight),
		cmp.Compare(t.Cap, u.Cap),
		cmp.Compare(t.index, u.index),
	) < 0
}

// fluid is the level at which sharers use a number of slots that can be parted at will,
// or a little less; 0 where there are none, +Inf where all can have their caps.
func fluid(slots float64, sharers []turn) float64 {
	if slots <= 0 {
		return 0
	}
	weights := 0.0
	for _, s := range sharers {
		weights += s.Weight
	}
	byRatio := slices.Clone(sharers)
	slices.SortFunc(byRatio, func(a, b turn) int { return cmp.Compare(float64(a.Cap)/a.Weight, float64(b.Cap)/b.Weight) })
	for _, s := range byRatio {
		if level := slots / weights; float64(s.Cap)/s.Weight > level {
			return level * (1 - rounding)
		}
		slots -= float64(s.Cap)
		weights -= s.Weight
	}
	return math.Inf(1)
}
