package virtual

import (
	"cmp"
	"math"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/heap"
)

// Sharer is one of the parties among which slots are divided. Its numbers are bounded as in a Spec.
type Sharer struct {
	Cap    int     // slots that it can use at most
	Weight float64 // its share relative to others
}

// Slots divides whole slots by max-min fairness: round by round, the smallest sharers first
// (section 3.3, "Resource Allocation"). Each slot goes to the sharer farthest below its share: the
// one with the least (slots + ½) / weight. Ties go to the smaller cap, then to the first. Slots
// that no sharer can use are left over. It takes O(n log n) for n sharers, however many slots there
// are.
func Slots(total int, sharers []Sharer) []int {
	given := make([]int, len(sharers))
	turns := heap.Heap[turn]{Items: make([]turn, 0, len(sharers)), Before: turn.before}
	for i, s := range sharers {
		x := Spec{Weight: s.Weight, Cap: s.Cap}.bounded()
		turns.Items = append(turns.Items, turn{float64(x.Cap) / x.Weight, x.Weight, x.Cap, 0, i})
	}
	// First give each sharer its slots at a common level, all at once. The level is low enough:
	// rounding adds at most a half to each sharer.
	level := fluid(float64(total)-float64(len(sharers))/2, turns.Items)
	for i := range turns.Items {
		t := &turns.Items[i]
		t.give(int(min(float64(t.most), math.Floor(level*t.weight+0.5))))
		given[t.index], total = t.given, total-t.given
	}
	turns.Items = slices.DeleteFunc(turns.Items, turn.full)
	for turns.Init(); total > 0 && len(turns.Items) > 0; total-- {
		t := &turns.Items[0]
		t.give(1)
		given[t.index]++
		if t.full() {
			turns.Remove(0)
		} else {
			turns.Fix(0)
		}
	}
	return given
}

// turn is a sharer that waits for its next slot.
type turn struct {
	key                float64 // cap / weight at first, then its place in the queue
	weight             float64
	most, given, index int
}

func (t *turn) give(n int) {
	t.given += n
	t.key = (float64(t.given) + 0.5) / t.weight
}

func (t turn) full() bool { return t.given >= t.most }

func (t turn) before(u turn) bool {
	if t.key != u.key {
		return t.key < u.key
	}
	return t.most < u.most || t.most == u.most && t.index < u.index
}

// fluid is the level at which sharers would use a number of slots, or a little less, if slots could
// be divided. It is 0 without slots, and +Inf if all can have their caps. It sorts the sharers by
// ratio.
func fluid(slots float64, sharers []turn) float64 {
	if slots <= 0 {
		return 0
	}
	weights, caps := 0.0, 0.0
	for _, s := range sharers {
		weights += s.weight
		caps += float64(s.most)
	}
	if caps <= slots {
		return math.Inf(1)
	}
	slices.SortFunc(sharers, func(a, b turn) int { return cmp.Compare(a.key, b.key) })
	for _, s := range sharers {
		if level := slots / weights; s.key > level {
			return level * (1 - rounding)
		}
		slots -= float64(s.most)
		weights -= s.weight
	}
	return math.Inf(1)
}
