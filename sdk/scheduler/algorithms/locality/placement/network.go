package placement

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// CostMax is the most that one byte may cost.
const CostMax = 1000

// slotsMax bounds slots of a launcher or group, so that sums fit.
const slotsMax = 1 << 20

// Costs is what it costs to move one byte, by the locality at which it is read.
type Costs [scheduler.LocalityLevels]int64

// DefaultCosts counts a byte read on its own host as free, in its rack as 1 (one switch crossed),
// and beyond as 2.
func DefaultCosts() Costs { return Costs{0, 1, 2} }

// Check returns the error in costs, or nil. All 0 is valid.
func (c Costs) Check() error {
	for i, x := range c {
		if x < 0 || x > CostMax || i > 0 && x < c[i-1] {
			return fmt.Errorf("costs %v: each must be between 0 and %d and not less than that of the nearer level", c, CostMax)
		}
	}
	return nil
}

// Options are the settings of a Network. The zero value means the defaults.
type Options struct {
	// Costs must not be negative, not decrease from one level to the next, and be at most CostMax.
	// All zero means DefaultCosts.
	Costs Costs
	// NeighbourBytes is the number of bytes that each group of a bundle of several groups is
	// assumed to exchange with the others over tcp. It draws them near each other. 0, the default,
	// turns that off, as in Hammr.
	NeighbourBytes int64
	// StepsMax bounds how many edges a Solve examines: some ten million take a second. A Solve
	// that needs more gives up (Result.Over). 0, the default, is no bound.
	StepsMax int
}

// Launcher is a launcher with its free slots and memory.
type Launcher struct {
	ID     scheduler.LauncherID
	Host   string // matched against scheduler.Place.Host
	Rack   string // "" when unknown
	Free   []scheduler.SlotCount
	Memory int64 // bytes free
	// Resources are the countable resources that are free.
	Resources scheduler.Resources
}

// Bundle is a ready bundle to be placed.
type Bundle struct {
	ID     scheduler.BundleID
	Groups []scheduler.Group      // all of them; at least one
	Avoid  []scheduler.LauncherID // launchers that must not run it
	// Unscheduled is the cost of leaving one group of the bundle out, in the same units as bytes
	// times Costs. 0, the default, means more than any placement costs. With a smaller cost a group
	// may wait for a nearer launcher.
	Unscheduled int64
	// Levels is how many levels of locality are open to groups with input somewhere, the nearest
	// first. 0, the default, is all of them.
	Levels int
	// Class is the class of a bundle of one group: see SetClass. 0, the default, is none.
	Class int
}

// Placement is where a bundle goes: Launchers[i] takes its i-th group.
type Placement struct {
	Bundle    scheduler.BundleID
	Launchers []scheduler.LauncherID
	Cost      int64 // bytes to move, weighted by Costs
}

// Result is the result of Solve.
type Result struct {
	Placed []Placement // ascending by bundle
	Groups int         // the number of groups placed
	// Cost is the cost of all placements, without that of unscheduled groups.
	Cost int64
	// Over says that Solve gave up after Options.StepsMax. Then nothing is placed.
	Over bool
}

// Network is the bundles to be placed and the launchers with room. Use New.
type Network struct {
	options   Options
	launchers []*launcher // in order of id
	bundles   []*bundle   // in order of id

	places *topology // of the launchers; nil: to be rebuilt
	t      *topology // the same; nil: the flows are to be rebuilt
	search *searching
	needs  []*need   // in the order in which they are placed
	gangs  []*bundle // the bundles with several groups, in order of id
	groups int       // of all bundles
	// classes is how many bundles of each class may be placed.
	classes map[int]int
	free    map[scheduler.SlotKind][]int32
	memory  []int64
	// resources are free, by launcher.
	resources []scheduler.Resources
}

type launcher struct {
	Launcher
}

type bundle struct {
	Bundle
	seats  []seat           // of its groups; nil while the flows lack it
	anchor *scheduler.Place // the place that attracts its groups
	first  bool             // it costs more to leave out than any other
}

// seat is a group's place in a flow.
type seat struct {
	need  *need
	group int32
}

// New returns an empty network, or the error in the options.
func New(o Options) (*Network, error) {
	if o.Costs == (Costs{}) {
		o.Costs = DefaultCosts()
	}
	if err := o.Costs.Check(); err != nil {
		return nil, err
	}
	if o.NeighbourBytes < 0 {
		return nil, fmt.Errorf("neighbour bytes %d: must not be negative; 0 leaves neighbours out of account", o.NeighbourBytes)
	}
	return &Network{options: o}, nil
}

// SetLauncher adds a launcher, or replaces its data. Add full launchers too: a launcher that is
// new, or moved, makes the next Solve start from nothing. An error changes nothing.
func (n *Network) SetLauncher(l Launcher) error {
	if l.ID == 0 {
		return errors.New("launcher 0: ids start at 1")
	}
	if l.Memory < 0 {
		return fmt.Errorf("launcher %d has %d bytes free: must not be negative", l.ID, l.Memory)
	}
	for i, s := range l.Free {
		if s.Count < 0 || s.Count > slotsMax {
			return fmt.Errorf("launcher %d has %d slots of kind %q free: must be between 0 and %d", l.ID, s.Count, s.Kind, slotsMax)
		}
		for _, other := range l.Free[:i] {
			if other.Kind == s.Kind {
				return fmt.Errorf("launcher %d lists slots of kind %q twice", l.ID, s.Kind)
			}
		}
	}
	l.Free = slices.Clone(l.Free)
	i, found := slices.BinarySearchFunc(n.launchers, l.ID, launcherOrder)
	switch {
	case !found:
		n.launchers = slices.Insert(n.launchers, i, &launcher{l})
		n.places, n.t = nil, nil
	case n.launchers[i].Host != l.Host || n.launchers[i].Rack != l.Rack:
		n.places, n.t = nil, nil
		fallthrough
	default:
		n.launchers[i].Launcher = l
	}
	return nil
}

