package timerqueue

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// The queue agrees with a sorted list: by time, then by insertion, also for a copy, and after
// listing and restoring.
func TestOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q Queue[int]
		var obvious []Item[int]
		for i := range rapid.IntRange(1, 80).Draw(t, "steps") {
			switch rapid.IntRange(0, 4).Draw(t, "do") {
			case 0, 1, 2:
				at := int64(rapid.IntRange(-3, 9).Draw(t, "at"))
				q.Put(at, i)
				obvious = append(obvious, Item[int]{at, q.Last(), i})
			case 3:
				if q.Len() == 0 {
					continue
				}
				first := *q.First()
				got := q.Take()
				want := slices.MinFunc(obvious, func(x, y Item[int]) int { return cmp.Or(cmp.Compare(x.At, y.At), cmp.Compare(x.Seq, y.Seq)) })
				if got != want || first != want {
					t.Fatalf("%v came after %v was shown as the first, want %v", got, first, want)
				}
				obvious = slices.DeleteFunc(obvious, func(x Item[int]) bool { return x == want })
			case 4:
				before := q
				q = q.Clone()
				if rapid.Bool().Draw(t, "list") {
					q = Restore(before.Sorted(), before.Last())
				}
				before.Put(-10, -1) // what the copy has nothing of
			}
			if q.Len() != len(obvious) {
				t.Fatalf("there are %d, want %d", q.Len(), len(obvious))
			}
		}
	})
}
