package view

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Launcher is a launcher that is there, draining or not.
type Launcher struct {
	ID scheduler.LauncherID
	// Offer is the last one; what is taken tentatively is not off it.
	Offer scheduler.Offer
	Slots []scheduler.SlotCount // in order of kind

	// What launches and ends touch lies together, up to launcherHot.
	attempts []*Attempt
	free     []int                   // by kind's number, tentatively
	index    int                     // place in View.list
	memory   int64                   // free, tentatively
	reserved []scheduler.Reservation // tentatively; replaced, never changed in place
	aside    bool                    // see SetAside

	Draining bool
	Name     string
	Host     string
	Rack     string
	Memory   int64 // bytes, in all
	// CPULoad and MemoryLoad are how busy the machine is, 0 to 1, as
	// scheduler.LauncherLoad told last; LoadUnknown until it does, and without
	// AbilityLoad always.
	CPULoad, MemoryLoad float64

	kept []scheduler.SlotCount // the last offer's free slots, when it is aside
}

const launcherHot = unsafe.Offsetof(Launcher{}.Name)

// Attempts returns the live attempts on the launcher in order of id.
func (l *Launcher) Attempts() []*Attempt { return l.attempts }

// LoadKnown reports whether anything is known of the machine's load.
func (l *Launcher) LoadKnown() bool {
	return l.CPULoad != scheduler.LoadUnknown || l.MemoryLoad != scheduler.LoadUnknown
}

// Total returns how many slots of a kind the launcher has, taken or not.
func (l *Launcher) Total(kind scheduler.SlotKind) int { return countOf(l.Slots, kind) }

func countOf(counts []scheduler.SlotCount, kind scheduler.SlotKind) int {
	for _, c := range counts {
		if c.Kind == kind {
			return c.Count
		}
	}
	return 0
}

// Launchers returns the launchers in order of id.
func (v *View) Launchers() []*Launcher { return v.list }

// Launcher returns a launcher, or nil.
func (v *View) Launcher(id scheduler.LauncherID) *Launcher { return v.launchers.Get(id) }

func (v *View) joined(e scheduler.LauncherJoined) error {
	if v.launchers.Get(e.Launcher) != nil {
		return fmt.Errorf("launcher %d (%s) is there already", e.Launcher, e.Name)
	}
	if old := v.gone[e.Launcher]; old != nil {
		return fmt.Errorf("launcher %d (%s) joins before attempt %d of its earlier life ended", e.Launcher, e.Name, old.attempts[0].ID)
	}
	for _, s := range e.Slots {
		if s.Count < 0 {
			return fmt.Errorf("launcher %d has %d slots of kind %s", e.Launcher, s.Count, s.Kind)
		}
	}
	l := &Launcher{
		ID: e.Launcher, Name: e.Name, Host: e.Host, Rack: e.Rack, Slots: slices.Clone(e.Slots), Memory: e.Memory,
		CPULoad: scheduler.LoadUnknown, MemoryLoad: scheduler.LoadUnknown,
		Offer: scheduler.Offer{Launcher: e.Launcher},
	}
	slices.SortFunc(l.Slots, byKind)
	v.launchers.Set(l.ID, l)
	v.list = insert(v.list, l, launcherID)
	v.capacity.stale = true
	return nil
}

func (v *View) lost(e scheduler.LauncherLost) error {
	l := v.launchers.Get(e.Launcher)
	if l == nil {
		return fmt.Errorf("launcher %d is lost and was not there", e.Launcher)
	}
	v.setOffer(l, &scheduler.Offer{Launcher: l.ID})
	v.launchers.Delete(l.ID)
	v.list = remove(v.list, l.ID, launcherID)
	if len(l.attempts) > 0 {
		v.gone[l.ID] = l
	}
	v.capacity.stale = true
	return nil
}

func (v *View) draining(e scheduler.LauncherDraining) error {
	l := v.launchers.Get(e.Launcher)
	if l == nil {
		return fmt.Errorf("launcher %d drains and is not there", e.Launcher)
	}
	l.Draining = e.Draining
	return nil
}

func (v *View) load(e scheduler.LauncherLoad) error {
	l := v.launchers.Get(e.Launcher)
	if l == nil {
		return fmt.Errorf("launcher %d tells its load and is not there", e.Launcher)
	}
	l.CPULoad, l.MemoryLoad = e.CPU, e.Memory
	return nil
}

// ForgetLoads makes all loads unknown, as they are in the view of a policy that starts:
// for one whose new settings do without AbilityLoad, and that is told no more.
func (v *View) ForgetLoads() {
	for _, l := range v.list {
		l.CPULoad, l.MemoryLoad = scheduler.LoadUnknown, scheduler.LoadUnknown
	}
}

func (v *View) offer(o *scheduler.Offer) error {
	l := v.launchers.Get(o.Launcher)
	if l == nil {
		if len(o.Free) == 0 && len(o.Reserved) == 0 {
			return nil // the empty offer of a launcher that was lost
		}
		return fmt.Errorf("launcher %d offers slots and is not there", o.Launcher)
	}
	for _, f := range o.Free {
		if f.Count < 0 || f.Count > l.Total(f.Kind) {
			return fmt.Errorf("launcher %d offers %d slots of kind %s and has %d", o.Launcher, f.Count, f.Kind, l.Total(f.Kind))
		}
	}
	v.setOffer(l, o)
	return nil
}

func (v *View) setOffer(l *Launcher, o *scheduler.Offer) {
	c := &v.capacity
	for _, r := range l.Offer.Reserved {
		c.reserved[r.Job] = remove(c.reserved[r.Job], l.ID, launcherID)
		if len(c.reserved[r.Job]) == 0 {
			delete(c.reserved, r.Job)
		}
	}
	l.Offer, l.memory, l.reserved = *o, o.Memory, o.Reserved
	for _, r := range o.Reserved {
		if c.reserved == nil {
			c.reserved = map[scheduler.JobID][]*Launcher{}
		}
		c.reserved[r.Job] = insert(remove(c.reserved[r.Job], l.ID, launcherID), l, launcherID)
	}
	v.refill(l)
}

// refill sets what is free on a launcher to what it offers.
func (v *View) refill(l *Launcher) {
	c := &v.capacity
	for k := range l.free {
		v.setFree(l, k, 0)
	}
	for _, f := range l.kept {
		c.kinds[c.kind(f.Kind)].aside -= f.Count
	}
	l.kept = nil
	if l.aside {
		l.kept = l.Offer.Free
	}
	for _, f := range l.Offer.Free {
		if k := c.kind(f.Kind); l.aside {
			c.kinds[k].aside += f.Count
		} else {
			v.setFree(l, k, f.Count)
		}
	}
	c.forgetMisses()
}

// SetAside says whether a launcher's slots are left out of all that finds room, but
// for what is reserved for the job in question. It holds until it is said again, over
// rounds too, so that a launcher that is to get nothing for a while costs nothing
// meanwhile. One that joins is not aside. What was taken tentatively is given back, on
// all launchers: say it before.
func (v *View) SetAside(l *Launcher, aside bool) {
	if l.aside == aside {
		return
	}
	v.undoAll()
	l.aside = aside
	v.refill(l)
}

// Aside returns how many slots of a kind are free on launchers that are aside, and
// reserved for nobody.
func (v *View) Aside(kind scheduler.SlotKind) int {
	if n, ok := v.capacity.numbers[kind]; ok {
		return v.capacity.kinds[n].aside
	}
	return 0
}
