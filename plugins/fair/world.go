package fair

import (
	"slices"
	"strings"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/shares/pooltree"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// world is what the policy counts of launchers and kinds of slot.
type world struct {
	kinds  []scheduler.SlotKind // by number
	number map[scheduler.SlotKind]pooltree.Kind
	order  []pooltree.Kind // in order of name: in which kinds are served
	total  []int           // slots by kind, of launchers that are not draining

	launchers map[scheduler.LauncherID]present
	hosts     map[string]int // launchers that are not draining, by host and by rack
	racks     map[string]int
	reserved  map[scheduler.JobID]bool // jobs for which something may be reserved
}

// present is a launcher that is there.
type present struct {
	joined   scheduler.LauncherJoined
	draining bool
}

func newWorld() world {
	return world{
		number: map[scheduler.SlotKind]pooltree.Kind{}, launchers: map[scheduler.LauncherID]present{},
		hosts: map[string]int{}, racks: map[string]int{}, reserved: map[scheduler.JobID]bool{},
	}
}

// start counts the launchers of a view.
func (w *world) start(v *view.View, kinds []scheduler.SlotKind) {
	*w = newWorld()
	for _, k := range kinds {
		w.kind(k)
	}
	for _, l := range v.Launchers() {
		w.event(scheduler.LauncherJoined{Launcher: l.ID, Host: l.Host, Rack: l.Rack, Slots: l.Slots})
		if l.Draining {
			w.event(scheduler.LauncherDraining{Launcher: l.ID, Draining: true})
		}
		for _, r := range l.Offer.Reserved {
			w.reserved[r.Job] = true
		}
	}
}

// kind returns the number of a kind. Numbers depend on what was heard of first and
// decide nothing.
func (w *world) kind(name scheduler.SlotKind) pooltree.Kind {
	k, ok := w.number[name]
	if !ok {
		k = pooltree.Kind(len(w.kinds))
		w.number[name] = k
		w.kinds = append(w.kinds, name)
		w.total = append(w.total, 0)
		i, _ := slices.BinarySearchFunc(w.order, name, func(k pooltree.Kind, name string) int {
			if w.kinds[k] < name {
				return -1
			}
			return 1
		})
		w.order = slices.Insert(w.order, i, k)
	}
	return k
}

func (w *world) compareKinds(a, b pooltree.Kind) int { return strings.Compare(w.kinds[a], w.kinds[b]) }

func (w *world) event(e scheduler.Event) {
	switch e := e.(type) {
	case scheduler.LauncherJoined:
		w.launchers[e.Launcher] = present{joined: e}
		w.count(e, 1)
	case scheduler.LauncherLost:
		l := w.launchers[e.Launcher]
		if !l.draining {
			w.count(l.joined, -1)
		}
		delete(w.launchers, e.Launcher)
	case scheduler.LauncherDraining:
		l := w.launchers[e.Launcher]
		if l.draining == e.Draining {
			return
		}
		l.draining = e.Draining
		w.launchers[e.Launcher] = l
		if e.Draining {
			w.count(l.joined, -1)
		} else {
			w.count(l.joined, 1)
		}
	}
}

func (w *world) count(l scheduler.LauncherJoined, n int) {
	for _, s := range l.Slots {
		w.total[w.kind(s.Kind)] += n * s.Count
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

// offers notes for whom something is reserved.
func (w *world) offers(v *view.View, changed []scheduler.Offer) {
	for i := range changed {
		for _, r := range changed[i].Reserved {
			w.reserved[r.Job] = true
		}
	}
	for j := range w.reserved {
		if !v.Reserved(j) {
			delete(w.reserved, j)
		}
	}
}

// nearest returns how near to a group's input any launcher could run it: Remote
// when its input lies nowhere, or where nobody is.
func (w *world) nearest(g *scheduler.Group) scheduler.Locality {
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
