package core

import (
	"fmt"
	"strings"

	"github.com/hamadryad/hamadryad/engine/core/capacity"
	"github.com/hamadryad/hamadryad/engine/core/step"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// findShapes lists the distinct demands of a job's bundles.
func (j *job) findShapes() {
	seen := map[string]bool{}
	for i := range j.bundles {
		if key := j.bundles[i].shapeKey(); !seen[key] {
			seen[key] = true
			j.shapes = append(j.shapes, shape{i, key})
		}
	}
}

func (b *bundle) shapeKey() string {
	var s strings.Builder
	for i := range b.Width() {
		d := b.Demand(i)
		fmt.Fprintf(&s, "%s %d %d;", d.Kind, d.Slots, d.Memory)
	}
	return s.String()
}

// checkPlaceable looks, after launchers came or went, which jobs can't be placed.
// Jobs share shapes, so that each is held against the cluster once.
func (c *Core) checkPlaceable() {
	fits := map[string]bool{}
	for j := range c.jobs.All() {
		if j.phase != jobAsked {
			c.checkPlaceableOf(j, fits)
		}
	}
}

func (c *Core) checkPlaceableOf(j *job, fits map[string]bool) {
	why := ""
	for _, s := range j.shapes {
		if c.capacity.Up() == 0 || fits[s.key] { // an empty cluster is not too small yet
			continue
		}
		if why = c.tooLarge(&j.bundles[s.bundle]); why != "" {
			break
		}
		fits[s.key] = true
	}
	j.whyNot = why
	switch {
	case why == "":
		j.unplaceable = 0
	case j.unplaceable == 0:
		j.unplaceable = c.step.Now
		c.step.After(c.step.Set.UnplaceableAfter, step.TimerUnplaceable, uint64(j.id))
	}
}

func (c *Core) unplaceableTooLong(id scheduler.JobID) {
	j := c.jobs.Get(id)
	if j == nil || j.unplaceable == 0 || j.phase != jobRunning || c.step.Now.Sub(j.unplaceable) < c.step.Set.UnplaceableAfter {
		return
	}
	c.endJob(j, scheduler.JobFailed, step.Invalid(j.whyNot+": ask for less, or add launchers, then submit again"))
}

// tooLarge says why the whole cluster, were it empty, could not hold a bundle;
// "" when it could, or when that is not sure.
func (c *Core) tooLarge(b *bundle) string {
	short, looks := c.capacity.Holds(b)
	c.step.Charge(looks / placesAtOnce)
	if short == nil {
		return ""
	}
	return fmt.Sprintf("stage %q: a bundle needs %d groups of %d %s slots and %s of memory at once, and all %d launchers, were they empty, have room for %d (%d %s slots)",
		b.job.stages[b.stageOf(0)].Name(), short.Groups, short.Slots, short.Kind, capacity.Size(short.Memory), c.capacity.Up(), short.Fit, short.Total, short.Kind)
}

// placesAtOnce is how many looks at launchers count for one in Settings.StepWork.
const placesAtOnce = 10
