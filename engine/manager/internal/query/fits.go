package query

import (
	"context"
	"fmt"
	"slices"

	"github.com/hamadryad/hamadryad/engine/core/changes"
	"github.com/hamadryad/hamadryad/internal/packing"
)

// room checks whether launchers have room for a bundle now.
type room struct {
	// byKind finds quickly whether one launcher has so many slots of one kind and memory.
	byKind map[string][]roomFor
	// For bundles of several groups, which may need several launchers, and for countable resources.
	kinds map[string]int // index in the bins' slots
	bins  []packing.Bin
	known map[string]bool // by needs: whether a bundle fits
	steps int             // steps left for searches
}

// Bounds of the searches of one check of all waiting jobs. A bundle beyond them counts as one that
// does not fit.
const (
	searchStepsMax = 20_000  // of one bundle
	lookStepsMax   = 300_000 // of all bundles: some ten milliseconds
)

// roomFor is the most free memory of a launcher, among those with so many slots.
type roomFor struct {
	slots  int
	memory int64
}

// newRoom gathers what launchers have free.
func newRoom(launchers []*changes.Launcher) *room {
	r := &room{byKind: map[string][]roomFor{}, kinds: map[string]int{}, known: map[string]bool{}, steps: lookStepsMax}
	for _, l := range launchers {
		for _, s := range l.Free {
			if _, known := r.kinds[s.Kind]; !known {
				r.kinds[s.Kind] = len(r.kinds)
			}
			if s.Count > 0 {
				r.byKind[s.Kind] = append(r.byKind[s.Kind], roomFor{s.Count, l.MemoryFree})
			}
		}
	}
	for _, l := range launchers {
		b := packing.Bin{Slots: make([]int, len(r.kinds)), Memory: l.MemoryFree, Resources: l.ResourcesFree}
		for _, s := range l.Free {
			b.Slots[r.kinds[s.Kind]] = s.Count
		}
		r.bins = append(r.bins, b)
	}
	for kind, list := range r.byKind {
		slices.SortFunc(list, func(a, b roomFor) int { return a.slots - b.slots })
		for i := len(list) - 2; i >= 0; i-- {
			list[i].memory = max(list[i].memory, list[i+1].memory)
		}
		r.byKind[kind] = list
	}
	return r
}

// fits reports whether launchers have room for a job's longest waiting bundle.
func (r *room) fits(w *changes.Waits) bool {
	if len(w.Groups) > 0 {
		return r.fitsTogether(w.Groups)
	}
	if len(w.Needs) != 1 {
		return false
	}
	if !w.Resources.IsZero() {
		n := w.Needs[0]
		return r.fitsTogether([]changes.GroupNeed{{Kind: n.Kind, Slots: n.Count, Memory: w.Memory, Resources: w.Resources, Count: 1}})
	}
	list := r.byKind[w.Needs[0].Kind]
	i, _ := slices.BinarySearchFunc(list, w.Needs[0].Count, func(x roomFor, n int) int { return x.slots - n })
	return i < len(list) && list[i].memory >= w.Memory
}

// fitsTogether reports whether launchers have room for all groups of a bundle at once. Jobs of the
// same program need the same, so the search runs once for all.
func (r *room) fitsTogether(groups []changes.GroupNeed) bool {
	key := fmt.Sprint(groups)
	fits, known := r.known[key]
	if known {
		return fits
	}
	var items []packing.Item
	for _, g := range groups {
		kind, is := r.kinds[g.Kind]
		if !is {
			r.known[key] = false
			return false
		}
		items = append(items, packing.Item{Kind: kind, Slots: g.Slots, Memory: g.Memory, Resources: g.Resources, Count: g.Count})
	}
	if least := len(items) * len(r.bins); least <= r.steps {
		a := packing.Search(items, r.bins, min(least+searchStepsMax, r.steps))
		fits, r.steps = a.Fits, r.steps-a.Steps
	}
	r.known[key] = fits
	return fits
}

// Fitting counts the jobs with a bundle that is ready and does not run: those whose longest waiting
// bundle fits on launchers now, and all others. The error is that of ctx.
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
