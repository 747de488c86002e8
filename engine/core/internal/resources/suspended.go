package resources

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hamadryad/hamadryad/internal/packing"
	"github.com/hamadryad/hamadryad/internal/sortedset"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// TooLarge is the reason why the whole cluster, if it were empty, can't hold a bundle.
type TooLarge struct {
	Needs     []Need              // the one that is short; else all needs of the bundle at once
	Launchers int                 // launchers that are up
	Total     Slots               // of the kinds that it needs
	Memory    int64               // of all launchers
	Resources scheduler.Resources // of all launchers, of the kinds that it needs
	Others    []string            // slot kinds of launchers that it does not need, in order; at most othersMax
}

// othersMax bounds the kinds of slots that TooLarge names.
const othersMax = 8

// Need is a number of equal groups of a bundle.
type Need struct {
	Request
	Groups int
	Fit    int // for how many there is room, if there is no other need
}

// String describes the needs and the resources.
func (t *TooLarge) String() string {
	var parts, have []string
	for i := range t.Needs {
		n := &t.Needs[i]
		parts = append(parts, fmt.Sprintf("%d groups of %s", n.Groups, n.Request))
	}
	for _, k := range t.Total {
		have = append(have, fmt.Sprintf("%d %s slots", k.Count, k.Kind))
	}
	n := &t.Needs[0]
	switch {
	case len(t.Needs) == 1 && t.Total.Of(n.Kind) == 0 && len(t.Others) > 0:
		return fmt.Sprintf("a bundle needs %s at once, and no launcher has slots of that kind: there are %s; name one of these (--slots STAGE=KIND, or Kind in the program)", parts[0], strings.Join(t.Others, " and "))
	case len(t.Needs) == 1 && t.lackingResource() != "":
		return fmt.Sprintf("a bundle needs %s at once, and no launcher has the resource %s: declare it on a launcher (launcher.resources), or ask for none (--resources)", parts[0], t.lackingResource())
	case len(t.Needs) == 1:
		return fmt.Sprintf("a bundle needs %s at once, and all %d launchers, were they empty, have room for %d (%s%s)", parts[0], t.Launchers, n.Fit, have[0], beside(t.Resources, n.Resources))
	}
	return fmt.Sprintf("a bundle needs %s at once, and all %d launchers, were they empty, have no room for all of them together (%s and %s of memory)",
		strings.Join(parts, " and "), t.Launchers, strings.Join(have, ", "), Size(t.Memory))
}

// searchMax bounds the steps of the search for places of a bundle with different requests. Beyond
// it, a misfit is not proved, and the bundle waits.
const searchMax = 20_000

// FitsCluster returns nil if all launchers that are up, if they were empty, could hold a bundle, or
// if that is not sure; else what is short. looks is how many launchers it may have examined: it
// ends at the first that suffice, and charges the same wherever these stand.
//
// Equal groups are counted. Groups with different requests are placed together, by an exact search
// up to a bound.
func (ls *Launchers) FitsCluster(b Bundle) (short *TooLarge, looks int) {
	needs := needsOf(b)
	for i := range needs {
		n := &needs[i]
		looks += ls.index.Len()
		if ls.countFits(n) < n.Groups {
			return ls.tooLarge(needs[i : i+1]), looks
		}
	}
	if len(needs) == 1 {
		return nil, looks
	}
	looks += len(needs) * ls.index.Len()
	if ls.fitTogether(needs) {
		return nil, looks
	}
	items, bins := ls.packed(needs)
	a := packing.Search(items, bins, len(items)*len(bins)+searchMax)
	looks += a.Steps
	if a.Fits || !a.Sure {
		return nil, looks
	}
	return ls.tooLarge(needs), looks
}

// needsOf lists the different needs of a bundle's groups, with the number of groups.
func needsOf(b Bundle) (needs []Need) {
	for i := range b.Width() {
		d := b.Request(i)
		at := slices.IndexFunc(needs, func(n Need) bool { return n.Request == d })
		if at < 0 {
			at = len(needs)
			needs = append(needs, Need{Request: d})
		}
		needs[at].Groups++
	}
	return needs
}

// countFits counts how many equal groups fit, up to their number.
func (ls *Launchers) countFits(n *Need) int {
	n.Fit = 0
	for _, id := range ls.index.IDs() {
		if l := ls.index.Get(id); l.Up {
			n.Fit += l.holdsOf(n.Request)
		}
		if n.Fit >= n.Groups {
			break
		}
	}
	return n.Fit
}

