package view

import (
	"fmt"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Each calls a Hadoop-style assignment, which answers for one launcher at a time. It asks for every
// launcher with something free or reserved, in order of id, and goes round again until a whole pass
// gives nothing. An assignment that gives one bundle a call so spreads its work as heartbeats
// would. assign takes what it gives with FitOn, Fit or Take, and makes its answer with Launch. It
// is an error to give a bundle that may not be launched, or twice.
func (v *View) Each(assign func(*Launcher) []scheduler.Launch) ([]scheduler.Launch, error) {
	var all []scheduler.Launch
	given := map[scheduler.BundleID]bool{}
	for again := true; again; {
		again = false
		for _, l := range v.Launchers() {
			if !v.hasRoom(l) {
				continue
			}
			for _, d := range assign(l) {
				if b := v.Bundle(d.Bundle); b == nil || !b.Launchable() || given[d.Bundle] {
					return nil, fmt.Errorf("%v was given to launcher %d and may not be launched (again)", d.Bundle, l.ID)
				}
				given[d.Bundle] = true
				all = append(all, d)
				again = true
			}
		}
	}
	return all, nil
}
