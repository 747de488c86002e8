package shares

import (
	"slices"
	"strings"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/shares/pooltree"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// World is what is counted of launchers and kinds of slot.
type World struct {
	Kinds []scheduler.SlotKind // by number; none is ever taken out
	Order []pooltree.Kind      // all of them, in order of name: in which kinds are served
	Total []int                // slots by kind, of launchers that are open
	// Reserved are the jobs for which something is reserved.
	Reserved map[scheduler.JobID]bool
	// Places counts the changes of where launchers are that are open.
	Places int

	number map[scheduler.SlotKind]pooltree.Kind // the index in Kinds

	launchers map[scheduler.LauncherID]present
	hosts     map[string]int // launchers that are open, by host and by rack
	racks     map[string]int
}

// present is a launcher that is there.
type present struct {
	joined             scheduler.LauncherJoined
	draining, excluded bool
}

// open says whether something may start there.
func (l present) open() bool { return !l.draining && !l.excluded }

func newWorld() World {
	return World{
		number: map[scheduler.SlotKind]pooltree.Kind{}, launchers: map[scheduler.LauncherID]present{},
		hosts: map[string]int{}, racks: map[string]int{}, Reserved: map[scheduler.JobID]bool{},
	}
}

// Start counts the launchers of a view, and knows some kinds from the beginning.
func (w *World) Start(v *view.View, kinds []scheduler.SlotKind) {
	*w = newWorld()
	for _, k := range kinds {
		w.Kind(k)
	}
	for _, l := range v.Launchers() {
		w.Event(scheduler.LauncherJoined{Launcher: l.ID, Host: l.Host, Rack: l.Rack, Slots: l.Slots})
		w.Event(scheduler.LauncherDraining{Launcher: l.ID, Draining: l.Draining})
		w.Event(scheduler.LauncherExcluded{Launcher: l.ID, Excluded: l.Excluded})
		for _, r := range l.Offer.Reserved {
			w.Reserved[r.Job] = true
		}
	}
}

// Kind returns the number of a kind. Numbers depend on what was heard of first and
// decide nothing.
func (w *World) Kind(name scheduler.SlotKind) pooltree.Kind {
	k, ok := w.number[name]
	if !ok {
		k = pooltree.Kind(len(w.Kinds))
		w.number[name] = k
		w.Kinds = append(w.Kinds, name)
		w.Total = append(w.Total, 0)
		i, _ := slices.BinarySearchFunc(w.Order, name, func(k pooltree.Kind, name string) int {
			if w.Kinds[k] < name {
				return -1
			}
			return 1
		})
		w.Order = slices.Insert(w.Order, i, k)
	}
	return k
}

// CompareKinds orders kinds by name.
func (w *World) CompareKinds(a, b pooltree.Kind) int { return strings.Compare(w.Kinds[a], w.Kinds[b]) }

// Event takes in what happened to a launcher; other events are none of its business.
func (w *World) Event(e scheduler.Event) {
	switch e := e.(type) {
	case scheduler.LauncherJoined:
		w.launchers[e.Launcher] = present{joined: e}
		w.count(e, 1)
	case scheduler.LauncherLost:
		if l := w.launchers[e.Launcher]; l.open() {
			w.count(l.joined, -1)
		}
		delete(w.launchers, e.Launcher)
	case scheduler.LauncherDraining:
		l := w.launchers[e.Launcher]
		l.draining = e.Draining
		w.change(e.Launcher, l)
	case scheduler.LauncherExcluded:
		l := w.launchers[e.Launcher]
		l.excluded = e.Excluded
		w.change(e.Launcher, l)
	}
}

// change puts a launcher in its own place, which may have opened or closed it.
func (w *World) change(id scheduler.LauncherID, now present) {
	was := w.launchers[id]
	w.launchers[id] = now
	switch {
	case was.open() && !now.open():
		w.count(now.joined, -1)
	case !was.open() && now.open():
		w.count(now.joined, 1)
	}
}

func (w *World) count(l scheduler.LauncherJoined, n int) {
	w.Places++
	for _, s := range l.Slots {
		w.Total[w.Kind(s.Kind)] += n * s.Count
	}
	add(w.hosts, l.Host, n)
	if l.Rack != "" {
		add(w.racks, l.Rack, n)
	}
}

func add(m map[string]int, key string, n int) {
	if m[key] += n; m[key] == 0 {
		delete(m, key)
	}
}

// Offers notes for whom something is reserved.
func (w *World) Offers(v *view.View, changed []scheduler.Offer) {
	for i := range changed {
		for _, r := range changed[i].Reserved {
			w.Reserved[r.Job] = true
		}
	}
	for j := range w.Reserved {
		if !v.Reserved(j) {
			delete(w.Reserved, j)
		}
	}
}

// Nearest returns how near to a group's input any launcher could run it: Remote
// when its input lies nowhere, or where nobody is.
func (w *World) Nearest(g *scheduler.Group) scheduler.Locality {
	near := scheduler.Remote
	for i := range g.Places {
		if w.hosts[g.Places[i].Host] > 0 {
			return scheduler.NodeLocal
		}
		if r := g.Places[i].Rack; r != "" && w.racks[r] > 0 {
			near = scheduler.RackLocal
		}
	}
	return near
}
