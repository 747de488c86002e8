package core

import "github.com/hamadryad/hamadryad/sdk/scheduler"

// WantTwice has a running bundle launched a second time, as if it straggled, and says
// whether it may be. Which bundles straggle is measured; for the conformance kit's
// games that is decided elsewhere.
func (c *Core) WantTwice(id scheduler.BundleID) bool {
	b := c.bundles.Get(id)
	if b == nil || len(b.runs) == 0 || b.runs[0].attempts[0].phase != attemptRunning || !b.runs[0].attempts[0].mayBeDoubled() {
		return false
	}
	c.wantTwice(b)
	return true
}
