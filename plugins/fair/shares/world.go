package shares

import (
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/shares/pooltree"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// World counts launchers and slots by kind.
type World struct {
	Kinds []scheduler.SlotKind // by number; none is ever taken out
	Order []pooltree.Kind      // all of them, in order of name: in which kinds are served
	Total []int                // slots by kind, of launchers that are open
	// Reserved are the jobs for which something is reserved.
	Reserved map[scheduler.JobID]bool
	// Places counts how often launchers were counted: in between, open launchers stay where they are.
	Places int

	number map[scheduler.SlotKind]pooltree.Kind // the index in Kinds

	hosts, racks map[string]bool // of launchers that are open
}

// Start counts the launchers of a view, and knows some kinds from the beginning.
func (w *World) Start(v *view.View, kinds []scheduler.SlotKind) {
	*w = World{
		number: map[scheduler.SlotKind]pooltree.Kind{}, hosts: map[string]bool{}, racks: map[string]bool{}, Reserved: map[scheduler.JobID]bool{},
	}
	for _, k := range kinds {
		w.Kind(k)
	}
	w.CountLaunchers(v)
	for _, l := range v.Launchers() {
		for _, r := range l.Offer.Reserved {
			w.Reserved[r.Job] = true
		}
	}
}

// CountLaunchers recounts launchers and their slots, after one came, went, opened or closed.
func (w *World) CountLaunchers(v *view.View) {
	w.Places++
	clear(w.hosts)
	clear(w.racks)
	for _, l := range v.Launchers() {
		for _, s := range l.Slots {
			w.Kind(s.Kind)
		}
		if !l.Closed() {
			w.hosts[l.Host], w.racks[l.Rack] = true, true
		}
	}
	slots := v.Capacity.OpenSlots()
	for k, name := range w.Kinds {
		w.Total[k] = slots[name]
	}
}

// Kind returns the number of a kind. Numbers depend on the order of discovery and decide
// nothing.
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

// Offers notes the jobs for which something is reserved.
func (w *World) Offers(v *view.View, changed []scheduler.Offer) {
	for i := range changed {
		for _, r := range changed[i].Reserved {
			w.Reserved[r.Job] = true
		}
	}
	for j := range w.Reserved {
		if !v.Capacity.Reserved(j) {
			delete(w.Reserved, j)
		}
	}
}

// Nearest returns how near to a group's input any launcher could run it: Remote
// when its input lies nowhere, or where nobody is.
func (w *World) Nearest(g *scheduler.Group) scheduler.Locality {
	near := scheduler.Remote
	for i := range g.Places {
		if w.hosts[g.Places[i].Host] {
			return scheduler.NodeLocal
		}
		if r := g.Places[i].Rack; r != "" && w.racks[r] {
			near = scheduler.RackLocal
		}
	}
	return near
}
