package view

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/hamadryad/hamadryad/internal/idmap"
	"github.com/hamadryad/hamadryad/internal/prefetch"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Launcher is a launcher that is joined, draining or not.
type Launcher struct {
	ID scheduler.LauncherID
	// Offer is the last one, without tentative changes.
	Offer scheduler.Offer
	Slots []scheduler.SlotCount // in order of kind

	// Launches and ends of attempts access the fields up to launcherHot.
	attempts []*Attempt // live, in order of id
	seat     seat       // kept by capacity
	lost     bool       // left, while attempts of it have still to end
	// aheadPlace is one more than its index in View.aheadRoom; 0: it is not there.
	aheadPlace int

	Draining bool
	Excluded bool // the manager excludes it for a while
	Name     string
	Host     string
	Rack     string
	Memory   int64 // bytes in total
	Swap     int64 // bytes in total, for memory of suspended attempts
	// NoSuspend says that the launcher can't suspend attempts.
	NoSuspend bool
	// Resources are all countable resources. SuspensionFrees are the kinds of them that suspension
	// of an attempt frees, in order.
	Resources       scheduler.Resources
	SuspensionFrees []scheduler.ResourceKind
	// CPULoad and MemoryLoad are the machine's load, 0 to 1, as last reported by
	// scheduler.LauncherLoad. They are LoadUnknown before the first report, and always without
	// AbilityLoad.
	CPULoad, MemoryLoad float64
}

const launcherHot = unsafe.Offsetof(Launcher{}.Name)

// Attempts returns the live attempts on the launcher in order of id.
func (l *Launcher) Attempts() []*Attempt { return l.attempts }

// LoadKnown reports whether the machine's load is known.
func (l *Launcher) LoadKnown() bool {
	return l.CPULoad != scheduler.LoadUnknown || l.MemoryLoad != scheduler.LoadUnknown
}

// Total returns how many slots of a kind the launcher has, free or not.
func (l *Launcher) Total(kind scheduler.SlotKind) int { return countOf(l.Slots, kind) }

// Closed reports whether no new attempt may start on the launcher for now: it is draining, or the
// manager excludes it.
func (l *Launcher) Closed() bool { return l.Draining || l.Excluded }

func countOf(counts []scheduler.SlotCount, kind scheduler.SlotKind) int {
	for _, c := range counts {
		if c.Kind == kind {
			return c.Count
		}
	}
	return 0
}

func (l *Launcher) forgetLoad() {
	l.CPULoad, l.MemoryLoad = scheduler.LoadUnknown, scheduler.LoadUnknown
}

// prefetch touches the memory that launches and ends access.
func (l *Launcher) prefetch() byte { return prefetch.First(l, launcherHot) }

// prefetchMore touches the memory behind that.
func (l *Launcher) prefetchMore() byte {
	if l == nil {
		return 0
	}
	return prefetch.At(l.attempts, 0) + l.seat.prefetch() + prefetch.At(l.Slots, 0)
}

// launchers holds the joined launchers, and lost launchers whose attempts have still to end. No
// launcher is in both. A launcher does not join again before all its earlier attempts have ended.
type launchers struct {
	byID idmap.Map[scheduler.LauncherID, Launcher]
	list []*Launcher // those of byID, in order of id
	gone map[scheduler.LauncherID]*Launcher
}

// Launchers returns the launchers in order of id.
func (ls *launchers) Launchers() []*Launcher { return ls.list }

// Launcher returns a launcher, or nil.
func (ls *launchers) Launcher(id scheduler.LauncherID) *Launcher { return ls.byID.Get(id) }

// ForgetLoads sets all loads to unknown, as in the view of a policy that starts. It is for a policy
// that drops AbilityLoad by its new settings.
func (ls *launchers) ForgetLoads() {
	for _, l := range ls.list {
		l.forgetLoad()
	}
}

func (ls *launchers) joined(e scheduler.LauncherJoined) error {
	if ls.byID.Get(e.Launcher) != nil {
		return fmt.Errorf("launcher %d (%s) is there already", e.Launcher, e.Name)
	}
	if old := ls.gone[e.Launcher]; old != nil {
		return fmt.Errorf("launcher %d (%s) joins before attempt %d of its earlier life ended", e.Launcher, e.Name, old.attempts[0].ID)
	}
	for _, s := range e.Slots {
		if s.Count < 0 {
			return fmt.Errorf("launcher %d has %d slots of kind %s", e.Launcher, s.Count, s.Kind)
		}
	}
	l := &Launcher{
		ID: e.Launcher, Name: e.Name, Host: e.Host, Rack: e.Rack, Slots: slices.Clone(e.Slots), Memory: e.Memory, Swap: e.Swap, NoSuspend: e.NoSuspend,
		Offer: scheduler.Offer{Launcher: e.Launcher}, Resources: e.Resources, SuspensionFrees: e.SuspensionFrees,
	}
	l.forgetLoad()
	slices.SortFunc(l.Slots, byKind)
	ls.byID.Set(l.ID, l)
	ls.list = insert(ls.list, l, launcherID)
	return nil
}

// lost removes a launcher and returns it.
func (ls *launchers) lost(e scheduler.LauncherLost) (*Launcher, error) {
	l := ls.byID.Get(e.Launcher)
	if l == nil {
		return nil, fmt.Errorf("launcher %d is lost and was not there", e.Launcher)
	}
	l.lost = true
	ls.byID.Delete(l.ID)
	ls.list = remove(ls.list, l.ID, launcherID)
	if len(l.attempts) > 0 {
		if ls.gone == nil {
			ls.gone = map[scheduler.LauncherID]*Launcher{}
		}
		ls.gone[l.ID] = l
	}
	return l, nil
}

func (ls *launchers) draining(e scheduler.LauncherDraining) error {
	l := ls.byID.Get(e.Launcher)
	if l == nil {
		return fmt.Errorf("launcher %d drains and is not there", e.Launcher)
	}
	l.Draining = e.Draining
	return nil
}

func (ls *launchers) excluded(e scheduler.LauncherExcluded) error {
	l := ls.byID.Get(e.Launcher)
	if l == nil {
		return fmt.Errorf("launcher %d is excluded and is not there", e.Launcher)
	}
	l.Excluded = e.Excluded
	return nil
}

func (ls *launchers) load(e scheduler.LauncherLoad) error {
	l := ls.byID.Get(e.Launcher)
	if l == nil {
		return fmt.Errorf("launcher %d tells its load and is not there", e.Launcher)
	}
	l.CPULoad, l.MemoryLoad = e.CPU, e.Memory
	return nil
}

// enter adds an attempt to the launcher that it names, and returns that; nil if it is not joined.
func (ls *launchers) enter(a *Attempt) *Launcher {
	l := ls.byID.Get(a.Launcher)
	if l != nil {
		l.attempts = insert(l.attempts, a, attemptID)
	}
	return l
}

// leave removes an attempt from its launcher, joined or lost.
func (ls *launchers) leave(a *Attempt, l *Launcher) {
	i := slices.Index(l.attempts, a)
	l.attempts = slices.Delete(l.attempts, i, i+1)
	if len(l.attempts) == 0 && len(ls.gone) > 0 && ls.gone[l.ID] == l {
		delete(ls.gone, l.ID)
	}
}
