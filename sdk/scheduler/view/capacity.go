package view

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// capacity finds launchers with room without asking each: for every kind, the
// launchers with n free slots are a set of bits, so that "the launcher with most
// free slots", also within one rack, is a few words' work.
type capacity struct {
	numbers  map[scheduler.SlotKind]int
	kinds    []kindRoom
	reserved map[scheduler.JobID][]*Launcher
	hosts    map[string][]*Launcher
	racks    map[string]bitset
	journal  []change
	// stale says that launchers came or went, and the sets are of the old ones.
	stale bool
}

// kindRoom is what is free of one kind.
type kindRoom struct {
	total  int      // free and not reserved, on all launchers that are not aside
	aside  int      // the same on those that are
	by     []bitset // by[n]: launchers with n free slots; by[0] is not kept
	count  []int    // how many each set holds
	missed bool     // a group of slotsMin and memoryMin found no room
	// Groups that need at least that much need not look again.
	slotsMin  int
	memoryMin int64
}

// change undoes one Take or Give.
type change struct {
	launcher *Launcher
	kind     int
	free     int
	memory   int64
	reserved []scheduler.Reservation
}

type bitset []uint64

func (s bitset) set(i int)   { s[i/64] |= 1 << (i % 64) }
func (s bitset) clear(i int) { s[i/64] &^= 1 << (i % 64) }

// kind returns a kind's number. Numbers depend on the order in which kinds were
// first heard of and never reach an answer.
func (c *capacity) kind(k scheduler.SlotKind) int {
	n, ok := c.numbers[k]
	if !ok {
		if c.numbers == nil {
			c.numbers = map[scheduler.SlotKind]int{}
		}
		n = len(c.kinds)
		c.numbers[k] = n
		c.kinds = append(c.kinds, kindRoom{})
	}
	return n
}

func (c *capacity) forgetMisses() {
	for i := range c.kinds {
		c.kinds[i].missed = false
	}
}

// setFree is the only place where a launcher's free slots change.
func (v *View) setFree(l *Launcher, kind, n int) {
	for len(l.free) <= kind {
		l.free = append(l.free, 0)
	}
	k := &v.capacity.kinds[kind]
	old := l.free[kind]
	k.total += n - old
	l.free[kind] = n
	if v.capacity.stale || old == n {
		return
	}
	if old > 0 {
		k.by[old].clear(l.index)
		k.count[old]--
	}
	k.add(l.index, n, len(v.list))
}

func (k *kindRoom) add(index, n, launchers int) {
	if n <= 0 {
		return
	}
	for len(k.by) <= n {
		k.by = append(k.by, make(bitset, (launchers+63)/64))
		k.count = append(k.count, 0)
	}
	k.by[n].set(index)
	k.count[n]++
}

// fresh rebuilds the sets after launchers came or went.
func (v *View) fresh() *capacity {
	c := &v.capacity
	if !c.stale {
		return c
	}
	c.stale = false
	c.hosts, c.racks = map[string][]*Launcher{}, map[string]bitset{}
	for i := range c.kinds {
		c.kinds[i].by, c.kinds[i].count = nil, nil
	}
	words := (len(v.list) + 63) / 64
	for i, l := range v.list {
		l.index = i
		c.hosts[l.Host] = append(c.hosts[l.Host], l)
		if l.Rack != "" {
			if c.racks[l.Rack] == nil {
				c.racks[l.Rack] = make(bitset, words)
			}
			c.racks[l.Rack].set(i)
		}
		for k, n := range l.free {
			c.kinds[k].add(i, n, len(v.list))
		}
	}
	return c
}

// Obstacles tells a person what may keep a bundle from slots that are free: memory, or
// launchers that are excluded for it, each after a semicolon; "" when it is neither.
// It may walk all launchers, so it is for a bundle that finds no place.
func (v *View) Obstacles(b *Bundle) (text string) {
	for i := range b.Groups {
		g := &b.Groups[i]
		if most, slot := v.memoryBeside(b.Job.ID(), g.Kind); slot && most < g.Memory {
			text = fmt.Sprintf("; memory is what lacks: no launcher with a free %s slot has more than %d MiB free", g.Kind, most>>20)
			break
		}
	}
	if n := len(b.Avoid); n > 0 {
		text += fmt.Sprintf("; %d launchers are excluded for it", n)
	}
	return text
}

// memoryBeside is the most memory that a launcher has free which also has a free slot
// of a kind for a job, and whether there is such a launcher.
func (v *View) memoryBeside(job scheduler.JobID, kind scheduler.SlotKind) (most int64, slot bool) {
	if v.FreeSlots(kind) == 0 {
		return 0, false
	}
	for _, l := range v.list {
		if slots, memory := v.Room(l, job, kind); slots > 0 && !l.Draining {
			most, slot = max(most, memory), true
		}
	}
	return most, slot
}

// FreeSlots returns how many slots of a kind are free and not reserved on all
// launchers that are not aside, less what is taken tentatively.
func (v *View) FreeSlots(kind scheduler.SlotKind) int {
	if n, ok := v.capacity.numbers[kind]; ok {
		return v.capacity.kinds[n].total
	}
	return 0
}

// Reserved returns whether anything is reserved for a job, or for one bundle of it.
func (v *View) Reserved(job scheduler.JobID) bool { return len(v.capacity.reserved[job]) > 0 }

// AnyReserved returns whether anything is reserved for some job.
func (v *View) AnyReserved() bool { return len(v.capacity.reserved) > 0 }

// ReservedFor returns the launchers that keep something for a job, or for one bundle of
// it, in order of id,
// as of the last Apply.
func (v *View) ReservedFor(job scheduler.JobID) []*Launcher { return v.capacity.reserved[job] }

