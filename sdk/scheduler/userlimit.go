package scheduler

import "fmt"

// Usage is what attempts hold together, or what a bundle needs: slots of all kinds, and countable
// resources. Values with the same amounts compare equal with ==.
type Usage struct {
	Slots     int
	Resources Resources
}

// Plus returns the sum.
func (u Usage) Plus(more Usage) Usage {
	return Usage{u.Slots + more.Slots, u.Resources.Plus(more.Resources)}
}

// Minus returns the difference.
func (u Usage) Minus(less Usage) Usage {
	return Usage{u.Slots - less.Slots, u.Resources.Minus(less.Resources)}
}

// UserLimit bounds what the live attempts of one user's jobs hold together. A suspended attempt holds
// no slots, and of its resources those that its suspension does not free.
type UserLimit struct {
	Slots     int       // of all kinds; 0: no bound
	Resources Resources `json:",omitzero"` // a kind that is not listed has no bound
}

// IsZero reports whether it bounds nothing.
func (l UserLimit) IsZero() bool { return l == UserLimit{} }

// Allows reports whether a user who holds something may hold more of what is needed. Where the user
// holds too much of a kind already, because the limit was lowered, work without that kind may start.
func (l UserLimit) Allows(held, need Usage) bool {
	if l.Slots > 0 && need.Slots > 0 && held.Slots+need.Slots > l.Slots {
		return false
	}
	if need.Resources.IsZero() {
		return true
	}
	for _, c := range l.Resources.Counts() {
		if n := need.Resources.Of(c.Kind); n > 0 && held.Resources.Of(c.Kind)+n > c.Count {
			return false
		}
	}
	return true
}

// ReachedBy says, for people, that a user is at the limit.
func (l UserLimit) ReachedBy(user string) string {
	return fmt.Sprintf("user %s is at the limit of %s (core.userLimits)", user, l)
}

// String returns the limit for people, such as "4 slots and gpu:2".
func (l UserLimit) String() string {
	if l.IsZero() {
		return "no bound"
	}
	return amounts(l.Slots, l.Resources)
}

// String returns the amounts for people, such as "4 slots and gpu:2".
func (u Usage) String() string { return amounts(u.Slots, u.Resources) }

func amounts(slots int, r Resources) string {
	text := fmt.Sprintf("%d slots", slots)
	switch {
	case slots == 1:
		text = "1 slot"
	case slots == 0 && !r.IsZero():
		return r.String()
	}
	if !r.IsZero() {
		text += " and " + r.String()
	}
	return text
}

// UserLimitSet: the live jobs of a user have a limit, or another one; the zero limit is none. It
// follows the JobSubmitted of each job whose user has a limit, and is sent again when the site
// changes the limit. A launch or a resumption that would exceed the limit is refused as UserAtLimit;
// a view keeps from such bundles (view.Bundle.WithinUserLimit).
type UserLimitSet struct {
	At    Time
	User  string // as in Job
	Limit UserLimit
}