// RemoveLauncher removes a launcher; an unknown launcher is no error.
func (n *Network) RemoveLauncher(id scheduler.LauncherID) {
	if i, found := slices.BinarySearchFunc(n.launchers, id, launcherOrder); found {
		n.launchers = slices.Delete(n.launchers, i, i+1)
		n.places, n.t = nil, nil
	}
}

// SetBundle adds a bundle, or replaces its data. The groups are kept, not copied: they must not
// change. An error changes nothing.
func (n *Network) SetBundle(b Bundle) error {
	if err := valid(b); err != nil {
		return err
	}
	n.RemoveBundle(b.ID)
	i, _ := slices.BinarySearchFunc(n.bundles, b.ID, bundleOrder)
	in := &bundle{Bundle: b}
	n.bundles = slices.Insert(n.bundles, i, in)
	n.groups += len(b.Groups)
	if len(b.Groups) > 1 {
		i, _ := slices.BinarySearchFunc(n.gangs, b.ID, bundleOrder)
		n.gangs = slices.Insert(n.gangs, i, in)
	}
	if n.t != nil {
		n.enter(in)
	}
	return nil
}

// SetClass says that Solve places at most so many bundles of a class: those that lower the total
// cost most. They must all need the same. A bundle of one group has its class in Bundle.Class. Call
// SetClass before the bundles are added. While there are classes, each Solve starts from nothing.
func (n *Network) SetClass(class, most int) {
	if n.classes == nil {
		n.classes = map[int]int{}
	}
	n.classes[class] = most
	n.t = nil
}

func valid(b Bundle) error {
	if len(b.Groups) == 0 {
		return fmt.Errorf("%v has no groups", b.ID)
	}
	if b.Unscheduled < 0 || b.Unscheduled > unscheduledCost {
		return fmt.Errorf("%v: cost %d of staying unscheduled must be between 0 and %d", b.ID, b.Unscheduled, unscheduledCost)
	}
	if len(b.Groups) > 1 && b.Class != 0 || b.Levels < 0 || b.Class < 0 {
		return fmt.Errorf("%v: levels and class must not be negative, and a class is of bundles of one group", b.ID)
	}
	for i, g := range b.Groups {
		if g.Slots < 1 || g.Slots > slotsMax || g.Memory < 0 || g.InputBytes < 0 {
			return fmt.Errorf("%v, group %d: %d slots, %d bytes of memory, %d bytes of input: slots must be between 1 and %d, bytes not negative",
				b.ID, i, g.Slots, g.Memory, g.InputBytes, slotsMax)
		}
		for _, p := range g.Places {
			if p.Bytes < 0 {
				return fmt.Errorf("%v, group %d: %d bytes on %s: must not be negative", b.ID, i, p.Bytes, p.Host)
			}
		}
	}
	return nil
}

// RemoveBundle removes a bundle; an unknown bundle is no error.
func (n *Network) RemoveBundle(id scheduler.BundleID) {
	i, found := slices.BinarySearchFunc(n.bundles, id, bundleOrder)
	if !found {
		return
	}
	b := n.bundles[i]
	n.exit(b)
	n.bundles = slices.Delete(n.bundles, i, i+1)
	n.groups -= len(b.Groups)
	if i, found := slices.BinarySearchFunc(n.gangs, id, bundleOrder); found {
		n.gangs = slices.Delete(n.gangs, i, i+1)
	}
}

// Launched removes a placed bundle, and subtracts what it takes from its launchers. An error
// changes nothing.
func (n *Network) Launched(p Placement) error {
	i, found := slices.BinarySearchFunc(n.bundles, p.Bundle, bundleOrder)
	if !found || len(n.bundles[i].Groups) != len(p.Launchers) {
		return fmt.Errorf("%v with %d groups is not in the network", p.Bundle, len(p.Launchers))
	}
	took := make([]*launcher, 0, len(p.Launchers))
	undo := func() {
		for k, l := range took {
			l.give(&n.bundles[i].Groups[k], 1)
		}
	}
	for k, id := range p.Launchers {
		at, found := slices.BinarySearchFunc(n.launchers, id, launcherOrder)
		if !found || !n.launchers[at].holds(&n.bundles[i].Groups[k]) {
			undo()
			return fmt.Errorf("launcher %d has no room for group %d of %v", id, k, p.Bundle)
		}
		n.launchers[at].give(&n.bundles[i].Groups[k], -1)
		took = append(took, n.launchers[at])
	}
	n.RemoveBundle(p.Bundle)
	return nil
}

func (l *launcher) slots(kind scheduler.SlotKind) *int {
	for i := range l.Free {
		if l.Free[i].Kind == kind {
			return &l.Free[i].Count
		}
	}
	return new(int)
}

func (l *launcher) holds(g *scheduler.Group) bool {
	return *l.slots(g.Kind) >= g.Slots && l.Memory >= g.Memory && l.Resources.Covers(g.Resources)
}

func (l *launcher) give(g *scheduler.Group, sign int) {
	*l.slots(g.Kind) += sign * g.Slots
	l.Memory += int64(sign) * g.Memory
	l.Resources = l.Resources.Plus(g.Resources.Times(sign))
}

// Forget drops flow and prices, so that the next Solve depends on the content alone.
func (n *Network) Forget() { n.t = nil }

func launcherOrder(l *launcher, id scheduler.LauncherID) int { return cmp.Compare(l.ID, id) }
func bundleOrder(b *bundle, id scheduler.BundleID) int       { return cmp.Compare(b.ID, id) }
