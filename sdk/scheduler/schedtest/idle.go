package schedtest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedtest/cluster"
)

// idleSlots finds slots that idle although ready work fits them, in one game.
type idleSlots struct {
	since map[place]idle // as of the last answer
	found string         // the first that idled for too long, and why that is wrong
}

// place is where slots of a kind idle.
type place struct {
	launcher scheduler.LauncherID
	kind     scheduler.SlotKind
}

// idle is since when they do, and for which work.
type idle struct {
	since scheduler.Time
	last  cluster.IdleSlot
	said  scheduler.WaitReason // by the policy, of that job
}

// excuses are reasons that tell of a free slot: a maximum, a limit, a budget, a delay for
// locality, a preemption for the job, or what the policy holds back on purpose. The kit
// believes them. All others say that nothing is free, or whose turn it is, or that the job's
// work does not fit.
var excuses = []scheduler.WaitReason{
	scheduler.WaitAtLimit, scheduler.WaitLocality, scheduler.WaitBudget, scheduler.WaitPreempting, scheduler.WaitHeld,
}

// check notes what idled for longer than a heartbeat when a round begins.
func (x *idleSlots) check(r scheduler.Round) {
	if x.found != "" {
		return
	}
	places := slices.SortedFunc(maps.Keys(x.since), func(a, b place) int {
		return cmp.Or(cmp.Compare(a.launcher, b.launcher), cmp.Compare(a.kind, b.kind))
	})
	for _, p := range places {
		if i := x.since[p]; r.Now.Sub(i.since) > heartbeat {
			x.found = fmt.Sprintf("round %d: a free %s slot of launcher %d idled for %s, though bundle %d of %s fits it; the reason that the policy gave is %q: "+
				"launch it, or give a reason for which slots stay free (Decisions.Waiting: WaitAtLimit, WaitLocality, WaitBudget, WaitPreempting or WaitHeld)",
				r.Number, p.kind, p.launcher, r.Now.Sub(i.since), i.last.Bundle, i.last.Job, i.said)
			return
		}
	}
}

// watch looks at the world after an answer.
func (x *idleSlots) watch(c *cluster.Cluster, waiting map[scheduler.JobID]scheduler.WaitReason) {
	now := map[place]idle{}
	for _, s := range c.IdleSlots() {
		said := waiting[s.Job]
		busy := c.Abilities.Has(scheduler.AbilityLoad) && c.LoadTold(s.Launcher)
		p := place{s.Launcher, s.Kind}
		if _, known := now[p]; known || busy || slices.Contains(excuses, said) {
			continue
		}
		i := idle{c.Now(), s, said}
		if before, is := x.since[p]; is {
			i.since = before.since
		}
		now[p] = i
	}
	x.since = now
}
