package placement_test

import (
	"fmt"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/locality/placement"
)

// Two groups have their input on host a, which has one slot free. The one that
// would cost more to move elsewhere gets it.
func Example() {
	n, err := placement.New(placement.Options{})
	if err != nil {
		panic(err)
	}
	one := []scheduler.SlotCount{{Kind: scheduler.DefaultKind, Count: 1}}
	for i, host := range []string{"a", "b"} {
		if err := n.SetLauncher(placement.Launcher{ID: scheduler.LauncherID(i + 1), Host: host, Free: one}); err != nil {
			panic(err)
		}
	}
	for i, size := range []int64{10, 100} {
		g := scheduler.Group{Kind: scheduler.DefaultKind, Slots: 1, InputBytes: size, Places: []scheduler.Place{{Host: "a", Bytes: size}}}
		if err := n.SetBundle(placement.Bundle{ID: scheduler.BundleID(i + 1), Groups: []scheduler.Group{g}}); err != nil {
			panic(err)
		}
	}
	for _, p := range n.Solve(0).Placed {
		fmt.Printf("%v goes to launcher %d at cost %d\n", p.Bundle, p.Launchers[0], p.Cost)
	}
	// Output:
	// bundle-1 goes to launcher 2 at cost 20
	// bundle-2 goes to launcher 1 at cost 0
}