// fitTogether places groups on the first launchers with room, the largest first: that suffices for
// most bundles.
func (ls *Launchers) fitTogether(needs []Need) bool {
	order := slices.Clone(needs)
	slices.SortStableFunc(order, func(x, y Need) int {
		return cmp.Or(cmp.Compare(y.Memory, x.Memory), cmp.Compare(y.Slots, x.Slots))
	})
	rooms := map[scheduler.LauncherID]*room{}
	for _, n := range order {
		for _, id := range ls.index.IDs() {
			l := ls.index.Get(id)
			if n.Groups == 0 {
				break
			}
			if !l.Up || l.holdsOf(n.Request) == 0 {
				continue
			}
			if rooms[id] == nil {
				rooms[id] = l.emptyRoom()
			}
			for n.Groups > 0 && rooms[id].take(n.Request) {
				n.Groups--
			}
		}
		if n.Groups > 0 {
			return false
		}
	}
	return true
}

// packed converts needs and the launchers that are up for a search.
func (ls *Launchers) packed(needs []Need) (items []packing.Item, bins []packing.Bin) {
	var kinds []string
	for i := range needs {
		n := &needs[i]
		kind := slices.Index(kinds, n.Kind)
		if kind < 0 {
			kind = len(kinds)
			kinds = append(kinds, n.Kind)
		}
		items = append(items, packing.Item{Kind: kind, Slots: n.Slots, Memory: n.Memory, Resources: n.Resources, Count: n.Groups})
	}
	for _, id := range ls.index.IDs() {
		l := ls.index.Get(id)
		if !l.Up {
			continue
		}
		b := packing.Bin{Memory: l.memory, Resources: l.resources}
		for _, kind := range kinds {
			b.Slots = append(b.Slots, l.slots.Of(kind))
		}
		bins = append(bins, b)
	}
	return items, bins
}

func (ls *Launchers) tooLarge(needs []Need) *TooLarge {
	t := &TooLarge{Needs: needs, Launchers: ls.up}
	for i := range needs {
		t.Total.Add(needs[i].Kind, 0)
	}
	for _, id := range ls.index.IDs() {
		l := ls.index.Get(id)
		if !l.Up {
			continue
		}
		t.Memory += l.memory
		t.addResources(l.resources)
		for i := range t.Total {
			t.Total[i].Count += l.slots.Of(t.Total[i].Kind)
		}
		t.addOthers(l.slots)
	}
	return t
}

// addResources adds what a launcher has of the kinds that are needed.
func (t *TooLarge) addResources(has scheduler.Resources) {
	for i := range t.Needs {
		for _, c := range t.Needs[i].Resources.Counts() {
			if !slices.ContainsFunc(t.Needs[:i], func(n Need) bool { return n.Resources.Of(c.Kind) > 0 }) {
				t.Resources = t.Resources.Plus(scheduler.NewResources(scheduler.ResourceCount{Kind: c.Kind, Count: has.Of(c.Kind)}))
			}
		}
	}
}

// lackingResource returns a kind of resource that a need names and no launcher has; "": none.
func (t *TooLarge) lackingResource() scheduler.ResourceKind {
	for _, c := range t.Needs[0].Resources.Counts() {
		if t.Resources.Of(c.Kind) == 0 {
			return c.Kind
		}
	}
	return ""
}

// addOthers records a launcher's slot kinds that are not needed.
func (t *TooLarge) addOthers(slots Slots) {
	for _, s := range slots {
		needed := slices.ContainsFunc(t.Needs, func(n Need) bool { return n.Kind == s.Kind })
		if s.Count == 0 || needed || len(t.Others) == othersMax {
			continue
		}
		t.Others = sortedset.Add(t.Others, s.Kind)
	}
}

// SlotsMax bounds the slots of one kind of a launcher.
const SlotsMax = 1 << 20

// holdsOf is the number of groups with a request that the launcher could hold, if it were empty.
func (l *Launcher) holdsOf(d Request) int {
	n := l.slots.Of(d.Kind) / d.Slots
	if d.Memory > 0 {
		n = min(n, int(min(l.memory/d.Memory, SlotsMax)))
	}
	for _, c := range d.Resources.Counts() {
		n = min(n, l.resources.Of(c.Kind)/c.Count)
	}
	return n
}
