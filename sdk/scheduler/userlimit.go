package scheduler

import (
	"fmt"
	"strings"
)

// Usage is what attempts hold together, or what a bundle needs: slots of all kinds, memory, and
// countable resources. Values with the same amounts compare equal with ==.
type Usage struct {
	Slots     int
	Memory    int64 // bytes
	Resources Resources
}

// Plus returns the sum.
func (u Usage) Plus(more Usage) Usage {
	return Usage{u.Slots + more.Slots, u.Memory + more.Memory, u.Resources.Plus(more.Resources)}
}

// Minus returns the difference.
func (u Usage) Minus(less Usage) Usage {
	return Usage{u.Slots - less.Slots, u.Memory - less.Memory, u.Resources.Minus(less.Resources)}
}

// FreedBySuspension returns the part of what an attempt holds that it does not hold while it is
// suspended on a launcher with these LauncherJoined.SuspensionFrees. Its memory is not part of it,
// also where the launcher moves it to swap.
func (u Usage) FreedBySuspension(kinds []ResourceKind) Usage {
	return Usage{Slots: u.Slots, Resources: u.Resources.FreedBySuspension(kinds)}
}

// String returns the amounts for people, such as "4 slots, 2GiB of memory and gpu:2".
func (u Usage) String() string {
	var parts []string
	switch {
	case u.Slots == 1:
		parts = append(parts, "1 slot")
	case u.Slots != 0 || u == Usage{}:
		parts = append(parts, fmt.Sprintf("%d slots", u.Slots))
	}
	if u.Memory != 0 {
		parts = append(parts, bytesText(u.Memory)+" of memory")
	}
	if !u.Resources.IsZero() {
		parts = append(parts, u.Resources.String())
	}
	last := len(parts) - 1
	if last == 0 {
		return parts[0]
	}
	return strings.Join(parts[:last], ", ") + " and " + parts[last]
}

// bytesText returns a number of bytes in the largest unit in which it is a whole number. If that is
// small, it is in the largest unit of which there is one, rounded.
func bytesText(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	whole, unit := n, 0
	for whole != 0 && whole%1024 == 0 && unit < len(units)-1 {
		whole, unit = whole/1024, unit+1
	}
	const digits = 10_000
	if -digits < whole && whole < digits {
		return fmt.Sprintf("%d%s", whole, units[unit])
	}
	part := float64(whole)
	for (part >= 1024 || part <= -1024) && unit < len(units)-1 {
		part, unit = part/1024, unit+1
	}
	return fmt.Sprintf("%.1f%s", part, units[unit])
}

// UserLimit bounds what the live attempts of one user's jobs hold together. A suspended attempt holds
// no slots. It holds its memory, and of its resources those that its suspension does not free.
type UserLimit struct {
	Slots     int       // of all kinds; 0: no bound
	Memory    int64     `json:",omitzero"` // bytes; 0: no bound
	Resources Resources `json:",omitzero"` // a kind that is not listed has no bound
}

// IsZero reports whether it bounds nothing.
func (l UserLimit) IsZero() bool { return l == UserLimit{} }

// Covers reports whether a user who holds nothing may hold what is needed.
func (l UserLimit) Covers(need Usage) bool {
	idle := LimitedUser{Limit: l}
	return idle.Allows(need, Usage{})
}

// Bounds returns the part of an amount that the limit bounds.
func (l UserLimit) Bounds(of Usage) (some Usage) {
	if l.Slots > 0 {
		some.Slots = of.Slots
	}
	if l.Memory > 0 {
		some.Memory = of.Memory
	}
	var list []ResourceCount
	for _, c := range l.Resources.Counts() {
		list = append(list, ResourceCount{c.Kind, of.Resources.Of(c.Kind)})
	}
	some.Resources = NewResources(list...)
	return some
}

// String returns the limit for people, such as "4 slots and gpu:2".
func (l UserLimit) String() string {
	if l.IsZero() {
		return "no bound"
	}
	return Usage(l).String()
}

// LimitedUser is a user's limit and what the user's attempts hold. The manager and a policy's view
// decide by it alone whether more may start.
type LimitedUser struct {
	Name  string
	Limit UserLimit // the zero limit is none
	Holds Usage     // counted only while there is a limit
}

// Limited reports whether the user has a limit.
func (u *LimitedUser) Limited() bool { return !u.Limit.IsZero() }

// Allows reports whether the user may hold more of what is needed, once something was freed. Where
// the user holds too much of a kind already, because the limit was lowered, work without that kind
// may start.
func (u *LimitedUser) Allows(need, freed Usage) bool {
	if l := u.Limit.Slots; l > 0 && need.Slots > 0 && u.Holds.Slots-freed.Slots+need.Slots > l {
		return false
	}
	if l := u.Limit.Memory; l > 0 && need.Memory > 0 && u.Holds.Memory-freed.Memory+need.Memory > l {
		return false
	}
	for _, c := range u.Limit.Resources.Counts() {
		if n := need.Resources.Of(c.Kind); n > 0 && u.Holds.Resources.Of(c.Kind)-freed.Resources.Of(c.Kind)+n > c.Count {
			return false
		}
	}
	return true
}

// AtLimit says, for people, that the user is at the limit.
func (u *LimitedUser) AtLimit() string {
	return fmt.Sprintf("user %s is at the limit of %s (core.userLimits)", u.Name, u.Limit)
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
