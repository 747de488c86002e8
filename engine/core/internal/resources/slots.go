package resources

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/dustin/go-humanize"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Slots are counts by kind, in order of kind.
type Slots []scheduler.SlotCount

// Of returns the count of a kind.
func (s Slots) Of(kind string) int {
	for _, c := range s {
		if c.Kind == kind {
			return c.Count
		}
	}
	return 0
}

// Add adds to the count of a kind.
func (s *Slots) Add(kind string, n int) {
	i, found := slices.BinarySearchFunc(*s, kind, func(c scheduler.SlotCount, k string) int { return cmp.Compare(c.Kind, k) })
	if !found {
		*s = slices.Insert(*s, i, scheduler.SlotCount{Kind: kind})
	}
	(*s)[i].Count += n
}

func (s *Slots) addAll(more Slots) {
	for _, c := range more {
		s.Add(c.Kind, c.Count)
	}
}

// Request is the resources of a group. Memory is in bytes.
type Request struct {
	Kind   string
	Slots  int
	Memory int64
	// Resources are countable resources.
	Resources scheduler.Resources
}

// Usage returns what of the request counts for limits of users.
func (d *Request) Usage() scheduler.Usage {
	return scheduler.Usage{Slots: d.Slots, Memory: d.Memory, Resources: d.Resources}
}

// String returns the request for people.
func (d Request) String() string {
	text := fmt.Sprintf("%d %s slots and %s of memory", d.Slots, d.Kind, Size(d.Memory))
	if !d.Resources.IsZero() {
		text += " and " + d.Resources.String()
	}
	return text
}

// beside returns what there is of the kinds that need names, behind an "and"; "" where it names none.
func beside(has, need scheduler.Resources) string {
	text := ""
	for _, c := range need.Counts() {
		text += fmt.Sprintf(" and %s:%d", c.Kind, has.Of(c.Kind))
	}
	return text
}

// Bundle is a requester of resources: groups that start together, each on a launcher.
type Bundle interface {
	ID() scheduler.BundleID
	JobID() scheduler.JobID
	Width() int            // how many groups
	Request(i int) Request // of the i-th group
}

// Size formats an amount of memory for people. If its short form is not exact it shows the bytes
// too: different amounts never look alike.
func Size(n int64) string {
	text := humanize.IBytes(uint64(max(n, 0)))
	if exact, err := humanize.ParseBytes(text); err == nil && exact == uint64(n) {
		return text
	}
	return fmt.Sprintf("%s (%d bytes)", text, n)
}
