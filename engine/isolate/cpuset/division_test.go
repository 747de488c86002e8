package cpuset_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hamadryad/hamadryad/engine/isolate/cpuset"
)

// machine draws cores of one or two processors, numbered as machines do: all cores' first
// processors, then all second ones.
func machine(t *rapid.T) (cores []cpuset.Set, all int) {
	n, threads := rapid.IntRange(1, 12).Draw(t, "cores"), rapid.IntRange(1, 2).Draw(t, "threads")
	for i := range n {
		core := cpuset.Set{i}
		if threads == 2 {
			core = append(core, n+i)
		}
		cores = append(cores, core)
	}
	return cores, n * threads
}

// fewer is the oracle for users' needs when slots are too few. It gives slot by slot to the user
// with the fewest who wants more.
func fewer(work map[string]int, slots int) map[string]int {
	need := map[string]int{}
	for range slots {
		least := ""
		for _, u := range slices.Backward(slices.Sorted(maps.Keys(work))) {
			if need[u] < work[u] && (least == "" || need[u] < need[least]) {
				least = u
			}
		}
		if least != "" {
			need[least]++
		}
	}
	return need
}

// Whatever users do, each user with work has its slots' processors to itself from the first look
// on. No user's set is empty. A user alone has everything after Held. Unneeded parts do not stay
// with a user. Looks at the same work change nothing else.
func TestDivision(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cores, all := machine(t)
		slots := rapid.IntRange(1, 16).Draw(t, "slots")
		d := cpuset.Divide(cores, slots)
		if d == nil {
			if slots <= all {
				t.Fatalf("%d slots can't divide %d processors", slots, all)
			}
			return
		}
		users := []string{"a", "b", "c", "d"}
		each := all / slots
		if len(cores) >= slots {
			each = len(cores) / slots * (all / len(cores))
		}
		now := time.Time{}.Add(time.Hour)
		for range rapid.IntRange(1, 20).Draw(t, "looks") {
			work := map[string]int{}
			for _, u := range users {
				if n := rapid.IntRange(0, slots).Draw(t, u); n > 0 {
					work[u] = n
				}
			}
			now = now.Add(time.Duration(rapid.IntRange(0, 1500).Draw(t, "ms")) * time.Millisecond)
			d.Redivide(now, work)
			check(t, d, users, work, slots, each, all, false)
			before := sets(d, users)
			d.Redivide(now.Add(time.Nanosecond), work)
			if after := sets(d, users); after != before {
				t.Fatalf("the same work changes %s to %s", before, after)
			}
			if rapid.Bool().Draw(t, "settles") {
				d.Redivide(now, work) // parts are unneeded from now on at the latest
				now = now.Add(2 * cpuset.Held)
				d.Redivide(now, work)
				check(t, d, users, work, slots, each, all, true)
			}
		}
	})
}

// check compares a division with what it should be. settled says that nothing is kept longer than
// needed.
func check(t *rapid.T, d *cpuset.Division, users []string, work map[string]int, slots, each, all int, settled bool) {
	need := fewer(work, slots)
	used := 0
	for _, u := range users {
		used += need[u]
	}
	for _, u := range users {
		own := d.Of(u)
		if len(own) == 0 || own[0] < 0 || own[len(own)-1] >= all || !slices.IsSorted(own) || len(slices.Compact(slices.Clone(own))) != len(own) {
			t.Fatalf("%s may run on %v of %d", u, own, all)
		}
		if len(work) <= 1 {
			if (settled || !d.Divided()) && len(own) != all {
				t.Fatalf("with one user at work, %s has %v of %d", u, own, all)
			}
			continue
		}
		alone := 0
		for _, n := range own {
			theirs := slices.ContainsFunc(users, func(v string) bool { return v != u && work[v] > 0 && need[v] > 0 && d.Of(v).Has(n) })
			if !theirs {
				alone++
			}
		}
		if need[u] > 0 && alone < need[u]*each {
			t.Fatalf("%s has %v, %d of them to himself: %d slots stand for %d", u, own, alone, need[u], need[u]*each)
		}
		if shared := all - used*each; settled && need[u] > 0 && len(own) != need[u]*each+shared {
			t.Fatalf("%s has %v: %d of his own and %d that all share are meant", u, own, need[u]*each, shared)
		}
	}
}

func sets(d *cpuset.Division, users []string) string {
	text := ""
	for _, u := range users {
		text += u + ":" + d.Of(u).String() + " "
	}
	return text
}

// Short tasks of two users that follow each other change nothing, even with pauses in which one
// user has no work.
func TestShortTasksMoveNothing(t *testing.T) {
	d := cpuset.Divide([]cpuset.Set{{0}, {1}, {2}, {3}}, 4)
	now := time.Time{}.Add(time.Hour)
	users := []string{"a", "b"}
	d.Redivide(now, map[string]int{"a": 2, "b": 2})
	before := sets(d, users)
	for i := range 1000 {
		now = now.Add(cpuset.Held / 10)
		d.Redivide(now, map[string]int{"a": i % 3, "b": 2 - i%2})
		if after := sets(d, users); after != before {
			t.Fatalf("after %d looks %s became %s", i, before, after)
		}
	}
}

// The processors of a core belong to one slot if there are enough cores. Otherwise users get them
// one after the other.
func TestCoresStayWhole(t *testing.T) {
	cores := []cpuset.Set{{0, 4}, {1, 5}, {2, 6}, {3, 7}}
	for _, c := range []struct {
		slots int
		want  string
	}{
		{2, "a:0,1,4,5 b:2,3,6,7 "},
		{3, "a:0,2,3,4,6,7 b:1,2,3,5,6,7 "}, // a slot is free, and one core is the remainder
		{4, "a:0,2,3,4,6,7 b:1,2,3,5,6,7 "},
		{8, "a:0,1,2,3,5,6,7 b:1,2,3,4,5,6,7 "},
	} {
		d := cpuset.Divide(cores, c.slots)
		d.Redivide(time.Time{}.Add(time.Hour), map[string]int{"a": 1, "b": 1})
		if got := sets(d, []string{"a", "b"}); got != c.want {
			t.Errorf("%d slots: %s", c.slots, got)
		}
	}
	for _, slots := range []int{0, 9} {
		if cpuset.Divide(cores, slots) != nil {
			t.Errorf("%d slots divide 8 processors", slots)
		}
	}
}

func ExampleDivide() {
	d := cpuset.Divide([]cpuset.Set{{0}, {1}, {2}, {3}}, 4)
	now := time.Unix(0, 0)
	d.Redivide(now, map[string]int{"alice": 2})
	fmt.Println("alice alone:", d.Of("alice"))
	d.Redivide(now, map[string]int{"alice": 2, "eve": 1})
	fmt.Println("both:", d.Of("alice"), "and", d.Of("eve"))
	// Output:
	// alice alone: 0,1,2,3
	// both: 0,1,3 and 2,3
}
