package core

import (
	"github.com/hamadryad/hamadryad/engine/core/internal/resources"
	"github.com/hamadryad/hamadryad/engine/core/internal/state/phase"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// These functions are for tests and simulations. They cause events that the core otherwise
// detects by measurement. The log does not record them, so a restored core has not seen them.

// Snapshot returns the snapshot for a policy, by its name in the configuration, that would start
// now.
func (c *Core) Snapshot(policy string) scheduler.Snapshot {
	return c.outbound.Events.SnapshotNow(policy)
}

// SetExcluded makes the site exclude a launcher that is up, or readmit it, as if several jobs
// excluded it. The next step notifies the policy.
func (c *Core) SetExcluded(id scheduler.LauncherID, excluded bool) {
	l := c.state.Cluster.Launchers.Get(id)
	if l == nil || !l.Up {
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

// OfferSpeculation offers a running bundle for a speculative attempt, as if it straggled, or a
// suspended one, as if it had been suspended for long. It says whether that is allowed. The next
// step notifies the policy.
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

// SetUserLimits changes the limits of users, as a change of the site's settings does. The next step
// notifies the policy.
func (c *Core) SetUserLimits(l UserLimits) {
	c.state.Step.Set.UserLimits = l
	c.applyUserLimits()
}
