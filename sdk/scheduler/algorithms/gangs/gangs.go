package gangs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// Needs sums the slots that a bundle needs of each kind, in order of kind.
func Needs(b *view.Bundle) []scheduler.SlotCount {
	if len(b.Groups) == 1 {
		return []scheduler.SlotCount{{Kind: b.Groups[0].Kind, Count: b.Groups[0].Slots}}
	}
	var all []scheduler.SlotCount
	for i := range b.Groups {
		g := &b.Groups[i]
		at, found := slices.BinarySearchFunc(all, g.Kind, func(c scheduler.SlotCount, kind scheduler.SlotKind) int {
			return cmp.Compare(c.Kind, kind)
		})
		if !found {
			all = slices.Insert(all, at, scheduler.SlotCount{Kind: g.Kind})
		}
		all[at].Count += g.Slots
	}
	return all
}

// Slots returns how many slots of one kind a bundle needs.
func Slots(b *view.Bundle, kind scheduler.SlotKind) (n int) {
	for i := range b.Groups {
		if b.Groups[i].Kind == kind {
			n += b.Groups[i].Slots
		}
	}
	return n
}

// Large says whether a bundle needs several units at once, so that smaller work may take them one by
// one: it is a gang, or its group needs several slots or several units of countable resources.
func Large(b *view.Bundle) bool {
	if len(b.Groups) > 1 || b.Groups[0].Slots > 1 {
		return true
	}
	units := 0
	for _, c := range b.Groups[0].Resources.Counts() {
		units += c.Count
	}
	return units > 1
}

// Describe explains to a person what a bundle needs, what there is of it, and what else may keep
// the bundle from free slots.
func Describe(v *view.View, b *view.Bundle) string {
	var slots []string
	for _, n := range Needs(b) {
		slots = append(slots, fmt.Sprintf("%d %s slots (%d free)", n.Count, n.Kind, v.Capacity.FreeSlots(n.Kind)))
	}
	text := fmt.Sprintf("%v needs %s", b.ID, strings.Join(slots, " and "))
	var memory int64
	var resources scheduler.Resources
	for i := range b.Groups {
		memory += b.Groups[i].Memory
		resources = resources.Plus(b.Groups[i].Resources)
	}
	for _, c := range resources.Counts() {
		text += fmt.Sprintf(" and %d %s", c.Count, c.Kind)
	}
	if memory > 0 {
		text += fmt.Sprintf(" with %d MiB of memory", memory>>20)
	}
	if len(b.Groups) > 1 {
		text += fmt.Sprintf(" for its %d groups at once", len(b.Groups))
	}
	return text + v.Obstacles(b)
}

// Overdue says whether a bundle was passed over for at least so long; 0 is never. An offered second
// attempt is never overdue, as the first one runs.
func Overdue(v *view.View, b *view.Bundle, after time.Duration) bool {
	return after > 0 && !b.SpeculationOffered && v.Now().Sub(PassedSince(b)) >= after
}

// PassedSince returns when a bundle began to be passed over: when it became ready or, if that is
// later, when its job last got a slot. It depends only on live attempts, so that a restarted
// policy finds the same.
func PassedSince(b *view.Bundle) scheduler.Time {
	live := b.Job.Attempts()
	if len(live) == 0 {
		return b.Since
	}
	return max(b.Since, live[len(live)-1].AssignedAt)
}
