package view

import (
	"fmt"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Each calls a Hadoop-style assignment, which assigns bundles to one launcher at a time. It calls
// assign for every launcher with something free or reserved, in order of id, and repeats this until
// a whole pass assigns nothing. An assignment of one bundle a call so spreads its work as
// heartbeats would. assign takes capacity with FitOn, Fit or Take, and makes its results with
// Launch. It is an error to return a bundle that is not launchable, or the same bundle twice.
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
