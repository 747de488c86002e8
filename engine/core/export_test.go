package core

import (
	"github.com/hamadryad/hamadryad/engine/core/internal/resources"
	"github.com/hamadryad/hamadryad/engine/core/internal/state/phase"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Blame has the site avoid a launcher, or not any more, as if several jobs had.
func (c *Core) Blame(id scheduler.LauncherID, blamed bool) {
	l := c.rooms.Life.Launchers.Get(id)
	if !l.Up {
		return
	}
	changed := false
	if blamed {
		changed = c.rooms.Capacity.Blame(&l.Launcher, resources.Vote{Job: 1}, 0, resources.BlameLimits{SharePercent: 1000})
	} else {
		changed = c.rooms.Capacity.Forgive(id, c.rooms.Step.Now)
	}
	if changed {
		c.rooms.Events.Blamed(l)
	}
}

// WantTwice has a running bundle launched a second time, as if it straggled, or a suspended one,
// as if it were that for long, and says whether it may be. Which those are is measured; for the
// conformance kit's games that is decided elsewhere.
func (c *Core) WantTwice(id scheduler.BundleID) bool {
	b := c.rooms.Life.Bundles.Get(id)
	if b == nil || len(b.Runs()) == 0 {
		return false
	}
	if a := b.Runs()[0].Attempts[0]; a.Phase() != phase.Running && !a.Waits() || !a.MayBeDoubled() {
		return false
	}
	c.rooms.Attempts.WantTwice(b)
	return true
}

// RunsOn is the name of the launcher of an attempt that lives; "" when it does not.
func (c *Core) RunsOn(id scheduler.AttemptID) string {
	if a := c.rooms.Life.Attempts.Get(id); a != nil {
		return a.Launcher.Name
	}
	return ""
}
