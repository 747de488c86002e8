package view

import (
	"iter"
	"math/bits"
	"slices"
)

// where indexes launchers by free slots, so that searches need not visit each. It ignores memory
// and reservations: its callers check these with a predicate.
type where struct {
	list  []*Launcher            // in order of id; a launcher's place is its index here
	hosts map[string][]*Launcher // in order of id
	racks map[string]places
	kinds []bySlots // by the kind's number
	// stale means that launchers joined or left, and only list is up to date.
	stale   bool
	built   uint64 // number of rebuilds
	opened  uint64 // number of rebuilds and of launchers closed or opened
	nowhere near   // for bundles without places
}

// places is a set of launchers.
type places []uint64

func (s places) set(i int)   { s[i/64] |= 1 << (i % 64) }
func (s places) clear(i int) { s[i/64] &^= 1 << (i % 64) }

func (s places) has(i int) bool { return s[i/64]&(1<<(i%64)) != 0 }

// each walks a set in order.
func (s places) each(yield func(place int) bool) {
	for w, word := range s {
		for ; word != 0; word &= word - 1 {
			if !yield(w*64 + bits.TrailingZeros64(word)) {
				return
			}
		}
	}
}

// bySlots has, for one kind of slot and each n, the set of launchers with n free slots. So the
// launcher with most free slots, also within one rack, is found in a few words.
type bySlots struct {
	with  []places // with[0] is the union of the others
	count []int    // size of each set
}

// move moves a launcher between the sets of two numbers of free slots.
func (k *bySlots) move(place, from, to, launchers int) {
	from, to = max(from, 0), max(to, 0)
	if from > 0 {
		k.leave(from, place)
	}
	for len(k.with) <= to {
		k.with = append(k.with, make(places, (launchers+63)/64))
		k.count = append(k.count, 0)
	}
	switch {
	case to == 0 && from > 0:
		k.leave(0, place)
	case to > 0 && from == 0:
		k.enter(0, place)
	}
	if to > 0 {
		k.enter(to, place)
	}
}

func (k *bySlots) enter(n, place int) {
	k.with[n].set(place)
	k.count[n]++
}

func (k *bySlots) leave(n, place int) {
	k.with[n].clear(place)
	k.count[n]--
}

// roomy reports whether a launcher has a free slot.
func (k *bySlots) roomy(place int) bool { return len(k.with) > 0 && k.with[0].has(place) }

// launchers returns all, in order of id.
func (x *where) launchers() []*Launcher { return x.list }

// arrange is called with the launchers in order of id after one joined or left.
func (x *where) arrange(list []*Launcher) { x.list, x.stale = list, true }

func (x *where) addKind() { x.kinds = append(x.kinds, bySlots{}) }

// changed is called when the free slots of a launcher change.
func (x *where) changed(place, kind, from, to int) {
	if !x.stale {
		x.kinds[kind].move(place, from, to, len(x.list))
	}
}

// freshen rebuilds the index if it is stale.
func (x *where) freshen() {
	if x.stale {
		x.build()
	}
}

func (x *where) build() {
	x.stale = false
	x.built++
	x.opened++
	x.hosts, x.racks = map[string][]*Launcher{}, map[string]places{}
	clear(x.kinds)
	for i, l := range x.list {
		l.seat.place = i
		x.hosts[l.Host] = append(x.hosts[l.Host], l)
		if l.Rack != "" {
			if x.racks[l.Rack] == nil {
				x.racks[l.Rack] = make(places, (len(x.list)+63)/64)
			}
			x.racks[l.Rack].set(i)
		}
		if l.seat.closed {
			continue
		}
		for k, n := range l.seat.free {
			x.changed(i, k, 0, n)
		}
	}
}

// on returns the launchers on a host.
func (x *where) on(host string) []*Launcher {
	x.freshen()
	return x.hosts[host]
}

// addOn adds the places of the launchers on a host.
func (x *where) addOn(to []int32, host string) []int32 {
	for _, l := range x.hosts[host] {
		to = append(to, int32(l.seat.place)) //nolint:gosec // there are fewer launchers
	}
	return to
}

// open reports whether a launcher is not closed.
func (x *where) open(place int32) bool { return !x.list[place].seat.closed }

// inRack returns the roomiest launcher in a rack, as roomiest does.
func (x *where) inRack(rack string, kind, slots int, ok func(*Launcher) bool) *Launcher {
	x.freshen()
	if within := x.racks[rack]; within != nil {
		return x.roomiest(within, kind, slots, ok)
	}
	return nil
}

// anywhere returns the roomiest of all launchers.
func (x *where) anywhere(kind, slots int, ok func(*Launcher) bool) *Launcher {
	x.freshen()
	return x.roomiest(nil, kind, slots, ok)
}

// roomiest returns the launcher with most free slots of a kind, at least slots, for which ok
// returns true. Among equals it is the lowest id. If within is not nil, it limits the launchers.
func (x *where) roomiest(within places, kind, slots int, ok func(*Launcher) bool) *Launcher {
	k := &x.kinds[kind]
	for n := len(k.with) - 1; n >= max(slots, 1); n-- {
		if k.count[n] == 0 {
			continue
		}
		if l := x.first(k.with[n], within, ok); l != nil {
			return l
		}
	}
	return nil
}

func (x *where) first(s, within places, ok func(*Launcher) bool) *Launcher {
	for w, word := range s {
		if within != nil {
			word &= within[w]
		}
		for ; word != 0; word &= word - 1 {
			if l := x.list[w*64+bits.TrailingZeros64(word)]; ok(l) {
				return l
			}
		}
	}
	return nil
}

// count returns how many launchers have a free slot of a kind.
func (x *where) count(kind int) int {
	x.freshen()
	if k := &x.kinds[kind]; len(k.count) > 0 {
		return k.count[0]
	}
	return 0
}

// roomy reports whether a launcher has a free slot of a kind.
func (x *where) roomy(kind int, place int32) bool { return x.kinds[kind].roomy(int(place)) }

// with walks, in order of id, the launchers that had a free slot of a kind when the walk began.
func (x *where) with(kind int) iter.Seq[*Launcher] {
	return func(yield func(*Launcher) bool) {
		x.freshen()
		k := &x.kinds[kind]
		if len(k.with) == 0 {
			return
		}
		for i := range slices.Clone(k.with[0]).each {
			if !yield(x.list[i]) {
				return
			}
		}
	}
}
