package view

import (
	"iter"
	"slices"

	"github.com/hamadryad/hamadryad/internal/prefetch"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Capacity is what is free and what is reserved on the launchers: the last offers, less what the
// policy took since. While it decides, a policy takes and frees capacity tentatively, so that the
// launches of one round do not collide. Undo reverts such changes, and so does the next Apply.
//
// Each change of free slots goes through setFree, which updates where.
type Capacity struct {
	numbers  map[scheduler.SlotKind]int // of kinds, in order of their first appearance
	kinds    []kindFree                 // by number
	last     int                        // the number that was asked for last
	reserved reservations               // as offered
	journal  []change                   // since the last round, to be undone from its end
	// userJournal has what was taken for users with a limit, in order of the journal.
	userJournal []userTaken
	where       where
	steps       int // of searches for gangs since the last round
}

// seat is what is tentatively free on one launcher.
type seat struct {
	free      []int                   // by kind's number; shorter when the rest is 0
	place     int                     // index in the order of launchers, for where
	memory    int64                   // free
	countable scheduler.Resources     // free
	parked    int64                   // held by suspended attempts, in swap and in memory
	going     going                   // attempts that would be suspended
	reserved  []scheduler.Reservation // replaced, never changed in place
	closed    bool                    // only attempts suspended there may use what is free
	withheld  bool                    // see Withhold
	kept      []scheduler.SlotCount   // free slots of the last offer, while withheld
}

// roomy reports whether a new attempt may use a free slot of a kind.
func (s *seat) roomy(kind int) bool { return kind < len(s.free) && s.free[kind] > 0 && !s.closed }

// prefetch touches the memory that it points to.
func (s *seat) prefetch() byte { return prefetch.At(s.free, 0) }

// kindFree counts the free slots of one kind.
type kindFree struct {
	name      scheduler.SlotKind
	total     int // free and not reserved, on all launchers that are not withheld
	withheld  int // free and not reserved, on withheld launchers
	forResume int // free on closed launchers, for attempts suspended there
	miss      miss
}

// miss is the smallest need for which a search found no room. Groups that need at least as much are
// not searched for again, until something becomes free.
type miss struct {
	known     bool
	slots     int
	memory    int64
	countable scheduler.Resources
}

func (m *miss) covers(g *scheduler.Group) bool {
	return m.known && g.Slots >= m.slots && g.Memory >= m.memory && g.Resources.Covers(m.countable)
}

func (m *miss) add(g *scheduler.Group) {
	if !m.known || g.Slots <= m.slots && g.Memory <= m.memory && m.countable.Covers(g.Resources) {
		*m = miss{true, g.Slots, g.Memory, g.Resources}
	}
}

// change undoes one Take or AddRoom.
type change struct {
	launcher  *Launcher
	kind      int
	free      int
	memory    int64
	parked    int64
	going     going
	reserved  []scheduler.Reservation
	countable scheduler.Resources
}

// going counts attempts that would be suspended, and the memory that they hold.
type going struct {
	n      int
	memory int64
}

// launchersChanged is called with the launchers in order of id after one joined or left.
func (c *Capacity) launchersChanged(list []*Launcher) { c.where.arrange(list) }

// offered replaces a launcher's offer.
func (c *Capacity) offered(l *Launcher, o *scheduler.Offer) {
	c.reserved.replace(l, o.Reserved)
	l.Offer, l.seat.parked, l.seat.reserved = *o, o.Held, o.Reserved
	c.refill(l)
}

// close sets whether a launcher is closed to new attempts.
func (c *Capacity) close(l *Launcher, closed bool) {
	if l.seat.closed == closed {
		return
	}
	for k := range l.seat.free {
		c.setFree(l, k, 0)
	}
	l.seat.closed = closed
	c.where.opened++
	c.refill(l)
}

// refill resets what is free on a launcher to its offer.
func (c *Capacity) refill(l *Launcher) {
	for k := range l.seat.free {
		c.setFree(l, k, 0)
	}
	for _, f := range l.seat.kept {
		c.kinds[c.kind(f.Kind)].withheld -= f.Count
	}
	l.seat.kept = nil
	free := l.Offer.Free
	l.seat.memory, l.seat.countable = l.Offer.Memory, l.Offer.Resources
	switch {
	case l.seat.closed:
		free, l.seat.memory, l.seat.countable = l.Offer.ForResume, l.Offer.ForResumeMemory, l.Offer.ForResumeResources
	case l.seat.withheld:
		l.seat.kept = free
	}
	for _, f := range free {
		if k := c.kind(f.Kind); l.seat.kept != nil {
			c.kinds[k].withheld += f.Count
		} else {
			c.setFree(l, k, f.Count)
		}
	}
	c.forgetMisses()
}

// kind returns a kind's number. Numbers depend on the order of first appearance, and no decision
// depends on them.
func (c *Capacity) kind(k scheduler.SlotKind) int {
	n, ok := c.number(k)
	if !ok {
		if c.numbers == nil {
			c.numbers = map[scheduler.SlotKind]int{}
		}
		n = len(c.kinds)
		c.numbers[k] = n
		c.kinds = append(c.kinds, kindFree{name: k})
		c.where.addKind()
	}
	return n
}

// number returns the number of a kind that has one. Most calls ask for the kind of the call before.
func (c *Capacity) number(k scheduler.SlotKind) (n int, ok bool) {
	if c.last < len(c.kinds) && c.kinds[c.last].name == k {
		return c.last, true
	}
	if n, ok = c.numbers[k]; ok {
		c.last = n
	}
	return n, ok
}

func (c *Capacity) forgetMisses() {
	for i := range c.kinds {
		c.kinds[i].miss = miss{}
	}
}

// setFree is the only function that changes a launcher's free slots.
func (c *Capacity) setFree(l *Launcher, kind, n int) {
	s := &l.seat
	for len(s.free) <= kind {
		s.free = append(s.free, 0)
	}
	old := s.free[kind]
	s.free[kind] = n
	if s.closed { // new attempts can't use it
		c.kinds[kind].forResume += n - old
		return
	}
	c.kinds[kind].total += n - old
	if old != n {
		c.where.changed(s.place, kind, old, n)
	}
}

// Withhold sets whether a launcher's slots are excluded from all searches for room. A job still
// finds what is reserved for it. The setting lasts over rounds until it is changed, so an idle
// withheld launcher costs nothing. A launcher that joins is not withheld. Withhold undoes what was
// taken tentatively on all launchers: call it first.
func (c *Capacity) Withhold(l *Launcher, withheld bool) {
	if l.seat.withheld == withheld {
		return
	}
	c.Undo(0)
	l.seat.withheld = withheld
	c.refill(l)
}

// Withheld returns how many slots of a kind are free on withheld launchers and not reserved.
func (c *Capacity) Withheld(kind scheduler.SlotKind) int {
	if n, ok := c.number(kind); ok {
		return c.kinds[n].withheld
	}
	return 0
}

// FreeForResume returns how many slots of a kind are free on launchers that are draining or
// excluded, less what is taken tentatively. Only attempts that are suspended there may use them
// (TakeForResume).
func (c *Capacity) FreeForResume(kind scheduler.SlotKind) int {
	if n, ok := c.number(kind); ok {
		return c.kinds[n].forResume
	}
	return 0
}

// FreeSlots returns how many slots of a kind are free and not reserved on all launchers that are
// not withheld, less what is taken tentatively.
func (c *Capacity) FreeSlots(kind scheduler.SlotKind) int {
	if n, ok := c.number(kind); ok {
		return c.kinds[n].total
	}
	return 0
}

// OpenSlots returns how many slots of each kind the launchers have, free or not, that are not
// closed. View.LaunchersChanged tells when it may have changed.
func (c *Capacity) OpenSlots() map[scheduler.SlotKind]int {
	slots := map[scheduler.SlotKind]int{}
	for _, l := range c.where.launchers() {
		for _, s := range l.Slots {
			if !l.Closed() {
				slots[s.Kind] += s.Count
			}
		}
	}
	return slots
}

// WithRoom walks, in order of id, the launchers that had a free slot of a kind when the walk began.
func (c *Capacity) WithRoom(kind scheduler.SlotKind) iter.Seq[*Launcher] {
	return func(yield func(*Launcher) bool) {
		if c.FreeSlots(kind) != 0 {
			c.where.with(c.kind(kind))(yield)
		}
	}
}

// Room returns the free slots of a kind and the free memory on a launcher for any bundle of a job.
// Reservations for the job are included. Those for one bundle are not (see RoomFor). What is taken
// is subtracted. Job 0 means no job: what is free and not reserved.
func (c *Capacity) Room(l *Launcher, job scheduler.JobID, kind scheduler.SlotKind) (slots int, memory int64) {
	return c.room(l, job, 0, kind)
}

// RoomFor is Room for one bundle, and includes what is reserved for it alone.
func (c *Capacity) RoomFor(l *Launcher, b *Bundle, kind scheduler.SlotKind) (slots int, memory int64) {
	return c.room(l, b.Job.ID(), b.ID, kind)
}

func (c *Capacity) room(l *Launcher, job scheduler.JobID, b scheduler.BundleID, kind scheduler.SlotKind) (slots int, memory int64) {
	slots, memory = c.unreserved(l, kind)
	for i := range l.seat.reserved {
		if r := &l.seat.reserved[i]; drawable(r, job, b) {
			memory += r.Memory
			if r.Kind == kind {
				slots += r.Slots
			}
		}
	}
	return slots, memory
}

// RoomResources returns the free countable resources on a launcher for a bundle, with what is reserved
// for it or its job, less what is taken. A nil bundle stands for none: what is free and not reserved.
func (c *Capacity) RoomResources(l *Launcher, b *Bundle) scheduler.Resources {
	if b == nil {
		return c.countable(l, 0, 0)
	}
	return c.countable(l, b.Job.ID(), b.ID)
}

func (c *Capacity) countable(l *Launcher, job scheduler.JobID, b scheduler.BundleID) (sum scheduler.Resources) {
	if !l.seat.closed {
		sum = l.seat.countable
	}
	for i := range l.seat.reserved {
		if r := &l.seat.reserved[i]; drawable(r, job, b) {
			sum = sum.Plus(r.Resources)
		}
	}
	return sum
}

// fits reports whether a launcher has room for a group of a bundle. Job 0 and bundle 0 mean none.
func (c *Capacity) fits(l *Launcher, job scheduler.JobID, b scheduler.BundleID, g *scheduler.Group) bool {
	slots, memory := c.room(l, job, b, g.Kind)
	return slots >= g.Slots && memory >= g.Memory && (g.Resources.IsZero() || c.countable(l, job, b).Covers(g.Resources))
}

// unreserved returns what is free on a launcher, neither reserved nor taken.
func (c *Capacity) unreserved(l *Launcher, kind scheduler.SlotKind) (slots int, memory int64) {
	if l.seat.closed {
		return 0, 0
	}
	return c.left(l, kind)
}

// left is unreserved, and includes what only attempts suspended there may use.
func (c *Capacity) left(l *Launcher, kind scheduler.SlotKind) (slots int, memory int64) {
	if k, ok := c.numbers[kind]; ok && k < len(l.seat.free) {
		slots = l.seat.free[k]
	}
	return slots, l.seat.memory
}

// TakeRoom takes what a group needs on a launcher from what is free, and returns false if there is too
// little.
func (c *Capacity) TakeRoom(l *Launcher, g *scheduler.Group) bool {
	slots, memory := c.unreserved(l, g.Kind)
	if slots < g.Slots || memory < g.Memory || l.seat.closed && !g.Resources.IsZero() || !l.seat.countable.Covers(g.Resources) {
		return false
	}
	c.take(l, 0, 0, g)
	return true
}

// TakeFor takes what a group of a bundle needs on a launcher. It draws on the reservations for the
// bundle first, then on those for its job. It returns false if there is too little, or the job's user
// is at the limit.
func (c *Capacity) TakeFor(l *Launcher, b *Bundle, g *scheduler.Group) bool {
	if !c.fits(l, b.Job.ID(), b.ID, g) || b.Job.user != nil && !b.Job.user.allows(g.Usage()) {
		return false
	}
	c.takeGroup(l, b, g)
	return true
}

// takeGroup takes what a group of a bundle needs, for which there is room.
func (c *Capacity) takeGroup(l *Launcher, b *Bundle, g *scheduler.Group) {
	c.takeForUser(b.Job.user, g.Usage())
	c.take(l, b.Job.ID(), b.ID, g)
}

// takeForResume takes what a suspended group of a bundle needs on a launcher to resume: its slots,
// memory for what it has in swap, and the resources that its suspension freed. It draws on reservations for the bundle first, and returns
// false if there is too little.
func (c *Capacity) takeForResume(l *Launcher, b scheduler.BundleID, g *scheduler.Group) bool {
	parked := l.seat.parked
	need := scheduler.Group{
		Kind: g.Kind, Slots: g.Slots,
		Memory:    scheduler.InSwap(parked, l.Swap) - scheduler.InSwap(parked-g.Memory, l.Swap),
		Resources: g.Resources.FreedBySuspension(l.SuspensionFrees),
	}
	slots, memory := c.room(l, 0, b, g.Kind)
	countable := c.countable(l, 0, b)
	if l.seat.closed { // a closed launcher has no reservations
		slots, memory = c.left(l, g.Kind)
		countable = l.seat.countable
	}
	if slots < need.Slots || memory < need.Memory || !countable.Covers(need.Resources) {
		return false
	}
	c.take(l, 0, b, &need)
	l.seat.parked -= g.Memory
	return true
}

func (c *Capacity) take(l *Launcher, job scheduler.JobID, b scheduler.BundleID, g *scheduler.Group) {
	kind := c.note(l, g.Kind)
	slots, memory, countable := g.Slots, g.Memory, g.Resources
	if len(l.seat.reserved) > 0 {
		l.seat.reserved, slots, memory, countable = drawn(l.seat.reserved, job, b, g)
	}
	l.seat.memory -= memory
	l.seat.countable = l.seat.countable.Minus(countable)
	c.setFree(l, kind, l.seat.free[kind]-slots)
}

// release adds to a launcher's tentatively free capacity what a group there would free: a running
// group that is suspended or ends, or a suspended one that ends.
func (c *Capacity) release(l *Launcher, g *scheduler.Group, suspended, suspend bool) {
	freed, parked := scheduler.Group{Kind: g.Kind, Slots: g.Slots, Memory: g.Memory, Resources: g.Resources}, l.seat.parked
	switch {
	case suspended:
		freed.Slots, parked = 0, parked-g.Memory
		freed.Resources = g.Resources.Minus(g.Resources.FreedBySuspension(l.SuspensionFrees))
	case suspend:
		freed.Memory, parked = 0, parked+g.Memory
		freed.Resources = g.Resources.FreedBySuspension(l.SuspensionFrees)
	}
	freed.Memory += scheduler.InSwap(parked, l.Swap) - scheduler.InSwap(l.seat.parked, l.Swap)
	c.AddRoom(l, &freed)
	l.seat.parked = parked
	if suspend && !suspended {
		l.seat.going = going{l.seat.going.n + 1, l.seat.going.memory + g.Memory}
	}
}

// countSuspending counts a group that would be suspended, and frees nothing.
func (c *Capacity) countSuspending(l *Launcher, g *scheduler.Group) {
	c.note(l, g.Kind)
	l.seat.going = going{l.seat.going.n + 1, l.seat.going.memory + g.Memory}
}

// maySuspend reports whether n more attempts, with so much memory, may be suspended on a launcher.
func (c *Capacity) maySuspend(l *Launcher, n int, memory int64, most scheduler.Limits) bool {
	g := l.seat.going
	return most.MaySuspend(n+g.n+l.Offer.Suspended, memory+g.memory+l.Offer.Held, l.Memory, l.Swap)
}

// AddRoom adds the slots, memory and resources of a group to what is tentatively free on a launcher.
// For preempted attempts use Release.
func (c *Capacity) AddRoom(l *Launcher, g *scheduler.Group) {
	k := c.note(l, g.Kind)
	l.seat.memory += g.Memory
	l.seat.countable = l.seat.countable.Plus(g.Resources)
	c.setFree(l, k, l.seat.free[k]+g.Slots)
	c.forgetMisses()
}

// note saves a launcher's state in the journal and returns the kind's number.
func (c *Capacity) note(l *Launcher, kind scheduler.SlotKind) int {
	k, s := c.kind(kind), &l.seat
	for len(s.free) <= k {
		s.free = append(s.free, 0)
	}
	c.journal = append(c.journal, change{l, k, s.free[k], s.memory, s.parked, s.going, s.reserved, s.countable})
	return k
}

// Mark returns a point for Undo.
func (c *Capacity) Mark() int { return len(c.journal) }

// Undo undoes every Take, AddRoom, Release and Fit since the mark.
func (c *Capacity) Undo(mark int) {
	j := c.journal
	for _, x := range slices.Backward(j[mark:]) {
		s := &x.launcher.seat
		s.memory, s.parked, s.going, s.reserved, s.countable = x.memory, x.parked, x.going, x.reserved, x.countable
		c.setFree(x.launcher, x.kind, x.free)
	}
	if len(j) > mark {
		c.forgetMisses()
	}
	c.undoUsers(mark)
	clear(j[mark:])
	c.journal = j[:mark]
}

// Reserved reports whether anything is reserved for a job, or for one bundle of it.
func (c *Capacity) Reserved(job scheduler.JobID) bool { return len(c.reserved[job]) > 0 }

// AnyReserved reports whether anything is reserved for any job.
func (c *Capacity) AnyReserved() bool { return len(c.reserved) > 0 }

// ReservedOn returns the launchers with reservations for a job, or for one bundle of it, in order
// of id, as of the last Apply.
func (c *Capacity) ReservedOn(job scheduler.JobID) []*Launcher { return c.reserved[job] }

// ReservedSlots returns how many slots of a kind are reserved on all launchers for a job, less what
// is taken tentatively. All of them count, whichever of the job's bundles may use them.
func (c *Capacity) ReservedSlots(job scheduler.JobID, kind scheduler.SlotKind) (slots int) {
	for _, l := range c.reserved[job] {
		for i := range l.seat.reserved {
			if r := &l.seat.reserved[i]; r.Job == job && r.Kind == kind {
				slots += r.Slots
			}
		}
	}
	return slots
}
