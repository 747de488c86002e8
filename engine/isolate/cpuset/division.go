package cpuset

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// Held is for how long a user keeps unneeded processors that no other user needs. So a user with a
// sequence of short tasks does not lose them between two tasks.
const Held = time.Second

// Division records which user has which processors. It is for one goroutine.
type Division struct {
	all, rest Set   // rest belongs to no slot
	parts     []Set // one part for each slot

	users map[string]*holding // users who have parts to themselves
}

// holding is the parts that one user has to itself.
type holding struct {
	parts []int     // numbers of parts, in the order in which the user got them; at least one
	spare time.Time // since when the user does not need all of them; zero: it needs all
}

// Divide gives each slot an equal part of the cores, none of which is empty. It returns nil if
// there are more slots than processors, or none of either.
func Divide(cores []Set, slots int) *Division {
	d := &Division{users: map[string]*holding{}, all: ordered(slices.Concat(cores...))}
	units := cores
	if len(cores) < slots {
		units = nil
		for _, core := range cores {
			for _, n := range core { // processors of a core side by side
				units = append(units, Set{n})
			}
		}
	}
	if slots < 1 || len(units) < slots {
		return nil
	}
	each := len(units) / slots
	for part := range slices.Chunk(units[:each*slots], each) {
		d.parts = append(d.parts, ordered(slices.Concat(part...)))
	}
	d.rest = ordered(slices.Concat(units[each*slots:]...))
	return d
}

// Divided reports whether any user has parts to itself. While it is true, call Redivide now and
// then: nothing else takes back unneeded parts.
func (d *Division) Divided() bool { return len(d.users) > 0 }

// Redivide takes the number of slots for which each user has work now. A user who needs more gets
// it at once: free parts, or parts that another user does not need. A user who needs less keeps its
// parts for Held.
func (d *Division) Redivide(now time.Time, work map[string]int) {
	need := d.fit(work)
	d.takeBack(now, need)
	several := len(need) > 1
	for _, user := range slices.Sorted(maps.Keys(need)) {
		for d.has(user) < need[user] {
			d.give(user, d.spare(need))
		}
	}
	for user := range d.users {
		several = several || need[user] == 0
	}
	if !several {
		clear(d.users) // a single user has all processors
	}
}

// fit is what each user with work needs, reduced until all fit: users with most get less.
func (d *Division) fit(work map[string]int) map[string]int {
	need, total := map[string]int{}, 0
	for user, slots := range work {
		if n := min(slots, len(d.parts)); n > 0 {
			need[user] = n
			total += n
		}
	}
	users := slices.Sorted(maps.Keys(need))
	for ; total > len(d.parts); total-- {
		most := slices.MaxFunc(users, func(x, y string) int { return cmp.Compare(need[x], need[y]) })
		need[most]--
	}
	return need
}

// takeBack frees parts that were unneeded for too long.
func (d *Division) takeBack(now time.Time, need map[string]int) {
	for user, h := range d.users {
		switch n := need[user]; {
		case len(h.parts) <= n:
			h.spare = time.Time{}
		case h.spare.IsZero():
			h.spare = now
		case now.Sub(h.spare) >= Held && n == 0:
			delete(d.users, user)
		case now.Sub(h.spare) >= Held:
			h.parts, h.spare = h.parts[:n], time.Time{}
		}
	}
}

// has is the number of parts that a user has to itself.
func (d *Division) has(user string) int {
	if h := d.users[user]; h != nil {
		return len(h.parts)
	}
	return 0
}

// spare finds a part for a user who needs one more: the first free part, or the last part of the
// user with most unneeded parts. There is one, since all needs fit.
func (d *Division) spare(need map[string]int) int {
	if free := d.free(); len(free) > 0 {
		return free[0]
	}
	users := slices.Sorted(maps.Keys(d.users))
	from := slices.MaxFunc(users, func(x, y string) int { return cmp.Compare(d.has(x)-need[x], d.has(y)-need[y]) })
	h := d.users[from]
	last := len(h.parts) - 1
	part := h.parts[last]
	if h.parts = h.parts[:last]; last == 0 {
		delete(d.users, from)
	}
	return part
}

// give gives a part to a user.
func (d *Division) give(user string, part int) {
	h := d.users[user]
	if h == nil {
		h = &holding{}
		d.users[user] = h
	}
	h.parts = append(h.parts, part)
}

// free are the parts that no user has to itself, in order.
func (d *Division) free() (free []int) {
	taken := map[int]bool{}
	for _, h := range d.users {
		for _, part := range h.parts {
			taken[part] = true
		}
	}
	for part := range d.parts {
		if !taken[part] {
			free = append(free, part)
		}
	}
	return free
}

// Of is where a user's processes may run, also for a user without work. It is never empty.
func (d *Division) Of(user string) Set {
	has := slices.Clone(d.rest)
	for _, part := range d.free() {
		has = append(has, d.parts[part]...)
	}
	if h := d.users[user]; h != nil {
		for _, part := range h.parts {
			has = append(has, d.parts[part]...)
		}
	}
	if len(has) == 0 {
		return d.all
	}
	return ordered(has)
}
