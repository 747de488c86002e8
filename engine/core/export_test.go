package core

import (
	"github.com/hamadryad/hamadryad/engine/core/internal/resources"
	"github.com/hamadryad/hamadryad/engine/core/internal/state/phase"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// SetExcluded has the site exclude a launcher, or not any more, as if several jobs had.
func (c *Core) SetExcluded(id scheduler.LauncherID, excluded bool) {
	l := c.state.Cluster.Launchers.Get(id)
	if !l.Up {
		return
	}
	changed := false
	if excluded {
		changed = c.state.Resources.Exclusions.VoteAgainst(&l.Launcher, resources.Vote{Job: 1}, 0, resources.ExclusionLimits{SharePercent: 1000})
	} else {
		changed = c.state.Resources.Exclusions.ReadmitDue(id, c.state.Step.Now)
	}
	if changed {
		c.outbound.Events.NotifyExclusion(l)
	}
}

// OfferSpeculation has a running bundle launched a second time, as if it straggled, or a suspended one,
// as if it were that for long, and says whether it may be. Which those are is measured; for the
// conformance kit's games that is decided elsewhere.
func (c *Core) OfferSpeculation(id scheduler.BundleID) bool {
	b := c.state.Cluster.Bundles.Get(id)
	if b == nil || len(b.Attempts()) == 0 {
		return false
	}
	if a := b.Attempts()[0].Attempts[0]; a.Phase() != phase.Running && !a.WaitsForResume() || !a.MaySpeculate() {
		return false
	}
	c.lifecycle.Speculation.OfferSpeculation(b)
	return true
}

// RunsOn is the name of the launcher of an attempt that lives; "" when it does not.
func (c *Core) RunsOn(id scheduler.AttemptID) string {
	if a := c.state.Cluster.Attempts.Get(id); a != nil {
		return a.Launcher.Name
	}
	return ""
}