// Room returns the free slots of a kind and the free memory at a launcher that any
// bundle of a job can draw on: what is reserved for the job included, what is reserved
// for one bundle not (see RoomFor), nor what is taken. Job 0 is nobody's: what is free
// and not reserved.
func (v *View) Room(l *Launcher, job scheduler.JobID, kind scheduler.SlotKind) (slots int, memory int64) {
	return v.roomOf(l, job, 0, kind)
}

// RoomFor is Room for one bundle: with what is reserved for it alone.
func (v *View) RoomFor(l *Launcher, b *Bundle, kind scheduler.SlotKind) (slots int, memory int64) {
	return v.roomOf(l, b.Job.ID(), b.ID, kind)
}

func (v *View) roomOf(l *Launcher, job scheduler.JobID, b scheduler.BundleID, kind scheduler.SlotKind) (slots int, memory int64) {
	slots, memory = v.unreserved(l, kind)
	for i := range l.reserved {
		if r := &l.reserved[i]; drawable(r, job, b) {
			memory += r.Memory
			if r.Kind == kind {
				slots += r.Slots
			}
		}
	}
	return slots, memory
}

// ReservedSlots returns how many slots of a kind a launcher keeps for a job, or for one
// bundle of it, less what is taken tentatively: what is to come to the job, whichever of
// its bundles may draw on it.
func (v *View) ReservedSlots(l *Launcher, job scheduler.JobID, kind scheduler.SlotKind) (slots int) {
	for i := range l.reserved {
		if r := &l.reserved[i]; r.Job == job && r.Kind == kind {
			slots += r.Slots
		}
	}
	return slots
}

// unreserved is what nothing is reserved of and nothing was taken of.
func (v *View) unreserved(l *Launcher, kind scheduler.SlotKind) (slots int, memory int64) {
	if k, ok := v.capacity.numbers[kind]; ok && k < len(l.free) {
		slots = l.free[k]
	}
	return slots, l.memory
}

// drawable tells whether a bundle may draw on a reservation.
func drawable(r *scheduler.Reservation, job scheduler.JobID, b scheduler.BundleID) bool {
	return r.Job == job && (r.Bundle == 0 || r.Bundle == b)
}

// Take takes what a group needs at a launcher from what is free, and returns false
// when there is not that much.
func (v *View) Take(l *Launcher, g *scheduler.Group) bool {
	slots, memory := v.unreserved(l, g.Kind)
	if slots < g.Slots || memory < g.Memory {
		return false
	}
	v.take(l, 0, 0, g)
	return true
}

// TakeFor takes what a group of a bundle needs at a launcher, from what is reserved
// for the bundle first, then for its job, and returns false when there is not that
// much.
func (v *View) TakeFor(l *Launcher, b *Bundle, g *scheduler.Group) bool {
	slots, memory := v.RoomFor(l, b, g.Kind)
	if slots < g.Slots || memory < g.Memory {
		return false
	}
	v.take(l, b.Job.ID(), b.ID, g)
	return true
}

func (v *View) take(l *Launcher, job scheduler.JobID, b scheduler.BundleID, g *scheduler.Group) {
	kind := v.note(l, g.Kind)
	slots, memory := g.Slots, g.Memory
	if len(l.reserved) > 0 {
		kept := append([]scheduler.Reservation(nil), l.reserved...)
		for i := range slices.Backward(kept) { // what is for any of the job's bundles comes first
			r := &kept[i]
			if !drawable(r, job, b) {
				continue
			}
			m := min(memory, r.Memory)
			r.Memory, memory = r.Memory-m, memory-m
			if r.Kind == g.Kind {
				s := min(slots, r.Slots)
				r.Slots, slots = r.Slots-s, slots-s
			}
		}
		l.reserved = kept
	}
	l.memory -= memory
	v.setFree(l, kind, l.free[kind]-slots)
}

// Give adds slots and memory to what is tentatively free at a launcher: what a
// preemption would set free.
func (v *View) Give(l *Launcher, kind scheduler.SlotKind, slots int, memory int64) {
	k := v.note(l, kind)
	l.memory += memory
	v.setFree(l, k, l.free[k]+slots)
	v.capacity.forgetMisses()
}

// note writes a launcher's state to the journal and returns the kind's number.
func (v *View) note(l *Launcher, kind scheduler.SlotKind) int {
	k := v.capacity.kind(kind)
	for len(l.free) <= k {
		l.free = append(l.free, 0)
	}
	v.capacity.journal = append(v.capacity.journal, change{l, k, l.free[k], l.memory, l.reserved})
	return k
}

// Mark returns a point to which Undo can go back.
func (v *View) Mark() int { return len(v.capacity.journal) }

// Undo takes back every Take, Give and Fit since the mark.
func (v *View) Undo(mark int) {
	j := v.capacity.journal
	for i := len(j) - 1; i >= mark; i-- {
		c := j[i]
		c.launcher.memory, c.launcher.reserved = c.memory, c.reserved
		v.setFree(c.launcher, c.kind, c.free)
	}
	if len(j) > mark {
		v.capacity.forgetMisses()
	}
	clear(j[mark:])
	v.capacity.journal = j[:mark]
}

func (v *View) undoAll() { v.Undo(0) }

// first returns the first launcher of a set, within another when that is given,
// for which ok says yes.
func (v *View) first(s, within bitset, ok func(*Launcher) bool) *Launcher {
	for w, word := range s {
		if within != nil {
			word &= within[w]
		}
		for ; word != 0; word &= word - 1 {
			if l := v.list[w*64+bits.TrailingZeros64(word)]; ok(l) {
				return l
			}
		}
	}
	return nil
}
