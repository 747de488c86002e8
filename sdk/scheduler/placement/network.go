package placement

import "github.com/hamadryad/hamadryad/sdk/scheduler"

// Costs is what it costs to move one byte, by the locality at which it is read.
type Costs [scheduler.LocalityLevels]int64

// DefaultCosts count a byte read on its own host as free, one that crosses a
// rack's switch once, and one that leaves its rack twice.
func DefaultCosts() Costs { return Costs{0, 1, 2} }

// Options are the settings of a Network. The zero value means the defaults.
type Options struct {
	// Costs must not be negative, not fall from a level to the next and be at
	// most CostMax; all zero means DefaultCosts.
	Costs Costs
	// NeighbourBytes is the bytes that each group of a bundle of several groups is
	// taken to exchange with the others over tcp. It draws them
	// near each other. 0, the default, leaves that out, as Hammr did.
	NeighbourBytes int64
}

// Launcher is a launcher with what it has free.
type Launcher struct {
	ID     scheduler.LauncherID
	Host   string // matched against scheduler.Place.Host
	Rack   string // "" when unknown
	Free   []scheduler.SlotCount
	Memory int64 // bytes free
}

// Bundle is a ready bundle that wants a place.
type Bundle struct {
	ID     scheduler.BundleID
	Groups []scheduler.Group      // all of them; at least one
	Avoid  []scheduler.LauncherID // launchers it must not go to
	// Unscheduled is the cost of leaving one group of the bundle out, in the same units as
	// bytes times Costs. 0, the default, means more than any placement costs. A
	// smaller one lets a group wait for a nearer launcher.
	Unscheduled int64
}

// Placement is where a bundle goes: Launchers[i] takes its i-th group.
type Placement struct {
	Bundle    scheduler.BundleID
	Launchers []scheduler.LauncherID
	Cost      int64 // bytes to move, weighted by Costs
}

// Result is what Solve found.
type Result struct {
	Placed []Placement // ascending by bundle
	// Cost is that of all placements; the cost of what stays unscheduled is not in it.
	Cost int64
}

// Network is the bundles that want a place and the launchers with room.
type Network struct {
	options Options
}

// Contract, being filled in:
//
//	New(Options) (*Network, error)          refuses bad Options
//	(*Network) SetLauncher(Launcher) error  adds one, or replaces what was told of it; tell full ones too
//	(*Network) RemoveLauncher(scheduler.LauncherID)
//	(*Network) SetBundle(Bundle) error      adds one, or replaces what was told of it
//	(*Network) RemoveBundle(scheduler.BundleID)
//	(*Network) Launched(Placement)          removes the bundle, and what it takes from its launchers
//	(*Network) Solve(limit int) Result      at most limit groups; 0 is no limit
//	(*Network) Forget()                     the next Solve depends on the content alone
