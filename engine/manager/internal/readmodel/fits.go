package readmodel

import (
	"context"
	"slices"

	"github.com/hamadryad/hamadryad/engine/core/changes"
)

// room tells quickly whether a launcher has room for a number of slots of one kind and for memory: for each kind and
// number of slots the most memory that a launcher has free which has so many.
type room map[string][]roomFor

// roomFor is the memory of the launcher that has most, of those with so many slots.
type roomFor struct {
	slots  int
	memory int64
}

// newRoom gathers what launchers have free.
func newRoom(launchers []*changes.Launcher) room {
	r := room{}
	for _, l := range launchers {
		for _, s := range l.Free {
			if s.Count > 0 {
				r[s.Kind] = append(r[s.Kind], roomFor{s.Count, l.MemoryFree})
			}
		}
	}
	for kind, list := range r {
		slices.SortFunc(list, func(a, b roomFor) int { return a.slots - b.slots })
		for i := len(list) - 2; i >= 0; i-- {
			list[i].memory = max(list[i].memory, list[i+1].memory)
		}
		r[kind] = list
	}
	return r
}

// fits says whether one launcher has room for the bundle of a job that waits longest. One that needs slots of several
// kinds, or several launchers, is not looked at further: it does not fit.
func (r room) fits(w *changes.Waits) bool {
	if len(w.Needs) != 1 {
		return false
	}
	list := r[w.Needs[0].Kind]
	i, _ := slices.BinarySearchFunc(list, w.Needs[0].Count, func(x roomFor, n int) int { return x.slots - n })
	return i < len(list) && list[i].memory >= w.Memory
}

// Fitting counts the jobs of which a bundle is ready and does not run: those for whose bundle that waits longest one
// launcher has room now, and all others. The error is that of ctx.
func (m *Model) Fitting(ctx context.Context) (fit, others int, err error) {
	err = m.read(ctx, func() {
		var launchers []*changes.Launcher
		for _, id := range m.launchers.IDs() {
			if l := m.launchers.Get(id); l.row != nil && l.row.State == usable {
				launchers = append(launchers, l.row)
			}
		}
		r := newRoom(launchers)
		for _, id := range m.live.IDs() {
			switch w := &m.live.Get(id).row.Waits; {
			case w.Ready == 0:
			case r.fits(w):
				fit++
			default:
				others++
			}
		}
	})
	return fit, others, err
}
