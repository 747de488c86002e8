package cluster

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

type launcher struct {
	id       scheduler.LauncherID
	info     scheduler.LauncherJoined
	draining bool
	excluded bool
	load     scheduler.LauncherLoad // as it is
	told     scheduler.LauncherLoad // as the policy was told
	history  []emission
	attempts []*attempt
}

// parked is the memory of its suspended attempts.
func (l *launcher) parked() (n int64) {
	for _, a := range l.attempts {
		if a.suspended() {
			n += a.need.Memory
		}
	}
	return n
}

// takes is the memory that its attempts take of what it has: of the suspended ones what is
// more than its swap.
func (l *launcher) takes() int64 {
	n := max(l.parked()-l.info.Swap, 0)
	for _, a := range l.attempts {
		if !a.suspended() {
			n += a.need.Memory
		}
	}
	return n
}

func (l *launcher) enter(a *attempt) { l.attempts = append(l.attempts, a) }

func (l *launcher) leave(a *attempt) {
	l.attempts = slices.DeleteFunc(l.attempts, func(x *attempt) bool { return x == a })
}

// closed says whether nothing new may start there.
func (l *launcher) closed() bool { return l.draining || l.excluded }

// total is how many slots of a kind it has.
func (l *launcher) total(kind scheduler.SlotKind) int {
	for _, s := range l.info.Slots {
		if s.Kind == kind {
			return s.Count
		}
	}
	return 0
}

// busy says whether the policy was told that the machine is.
func (l *launcher) busy() bool { return l.told.CPU > BusyOver }

// launchers is the room of who is there, and of what each has to give: its slots and
// memory, less what its attempts hold, less what is reserved.
type launchers struct {
	list    []*launcher                              // that are there, in order of id
	known   map[scheduler.LauncherID]bool            // was there once
	drained map[scheduler.LauncherID]bool            // is, or will be when it is there again
	swap    map[scheduler.LauncherID]int64           // it will have when it joins
	offered map[scheduler.LauncherID]scheduler.Offer // as last told, of those that are there
	moved   bool                                     // some came or went, or drain or do not; see takeMoved

	time         *timeline
	reservations *reservations
	abilities    *scheduler.Ability
	tally        *Tally
}

func newLaunchers(time *timeline, reservations *reservations, abilities *scheduler.Ability, tally *Tally) launchers {
	return launchers{
		known: map[scheduler.LauncherID]bool{}, drained: map[scheduler.LauncherID]bool{}, swap: map[scheduler.LauncherID]int64{}, offered: map[scheduler.LauncherID]scheduler.Offer{},
		time: time, reservations: reservations, abilities: abilities, tally: tally,
	}
}

// Join adds a launcher. Name is also its host; a launcher that was lost and
// joins under its old name has its old id. Memory is in bytes; see Swap.
func (ls *launchers) Join(id scheduler.LauncherID, rack string, memory int64, slots ...scheduler.SlotCount) {
	if ls.get(id) != nil {
		return
	}
	slices.SortFunc(slots, func(a, b scheduler.SlotCount) int { return cmp.Compare(a.Kind, b.Kind) })
	unknown := scheduler.LauncherLoad{Launcher: id, CPU: scheduler.LoadUnknown, Memory: scheduler.LoadUnknown}
	l := &launcher{id: id, load: unknown, told: unknown, info: scheduler.LauncherJoined{
		At: ls.time.Now(), Launcher: id, Name: fmt.Sprint("launcher-", id), Host: Host(id), Rack: rack, Slots: slots, Memory: memory, Swap: ls.swap[id],
	}}
	l.history = append(l.history, ls.time.emit(l.info))
	i, _ := slices.BinarySearchFunc(ls.list, id, func(l *launcher, id scheduler.LauncherID) int { return cmp.Compare(l.id, id) })
	ls.list = slices.Insert(ls.list, i, l)
	ls.known[id], ls.moved = true, true
	if ls.drained[id] {
		ls.drain(l, true)
	}
}

// Swap says how much swap a launcher has, in bytes, when it joins the next time and later;
// without, none.
func (ls *launchers) Swap(id scheduler.LauncherID, bytes int64) { ls.swap[id] = bytes }

// Host returns the host name of a launcher.
func Host(id scheduler.LauncherID) string { return fmt.Sprint("host-", id) }

// Rack returns the rack of a launcher: pairs share one.
func Rack(id scheduler.LauncherID) string { return fmt.Sprint("rack-", (id+1)/2) }

// get returns a launcher that is there, or nil.
func (ls *launchers) get(id scheduler.LauncherID) *launcher {
	for _, l := range ls.list {
		if l.id == id {
			return l
		}
	}
	return nil
}

func (ls *launchers) there() []*launcher { return ls.list }

// everKnown says whether a launcher is there or was once.
func (ls *launchers) everKnown(id scheduler.LauncherID) bool { return ls.known[id] }

// usable returns an attempt's launcher when something can be launched there, else nil:
// it drains, is excluded or is gone, though another life of it may be there.
func (ls *launchers) usable(l *launcher) *launcher {
	if l.closed() || ls.get(l.id) != l {
		return nil
	}
	return l
}

// Drain starts or ends a drain, which outlasts the loss of the launcher.
func (ls *launchers) Drain(id scheduler.LauncherID, draining bool) {
	if ls.known[id] {
		ls.drained[id] = draining
	}
	if l := ls.get(id); l != nil && l.draining != draining {
		ls.drain(l, draining)
	}
}

func (ls *launchers) drain(l *launcher, draining bool) {
	l.draining, ls.moved = draining, true
	ls.reservations.releaseOn(l.id)
	l.history = append(l.history, ls.time.emit(scheduler.LauncherDraining{At: ls.time.Now(), Launcher: l.id, Draining: draining}))
}

