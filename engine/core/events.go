package core

import (
	"slices"

	"github.com/hamadryad/hamadryad/internal/sorted"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

func (c *Core) readyEvent(b *bundle) scheduler.BundleReady {
	return scheduler.BundleReady{At: b.since, Job: b.job.id, Bundle: b.id, Groups: c.groupsFor(b, true), Avoid: c.avoidOf(b)}
}

// groupsFor is what the policy learns of a bundle's groups; the places of their
// input only where they still matter.
func (c *Core) groupsFor(b *bundle, places bool) []scheduler.Group {
	groups := make([]scheduler.Group, b.Width())
	for i := range groups {
		d := b.Demand(i)
		groups[i] = scheduler.Group{Stage: scheduler.StageID(b.stageOf(i)), Kind: d.Kind, Slots: d.Slots, Memory: d.Memory}
		if places {
			groups[i].InputBytes, groups[i].Places = b.job.inputs.Size(b.nodes(i), hosts{c}, b.job)
		}
	}
	return groups
}

// avoidOf lists the launchers that are refused for a bundle, ascending.
func (c *Core) avoidOf(b *bundle) []scheduler.LauncherID {
	if len(b.avoid) == 0 && len(b.job.avoid) == 0 {
		return nil
	}
	list := slices.Clone(b.job.avoid)
	for _, id := range b.avoid {
		list = sorted.Add(list, id)
	}
	return list
}

// protect keeps a bundle from preemptions for a while, and tells of it.
func (c *Core) protect(b *bundle) {
	b.protected = c.step.Now.Add(c.step.Set.ProtectFor)
	c.emit(b, c.protectedEvent(b))
}

func (c *Core) protectedEvent(b *bundle) scheduler.BundleProtected {
	return scheduler.BundleProtected{At: c.step.Now, Job: b.job.id, Bundle: b.id, Until: b.protected}
}

func (c *Core) twiceEvent(b *bundle) scheduler.SpeculationOffered {
	avoid := slices.Clone(c.avoidOf(b))
	for _, r := range b.runs {
		for _, a := range r.attempts {
			avoid = sorted.Add(avoid, a.launcher.ID)
		}
	}
	return scheduler.SpeculationOffered{At: b.twice, Job: b.job.id, Bundle: b.id, Groups: c.groupsFor(b, true), Avoid: avoid}
}
