package core

import (
	"github.com/hamadryad/hamadryad/engine/core/internal/resources"
	"github.com/hamadryad/hamadryad/engine/core/internal/state/phase"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// What is here is for tests and simulations that have something happen which the core finds out by
// measurements. It is in no log: a core that is restored did not see it.

// Snapshot returns what a policy of a name in the configuration would be told if it started now.
func (c *Core) Snapshot(policy string) scheduler.Snapshot {
	return c.outbound.Events.SnapshotNow(policy)
}

// SetExcluded has the site exclude a launcher that is up, or not any more, as if several jobs had. The
// next step tells the policy.
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

// OfferSpeculation offers a running bundle for a second attempt, as if it straggled, or a suspended
// one, as if it were that for long. It says whether that may be. The next step tells the policy.
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