// SetExcluded has the manager exclude a launcher that is there, or not any more.
func (ls *launchers) SetExcluded(id scheduler.LauncherID, excluded bool) {
	l := ls.get(id)
	if l == nil || l.excluded == excluded {
		return
	}
	l.excluded, ls.moved = excluded, true
	if excluded {
		ls.reservations.releaseOn(id)
	}
	l.history = append(l.history, ls.time.emit(scheduler.LauncherExcluded{At: ls.time.Now(), Launcher: id, Excluded: excluded}))
}

// lost takes a launcher away. What it ran is still to end.
func (ls *launchers) lost(l *launcher) {
	ls.time.emit(scheduler.LauncherLost{At: ls.time.Now(), Launcher: l.id, Reason: "went away"})
	ls.list = slices.DeleteFunc(ls.list, func(x *launcher) bool { return x == l })
	delete(ls.offered, l.id)
	ls.moved = true
	ls.reservations.releaseOn(l.id)
}

// takeMoved says whether launchers came or went since it was asked last.
func (ls *launchers) takeMoved() bool {
	moved := ls.moved
	ls.moved = false
	return moved
}

// Load says how busy a launcher's machine is from now on, 0 to 1 or LoadUnknown. A
// policy with AbilityLoad is told, whatever the step.
func (ls *launchers) Load(id scheduler.LauncherID, cpu, memory float64) {
	l := ls.get(id)
	if l == nil {
		return
	}
	l.load = scheduler.LauncherLoad{At: ls.time.Now(), Launcher: id, CPU: cpu, Memory: memory}
	if ls.abilities.Has(scheduler.AbilityLoad) {
		ls.time.emit(l.load)
		ls.tally.Loads++
	}
}

// emitLoads emits all loads anew, for a policy that asks for them from now on.
func (ls *launchers) emitLoads() {
	for _, l := range ls.list {
		ls.Load(l.id, l.load.CPU, l.load.Memory)
	}
}

// Loads returns the loads as they were last told: what a first round after a
// restart begins with, for a policy with AbilityLoad. They are told as of now.
func (ls *launchers) Loads() []scheduler.Event {
	if !ls.abilities.Has(scheduler.AbilityLoad) {
		return nil
	}
	var all []scheduler.Event
	for _, l := range ls.list {
		if e := l.told; e.CPU != scheduler.LoadUnknown || e.Memory != scheduler.LoadUnknown {
			e.At = ls.time.Now()
			all = append(all, e)
		}
	}
	return all
}

// offer adds up what a launcher has to give.
func (ls *launchers) offer(l *launcher) scheduler.Offer {
	o := scheduler.Offer{Launcher: l.id}
	for _, a := range l.attempts {
		if a.suspended() {
			o.Suspended++
		}
	}
	o.Held = l.parked()
	o.Swap = max(l.info.Swap-o.Held, 0)
	o.Reserved = ls.reservations.at(l.id)
	var free []scheduler.SlotCount
	for _, s := range l.info.Slots {
		if n := ls.freeSlots(l, s.Kind); n > 0 {
			free = append(free, scheduler.SlotCount{Kind: s.Kind, Count: n})
		}
	}
	switch {
	case !l.closed():
		o.Free, o.Memory = free, ls.freeMemory(l)
	case o.Suspended > 0:
		o.ForResume, o.ForResumeMemory = free, ls.freeMemory(l)
	}
	return o
}

// changed returns the offers that are not as they were told.
func (ls *launchers) changed() (offers []scheduler.Offer) {
	for _, l := range ls.list {
		o := ls.offer(l)
		if old, told := ls.offered[l.id]; !told || !reflect.DeepEqual(old, o) {
			offers = append(offers, o)
		}
	}
	return offers
}

// changedOffers returns the offers that changed, and notes all offers and loads as sent.
func (ls *launchers) changedOffers() []scheduler.Offer {
	if ls.abilities.Has(scheduler.AbilityLoad) {
		for _, l := range ls.list {
			l.told = l.load
		}
	}
	offers := ls.changed()
	for _, o := range offers {
		ls.offered[o.Launcher] = o
	}
	return offers
}

// Offers returns all offers as they were last told: what a first round after a
// restart lists.
func (ls *launchers) Offers() []scheduler.Offer {
	var all []scheduler.Offer
	for _, l := range ls.list {
		if o, told := ls.offered[l.id]; told {
			all = append(all, o)
		}
	}
	return all
}

// lastOffer is what was last told of a launcher; none yet is empty, without an id.
func (ls *launchers) lastOffer(l *launcher) scheduler.Offer { return ls.offered[l.id] }

// idle says whether nothing at all runs.
func (ls *launchers) idle() bool {
	return !slices.ContainsFunc(ls.list, func(l *launcher) bool { return len(l.attempts) > 0 })
}

// freeSlots and freeMemory count what is neither taken nor reserved.
func (ls *launchers) freeSlots(l *launcher, kind scheduler.SlotKind) int {
	n := 0
	for _, s := range l.info.Slots {
		if s.Kind == kind {
			n = s.Count
		}
	}
	for _, a := range l.attempts {
		n -= a.holds(kind)
	}
	for _, r := range ls.reservations.at(l.id) {
		if r.Kind == kind {
			n -= r.Slots
		}
	}
	return n
}

func (ls *launchers) freeMemory(l *launcher) int64 {
	m := l.info.Memory - l.takes()
	for _, r := range ls.reservations.at(l.id) {
		m -= r.Memory
	}
	return m
}
