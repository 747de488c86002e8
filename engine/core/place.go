package core

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// shape is what a bundle takes. A job has few distinct ones, however many
// bundles: those are what is held against the cluster when it changes.
type shape struct {
	bundle int // one that has it
	key    string
}

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
	for i := range b.width() {
		_, kind, slots, memory := b.demand(i)
		fmt.Fprintf(&s, "%s %d %d;", kind, slots, memory)
	}
	return s.String()
}

// checkPlaceable looks, after launchers came or went, which jobs can't be placed.
// Jobs share shapes, so that each is held against the cluster once.
func (c *Core) checkPlaceable() {
	fits := map[string]bool{}
	for j := range c.jobs.all() {
		if j.phase != jobAsked {
			c.checkPlaceableOf(j, fits)
		}
	}
}

func (c *Core) checkPlaceableOf(j *job, fits map[string]bool) {
	why := ""
	for _, s := range j.shapes {
		if c.up == 0 || fits[s.key] { // an empty cluster is not too small yet
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
		j.unplaceable = c.now
		c.after(c.set.UnplaceableAfter, timerUnplaceable, uint64(j.id))
	}
}

func (c *Core) unplaceableTooLong(id scheduler.JobID) {
	j := c.jobs.get(id)
	if j == nil || j.unplaceable == 0 || j.phase != jobRunning || c.now.Sub(j.unplaceable) < c.set.UnplaceableAfter {
		return
	}
	c.endJob(j, scheduler.JobFailed, invalid(j.whyNot+": ask for less, or add launchers, then submit again"))
}

// tooLarge says why the whole cluster, were it empty, could not hold a bundle;
// "" when it could, or when that is not sure.
func (c *Core) tooLarge(b *bundle) string {
	// Equal groups are counted exactly. Groups of several demands are each held
	// against the cluster alone: together they may still not fit, and then wait.
	type need struct {
		kind          string
		slots, groups int
		memory        int64
	}
	var needs []need
	for i := range b.width() {
		_, kind, slots, memory := b.demand(i)
		at := slices.IndexFunc(needs, func(n need) bool { return n.kind == kind && n.slots == slots && n.memory == memory })
		if at < 0 {
			at = len(needs)
			needs = append(needs, need{kind, slots, 0, memory})
		}
		needs[at].groups++
	}
	for _, n := range needs {
		c.work -= len(c.launchers.ids) / placesAtOnce
		total, fit := 0, 0
		for _, id := range c.launchers.ids {
			if l := c.launchers.get(id); l.up {
				total += l.slots.of(n.kind)
				fit += l.holdsOf(n.slots, n.kind, n.memory)
			}
		}
		if fit < n.groups {
			return c.tooLargeText(b, n.kind, n.groups, n.slots, n.memory, fit, total)
		}
	}
	return ""
}

// placesAtOnce is how many looks at launchers count for one in Settings.StepWork.
const placesAtOnce = 10

// holdsOf says how many groups of a demand the launcher could hold, were it empty.
func (l *launcher) holdsOf(slots int, kind string, memory int64) int {
	n := l.slots.of(kind) / slots
	if memory > 0 {
		n = min(n, int(min(l.memory/memory, slotsMax)))
	}
	return n
}

func (c *Core) tooLargeText(b *bundle, kind string, groups, slots int, memory int64, fit, total int) string {
	stage, _, _, _ := b.demand(0)
	return fmt.Sprintf("stage %q: a bundle needs %d groups of %d %s slots and %s of memory at once, and all %d launchers, were they empty, have room for %d (%d %s slots)",
		b.job.stages[stage].name, groups, slots, kind, sizeText(memory), c.up, fit, total, kind)
}

// waitsFor says why a job's longest ready bundle does not run; "" when nothing is
// ready.
func (c *Core) waitsFor(j *job) string {
	if j.ready.first == 0 {
		return ""
	}
	b := &j.bundles[j.ready.first-1]
	need := map[string]int{}
	var kinds []string
	for i := range b.width() {
		_, kind, slots, _ := b.demand(i)
		if need[kind] == 0 {
			kinds = append(kinds, kind)
		}
		need[kind] += slots
	}
	slices.Sort(kinds)
	var parts []string
	for _, kind := range kinds {
		free, total := 0, 0
		for _, id := range c.launchers.ids {
			if l := c.launchers.get(id); l.up {
				total += l.slots.of(kind)
				if !l.draining && !l.blamed {
					free += l.free.of(kind)
				}
			}
		}
		at := " "
		if b.width() > 1 {
			at = " at once "
		}
		parts = append(parts, fmt.Sprintf("%d %s slots%s(%d free of %d in the cluster)", need[kind], kind, at, free, total))
	}
	noun := "a group"
	if b.width() > 1 {
		noun = fmt.Sprintf("a bundle of %d groups", b.width())
	}
	return fmt.Sprintf("%d ready: %s of %s needs %s", j.ready.count, noun, j.describe(b, 0), strings.Join(parts, " and "))
}
