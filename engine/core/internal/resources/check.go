package resources

import (
	"fmt"
	"iter"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Check recounts everything: free, allocated and reserved resources against the totals, and victims
// against the allocations. holdings are the allocations of the attempts on a launcher.
func (c *Resources) Check(now scheduler.Time, holdings func(scheduler.LauncherID) iter.Seq[*Allocation]) error {
	victims := map[uint64]int{}
	up := 0
	for _, id := range c.Launchers.index.IDs() {
		l := c.Launchers.index.Get(id)
		if err := l.check(holdings(id), victims); err != nil {
			return fmt.Errorf("launcher %d: %w", id, err)
		}
		if l.Up {
			up++
		}
	}
	if up != c.Launchers.up {
		return fmt.Errorf("%d launchers are up, counted as %d", up, c.Launchers.up)
	}
	for r := range c.Reservations.index.All() {
		switch {
		case now >= r.Expires:
			return fmt.Errorf("reservation %d expired at %d, and it is %d", r.ID, r.Expires, now)
		case r.victims != victims[r.ID]:
			return fmt.Errorf("reservation %d waits for %d victims, and there are %d", r.ID, r.victims, victims[r.ID])
		}
	}
	return nil
}

// Jobs lists the jobs with reservations, in order of reservation.
func (rs *Reservations) Jobs() iter.Seq[scheduler.JobID] {
	return func(yield func(scheduler.JobID) bool) {
		for r := range rs.index.All() {
			if !yield(r.Job) {
				return
			}
		}
	}
}

func (l *Launcher) check(holdings iter.Seq[*Allocation], victims map[uint64]int) error {
	sum, memory, resources := slices.Clone(l.free), l.freeMemory, l.freeResources
	parked, parkedMemory, held := 0, int64(0), 0
	for h := range holdings {
		held++
		if h.Empty {
			victims[h.Reservation]++
			continue
		}
		if h.HasSlots {
			sum.Add(h.Kind, h.Slots)
			memory += h.Memory
			resources = resources.Plus(h.Resources)
		} else {
			parked++
			parkedMemory += h.Memory
			resources = resources.Plus(l.keptSuspended(h))
		}
		victims[h.Reservation]++
	}
	if !l.Up {
		if held > 0 || len(l.parts) > 0 {
			return fmt.Errorf("it is lost and has %d attempts and %d reservations", held, len(l.parts))
		}
		return nil
	}
	for _, f := range l.free {
		if f.Count < 0 {
			return fmt.Errorf("%d slots of kind %s are free", f.Count, f.Kind)
		}
	}
	if l.freeMemory < 0 {
		return fmt.Errorf("%d bytes are free", l.freeMemory)
	}
	if l.freeResources != l.freeResources.Positive() {
		return fmt.Errorf("the resources %v are free", l.freeResources)
	}
	if parked != l.suspended || parkedMemory != l.suspendedMemory {
		return fmt.Errorf("%d attempts gave back their slots and hold %d bytes, counted as %d and %d", parked, parkedMemory, l.suspended, l.suspendedMemory)
	}
	memory += max(parkedMemory-l.swap, 0)
	for _, p := range l.parts {
		memory += p.memory
		resources = resources.Plus(p.resources)
		if p.resources != p.resources.Positive() {
			return fmt.Errorf("the resources %v are reserved", p.resources)
		}
		for _, s := range p.slots {
			if s.Count < 0 || p.memory < 0 {
				return fmt.Errorf("%d slots and %d bytes are reserved", s.Count, p.memory)
			}
		}
		sum.addAll(p.slots)
	}
	for _, s := range sum {
		if s.Count != l.slots.Of(s.Kind) {
			return fmt.Errorf("%d slots of kind %s are free, held or reserved, and it has %d", s.Count, s.Kind, l.slots.Of(s.Kind))
		}
	}
	if memory != l.memory {
		return fmt.Errorf("%d bytes are free, held or reserved, and it has %d", memory, l.memory)
	}
	if resources != l.resources {
		return fmt.Errorf("the resources %v are free, held or reserved, and it has %v", resources, l.resources)
	}
	return nil
}
