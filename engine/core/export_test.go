package core

import (
	"github.com/hamadryad/hamadryad/engine/core/course"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// WantTwice has a running bundle launched a second time, as if it straggled, and says
// whether it may be. Which bundles straggle is measured; for the conformance kit's
// games that is decided elsewhere.
func (c *Core) WantTwice(id scheduler.BundleID) bool {
	b := c.rooms.Life.Bundles.Get(id)
	if b == nil || len(b.Runs()) == 0 || b.Runs()[0].Attempts[0].Phase() != course.Running || !b.Runs()[0].Attempts[0].MayBeDoubled() {
		return false
	}
	c.rooms.Attempts.WantTwice(b)
	return true
}
