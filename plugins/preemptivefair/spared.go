package preemptivefair

import (
	"cmp"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// timesKept is how many preempted bundles are remembered, one round's victims
// more at the most. While there are so many, any other bundle is spared: its
// times could not be counted.
const timesKept = 4096

// times is how often a bundle was preempted.
type times struct {
	Bundle scheduler.BundleID
	Times  int
}

func timesOrder(t times, id scheduler.BundleID) int { return cmp.Compare(t.Bundle, id) }

// spared says whether a bundle was preempted so often that it loses after all others.
func (d *assignment) spared(b *view.Bundle) bool {
	if d.options.TimesMax == 0 {
		return false
	}
	i, found := slices.BinarySearchFunc(d.memory.Times, b.ID, timesOrder)
	if !found {
		return len(d.memory.Times) >= timesKept
	}
	return d.memory.Times[i].Times >= d.options.TimesMax
}

// tally counts one more preemption of each bundle. Without a bound nothing is
// spared when the list is long, so that it must end by itself.
func (m *memory) tally(bundles []scheduler.BundleID) {
	m.changed()
	slices.Sort(bundles)
	for _, id := range slices.Compact(bundles) {
		i, found := slices.BinarySearchFunc(m.Times, id, timesOrder)
		switch {
		case found:
			m.Times[i].Times++
		case len(m.Times) < 2*timesKept:
			m.Times = slices.Insert(m.Times, i, times{id, 1})
		}
	}
}

// forget drops bundles whose jobs ended. The view forgets bundles with their jobs alone.
func (m *memory) forget(v *view.View, events []scheduler.Event) {
	ended := func(e scheduler.Event) bool {
		_, is := e.(scheduler.JobFinished)
		return is
	}
	if m.checked && !slices.ContainsFunc(events, ended) {
		return
	}
	m.checked = true
	m.changed()
	m.Times = slices.DeleteFunc(m.Times, func(t times) bool { return v.Bundle(t.Bundle) == nil })
}
