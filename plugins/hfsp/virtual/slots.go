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
// that no sharer can use are left over. For n sharers whose weights are near each other it takes
// O(n), and O(n log n) for others, however many slots there are.
func Slots(total int, sharers []Sharer) []int {
	var d division
	return d.slots(total, sharers)
}

// division is the memory of a division of slots.
type division struct {
	given []int
	turns []turn
}

// slots is Slots, in the memory of the division before.
func (d *division) slots(total int, sharers []Sharer) []int {
	d.given, d.turns = slices.Grow(d.given[:0], len(sharers)), d.turns[:0]
	for i, s := range sharers {
		x := Spec{Weight: s.Weight, Cap: s.Cap}.bounded()
		d.given, d.turns = append(d.given, 0), append(d.turns, turn{float64(x.Cap) / x.Weight, x.Weight, x.Cap, 0, i})
	}
	given, turns := d.given, d.turns
	// First give each sharer its slots at a common level, all at once. The level is low enough:
	// rounding adds at most a half to each sharer.
	level := fluid(float64(total)-float64(len(sharers))/2, turns)
	for i := range turns {
		t := &turns[i]
		t.give(int(min(float64(t.most), math.Floor(level*t.weight+0.5))))
		given[t.index], total = t.given, total-t.given
	}
	turns = slices.DeleteFunc(turns, turn.full)
	if total <= 0 || len(turns) == 0 {
		return given
	}
	if next, known := firstTurns(turns, total); known {
		for i := range next {
			given[next[i].index]++
		}
		return given
	}
	giveEach(total, turns, given)
	return given
}

// giveEach gives slots one by one.
func giveEach(total int, turns []turn, given []int) {
	queue := heap.Heap[turn]{Items: turns, Before: turn.before}
	for queue.Init(); total > 0 && len(queue.Items) > 0; total-- {
		t := &queue.Items[0]
		t.give(1)
		given[t.index]++
		if t.full() {
			queue.Remove(0)
		} else {
			queue.Fix(0)
		}
	}
}

// furtherMax bounds the further turns that firstTurns takes into account, for each sharer.
const furtherMax = 2

// firstTurns returns the first n turns, among them further ones of a sharer. It does not know them if there are as many
// as sharers, or if weights differ so much that one sharer has many turns before another has its first.
func firstTurns(turns []turn, n int) (first []turn, known bool) {
	if n >= len(turns) {
		return nil, false
	}
	sharers := len(turns)
	least(turns, n)
	bound := turns[0]
	for i := range turns[:n] {
		if bound.before(turns[i]) {
			bound = turns[i]
		}
	}
	for i := range turns[:n] { // only these may have further turns before the bound
		t := turns[i]
		for t.give(1); !t.full() && t.before(bound); t.give(1) {
			if turns = append(turns, t); len(turns) > (1+furtherMax)*sharers {
				return nil, false
			}
		}
	}
	if len(turns) > sharers {
		least(turns, n)
	}
	return turns[:n], true
}

// least moves the first n turns to the front, in no order (quickselect).
func least(turns []turn, n int) {
	for tries := 0; n > 0 && n < len(turns); tries++ {
		if len(turns) <= leastSorted || tries == triesMax {
			slices.SortFunc(turns, turn.compare)
			return
		}
		at := partition(turns)
		if n <= at {
			turns = turns[:at]
		} else {
			turns, n = turns[at:], n-at
		}
	}
}

const (
	leastSorted = 12 // so few are sorted
	triesMax    = 40 // so many partitions are made before the rest is sorted
)

// partition moves turns before a pivot to the front, and returns how many there are: at least one, and not all.
func partition(turns []turn) int {
	a, b, c := turns[0], turns[len(turns)/2], turns[len(turns)-1]
	if b.before(a) {
		a, b = b, a
	}
	pivot := b // the median of the three
	if c.before(pivot) {
		pivot = c
	}
	if pivot.before(a) {
		pivot = a
	}
	i, j := 0, len(turns)-1
	for {
		for turns[i].before(pivot) {
			i++
		}
		for pivot.before(turns[j]) {
			j--
		}
		if i >= j {
			return max(i, 1)
		}
		turns[i], turns[j] = turns[j], turns[i]
		i++
		j--
	}
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

// compare orders turns. Two turns of a sharer differ in their keys, unless weights are beyond what keys can tell apart.
func (t turn) compare(u turn) int {
	switch {
	case t.before(u):
		return -1
	case u.before(t):
		return 1
	}
	return 0
}

// fluid is the level at which sharers would use a number of slots, or a little less, if slots could
// be divided. It is 0 without slots, and +Inf if all can have their caps. It moves sharers whose caps are below it to the
// front.
func fluid(slots float64, sharers []turn) float64 {
	if slots <= 0 {
		return 0
	}
	weights, caps := 0.0, 0.0
	for i := range sharers {
		weights += sharers[i].weight
		caps += float64(sharers[i].most)
	}
	if caps <= slots {
		return math.Inf(1)
	}
	for tries := 0; len(sharers) > 0; tries++ {
		if tries == levelsMax {
			slices.SortFunc(sharers, func(a, b turn) int { return cmp.Compare(a.key, b.key) })
		}
		level, capped := slots/weights, 0
		for i := range sharers {
			if s := sharers[i]; s.key <= level {
				slots -= float64(s.most)
				weights -= s.weight
				sharers[capped], sharers[i] = s, sharers[capped]
				capped++
			} else if tries >= levelsMax {
				break
			}
		}
		if capped == 0 {
			return level * (1 - rounding)
		}
		sharers = sharers[capped:]
	}
	return math.Inf(1)
}

// levelsMax is how many levels fluid tries before it sorts the sharers.
const levelsMax = 8
