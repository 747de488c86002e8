package policytest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/policytest/cluster"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// idleSlots finds slots that idle although ready work fits them, in one game.
type idleSlots struct {
	localityMax time.Duration                      // Options.LocalityMax
	since       map[place]idle                     // as of the last answer
	locality    map[scheduler.JobID]scheduler.Time // since when jobs wait for locality although other slots fit them
	found       string                             // the first that idled for too long, and the rule that it breaks
}

// place is where slots of a kind idle; or it is a gang that fits whole.
type place struct {
	launcher scheduler.LauncherID // 0: it is a gang
	kind     scheduler.SlotKind
	gang     scheduler.BundleID
}

// idle is the time since which slots idle, and the work that fits them.
type idle struct {
	since scheduler.Time
	last  cluster.IdleSlot
	said  scheduler.WaitReason // the policy's reason for that job
}

// excuses are reasons that explain a free slot: a maximum, a limit, a budget, a delay for locality,
// a preemption for the job, or slots held back on purpose. The kit believes them; locality for
// Options.LocalityMax only. The other reasons explain no free slot: they say that none is free,
// that it is another job's turn, or that the work does not fit.
var excuses = []scheduler.WaitReason{
	scheduler.WaitAtLimit, scheduler.WaitLocality, scheduler.WaitBudget, scheduler.WaitPreempting, scheduler.WaitHeld,
}

// excusesOfGangs are the reasons for a gang that fits whole. Free and reserved slots suffice for
// it, so there is nothing more to preempt for it.
var excusesOfGangs = []scheduler.WaitReason{scheduler.WaitAtLimit, scheduler.WaitLocality, scheduler.WaitBudget, scheduler.WaitHeld}

// check records slots that have idled for longer than a heartbeat when a round begins.
func (x *idleSlots) check(r scheduler.Round) {
	if x.found != "" {
		return
	}
	places := slices.SortedFunc(maps.Keys(x.since), func(a, b place) int {
		return cmp.Or(cmp.Compare(a.launcher, b.launcher), cmp.Compare(a.kind, b.kind), cmp.Compare(a.gang, b.gang))
	})
	for _, j := range slices.Sorted(maps.Keys(x.locality)) {
		if waits := r.Now.Sub(x.locality[j]); waits > x.localityMax {
			x.found = fmt.Sprintf("round %d: %s waits for locality for %s beside free slots that fit its work, and launches nothing: after %s (Options.LocalityMax) let it go farther",
				r.Number, j, waits, x.localityMax)
			return
		}
	}
	for _, p := range places {
		if i := x.since[p]; p.gang != 0 && r.Now.Sub(i.since) > heartbeat {
			x.found = fmt.Sprintf("round %d: %v of %s, which needs several slots at once, fits whole on what is free and reserved for it, and was not launched for %s; the reason that the policy gave is %q: "+
				"launch it, or give a reason for which slots stay free (Decisions.Waiting: WaitAtLimit, WaitLocality, WaitBudget or WaitHeld)",
				r.Number, p.gang, i.last.Job, r.Now.Sub(i.since), i.said)
			return
		}
		if i := x.since[p]; r.Now.Sub(i.since) > heartbeat {
			x.found = fmt.Sprintf("round %d: a free %s slot of launcher %d idled for %s, though %v of %s fits it; the reason that the policy gave is %q: "+
				"launch it, or give a reason for which slots stay free (Decisions.Waiting: WaitAtLimit, WaitLocality, WaitBudget, WaitPreempting or WaitHeld)",
				r.Number, p.kind, p.launcher, r.Now.Sub(i.since), i.last.Bundle, i.last.Job, i.said)
			return
		}
	}
}

// watch looks for idle slots after an answer.
func (x *idleSlots) watch(c *cluster.Cluster, launches []scheduler.Launch, waiting map[scheduler.JobID]scheduler.WaitReason) {
	now, local := map[place]idle{}, map[scheduler.JobID]scheduler.Time{}
	quiet := func(id scheduler.LauncherID) bool {
		return !c.Has(scheduler.AbilityLoad) || !c.LoadReported(id)
	}
	note := func(p place, s cluster.IdleSlot, excuses []scheduler.WaitReason) {
		said := waiting[s.Job]
		if said == scheduler.WaitLocality {
			local[s.Job] = cmp.Or(x.locality[s.Job], c.Now())
		}
		if _, known := now[p]; known || slices.Contains(excuses, said) {
			return
		}
		i := idle{c.Now(), s, said}
		if before, is := x.since[p]; is {
			i.since = before.since
		}
		now[p] = i
	}
	slots, gangs := c.IdleWork(quiet)
	for _, s := range slots {
		note(place{launcher: s.Launcher, kind: s.Kind}, s, excuses)
	}
	for _, g := range gangs {
		note(place{gang: g.Bundle}, g, excusesOfGangs)
	}
	for _, l := range launches { // the job's wait begins anew with a launch
		delete(local, c.JobOf(l.Bundle))
	}
	x.since, x.locality = now, local
}

// forget resets the times: slots that idled while the policy thought are not its fault.
func (x *idleSlots) forget() { x.since, x.locality = nil, nil }
