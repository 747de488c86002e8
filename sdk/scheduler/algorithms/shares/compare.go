package shares

import "cmp"

// Rank decides which of several pools or jobs is served next.
type Rank struct {
	Running float64 // slots held
	Demand  float64 // slots held and wanted
	Min     float64 // minimum share, slots
	Weight  float64
	// Priority, Start and Name break ties, or decide in FIFO order.
	Priority int32
	Start    int64 // any unit; pools have 0
	Name     string
}

// Needy says whether it is below its minimum share, or below its demand if that is smaller.
func (s Rank) Needy() bool { return s.Running < min(s.Min, s.Demand) }

// Ratio measures how well a pool or job is served: running slots per minimum share while it is
// needy, else running slots by weight. Compare it only among needy ones, or among those that are
// not. Without running slots it is 0, whatever the weight.
func (s Rank) Ratio() float64 {
	switch {
	case s.Running <= 0:
		return 0
	case s.Needy():
		return s.Running / max(min(s.Min, s.Demand), 1)
	}
	return s.Running / s.Weight
}

// CompareFair orders by distance below the minimum share, then by running slots by weight, then by
// start and name. It is negative when a is to be served before b (Hadoop Fair Scheduler design
// document, section 4.4).
func CompareFair(a, b Rank) int {
	switch x, y := a.Needy(), b.Needy(); {
	case x && !y:
		return -1
	case y && !x:
		return 1
	}
	return cmp.Or(cmp.Compare(a.Ratio(), b.Ratio()), cmp.Compare(a.Start, b.Start), cmp.Compare(a.Name, b.Name))
}

// CompareFIFO orders by priority, larger first, then by start and name.
func CompareFIFO(a, b Rank) int {
	return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.Start, b.Start), cmp.Compare(a.Name, b.Name))
}
