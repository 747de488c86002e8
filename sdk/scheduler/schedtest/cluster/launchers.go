package cluster

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

type launcher struct {
	id       scheduler.LauncherID
	info     scheduler.LauncherJoined
	draining bool
	load     scheduler.LauncherLoad // as it is
	told     scheduler.LauncherLoad // as the policy was told
	tale     []telling
	attempts []*attempt
}

// Join adds a launcher. Name is also its host; a launcher that was lost and
// joins under its old name has its old id.
func (c *Cluster) Join(id scheduler.LauncherID, rack string, memory int64, slots ...scheduler.SlotCount) {
	if c.launcher(id) != nil {
		return
	}
	slices.SortFunc(slots, func(a, b scheduler.SlotCount) int { return cmp.Compare(a.Kind, b.Kind) })
	unknown := scheduler.LauncherLoad{Launcher: id, CPU: scheduler.LoadUnknown, Memory: scheduler.LoadUnknown}
	l := &launcher{id: id, load: unknown, told: unknown, info: scheduler.LauncherJoined{
		At: c.now, Launcher: id, Name: fmt.Sprint("launcher-", id), Host: Host(id), Rack: rack, Slots: slots, Memory: memory,
	}}
	l.tale = append(l.tale, c.tell(l.info))
	i, _ := slices.BinarySearchFunc(c.launchers, id, func(l *launcher, id scheduler.LauncherID) int { return cmp.Compare(l.id, id) })
	c.launchers = slices.Insert(c.launchers, i, l)
	c.known[id], c.moved = true, true
	if c.drained[id] {
		c.drain(l, true)
	}
}

// Host returns the host name of a launcher.
func Host(id scheduler.LauncherID) string { return fmt.Sprint("host-", id) }

func (c *Cluster) launcher(id scheduler.LauncherID) *launcher {
	for _, l := range c.launchers {
		if l.id == id {
			return l
		}
	}
	return nil
}

// Drain starts or ends a drain, which outlasts the loss of the launcher.
func (c *Cluster) Drain(id scheduler.LauncherID, draining bool) {
	if c.known[id] {
		c.drained[id] = draining
	}
	if l := c.launcher(id); l != nil && l.draining != draining {
		c.drain(l, draining)
	}
}

func (c *Cluster) drain(l *launcher, draining bool) {
	l.draining, c.moved = draining, true
	c.releaseOn(l.id)
	l.tale = append(l.tale, c.tell(scheduler.LauncherDraining{At: c.now, Launcher: l.id, Draining: draining}))
}

// Load says how busy a launcher's machine is from now on, 0 to 1 or LoadUnknown. A
// policy with AbilityLoad is told, whatever the step.
func (c *Cluster) Load(id scheduler.LauncherID, cpu, memory float64) {
	l := c.launcher(id)
	if l == nil {
		return
	}
	l.load = scheduler.LauncherLoad{At: c.now, Launcher: id, CPU: cpu, Memory: memory}
	if c.Abilities.Has(scheduler.AbilityLoad) {
		c.tell(l.load)
		c.Tally.Loads++
	}
}

// able takes over what the policy says it can do from now on.
func (c *Cluster) able(a scheduler.Ability) {
	heard := c.Abilities.Has(scheduler.AbilityLoad)
	if c.Abilities = a; heard || !a.Has(scheduler.AbilityLoad) {
		return
	}
	for _, l := range c.launchers {
		c.Load(l.id, l.load.CPU, l.load.Memory)
	}
}

// Loads returns the loads as they were last told: what a first round after a
// restart begins with, for a policy with AbilityLoad. They are told as of now.
func (c *Cluster) Loads() []scheduler.Event {
	if !c.Abilities.Has(scheduler.AbilityLoad) {
		return nil
	}
	var all []scheduler.Event
	for _, l := range c.launchers {
		if e := l.told; e.CPU != scheduler.LoadUnknown || e.Memory != scheduler.LoadUnknown {
			e.At = c.now
			all = append(all, e)
		}
	}
	return all
}

// Lose takes a launcher away with all it runs and stores.
func (c *Cluster) Lose(id scheduler.LauncherID) {
	l := c.launcher(id)
	if l == nil {
		return
	}
	c.tell(scheduler.LauncherLost{At: c.now, Launcher: id, Reason: "went away"})
	c.launchers = slices.DeleteFunc(c.launchers, func(x *launcher) bool { return x == l })
	delete(c.offered, id)
	c.moved = true
	c.releaseOn(id)
	for _, a := range slices.Clone(l.attempts) {
		c.end(a, scheduler.Lost, 0)
	}
	for _, j := range c.jobs {
		c.lostOutputs(j, id)
	}
}

// offer adds up what a launcher has to give.
func (c *Cluster) offer(l *launcher) scheduler.Offer {
	o := scheduler.Offer{Launcher: l.id}
	for _, a := range l.attempts {
		if a.state == suspended {
			o.Suspended++
			o.Held += a.need.Memory
		}
	}
	o.Reserved = c.reservations(l)
	if l.draining {
		return o
	}
	for _, s := range l.info.Slots {
		if n := c.freeSlots(l, s.Kind); n > 0 {
			o.Free = append(o.Free, scheduler.SlotCount{Kind: s.Kind, Count: n})
		}
	}
	o.Memory = c.freeMemory(l)
	return o
}

// freeSlots and freeMemory count what is neither taken nor reserved.
func (c *Cluster) freeSlots(l *launcher, kind scheduler.SlotKind) int {
	n := 0
	for _, s := range l.info.Slots {
		if s.Kind == kind {
			n = s.Count
		}
	}
	for _, a := range l.attempts {
		if a.need.Kind == kind && a.state != suspended {
			n -= a.need.Slots
		}
	}
	for _, r := range c.reservations(l) {
		if r.Kind == kind {
			n -= r.Slots
		}
	}
	return n
}

func (c *Cluster) freeMemory(l *launcher) int64 {
	m := l.info.Memory
	for _, a := range l.attempts {
		m -= a.need.Memory
	}
	for _, r := range c.reservations(l) {
		m -= r.Memory
	}
	return m
}

// reservations adds up what is reserved at a launcher for each job, bundle and kind.
func (c *Cluster) reservations(l *launcher) []scheduler.Reservation {
	var all []scheduler.Reservation
	for _, x := range c.reserved {
		for _, h := range x.held {
			if h.launcher != l.id {
				continue
			}
			memory := h.memory
			for _, s := range h.slots {
				if s.Count > 0 || memory > 0 {
					all = sum(all, scheduler.Reservation{Job: x.job, Bundle: x.bundle, Kind: s.Kind, Slots: s.Count, Memory: memory})
					memory = 0 // counted once, on the first kind
				}
			}
		}
	}
	return all
}

// sum adds a reservation to those of the same job, bundle and kind, in order of these.
func sum(all []scheduler.Reservation, r scheduler.Reservation) []scheduler.Reservation {
	i, found := slices.BinarySearchFunc(all, r, func(x, y scheduler.Reservation) int {
		return cmp.Or(cmp.Compare(x.Job, y.Job), cmp.Compare(x.Bundle, y.Bundle), cmp.Compare(x.Kind, y.Kind))
	})
	if !found {
		return slices.Insert(all, i, r)
	}
	all[i].Slots += r.Slots
	all[i].Memory += r.Memory
	return all
}
