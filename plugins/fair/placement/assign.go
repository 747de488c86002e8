package placement

import (
	"cmp"
	"slices"

	"github.com/hamadryad/hamadryad/plugins/fair/shares"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/gangs"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/locality"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/shares/pooltree"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// visitsMax bounds how many jobs are passed over in one round for one kind of slot. Jobs behind
// them wait until some of them no longer come first. With delay scheduling that is at the latest
// when their waits are over.
const visitsMax = 256

// loadTriesMax bounds how many launchers are tried for a bundle that the load manager refuses.
const loadTriesMax = 8

// assignment is the assignment of free slots in one round.
type assignment struct {
	*State
	blind    bool // locality does not matter
	launches []scheduler.Launch
	levels   []int // how many levels of locality are open to each of them; 0: all
	firm     int   // how many of them are made in any case: the first
	frees    map[scheduler.SlotKind][]*view.Launcher
	watch    bool
	placed   []Placed
	choice   Choice // of the current job
	located  [scanMax]*view.Bundle
	withheld map[scheduler.SlotKind]bool // the load manager refused launchers with free slots

	kept gangs.Holdback // what is collected for the bundle Collect
}

// Placed is a pick with its job.
type Placed struct {
	Job *shares.Job
	Pick
}

// Assign assigns the free slots. With watch set it also returns the picks.
func (p *State) Assign(watch bool) ([]scheduler.Launch, []Placed) {
	before := p.visited
	p.visited = nil
	for _, j := range before {
		j.PassedOver = scheduler.WaitNone
	}
	p.before = before
	a := assignment{State: p, blind: p.Config.Locality.Blind(), watch: watch}
	a.reserved()
	a.resumeHoldback()
	for _, k := range p.World.Order {
		a.fill(k)
	}
	a.firm = len(a.launches)
	a.place()
	a.kept.Release(p.View)
	p.pause(before)
	p.Changed = p.Changed || p.Tree.Cycles() && len(a.launches) > 0
	return a.launches, a.placed
}

// pause stops the clocks of jobs that were passed over before and are not now.
func (p *State) pause(before []*shares.Job) {
	now := p.View.Now()
	for _, j := range p.visited {
		if j.PassedOver == scheduler.WaitLocality && !j.Wait.Skipped {
			j.Wait.Skip(now)
			p.waits[j.ID()] = j
			p.Changed = true
		}
	}
	for _, j := range before {
		if j.Wait.Skipped && j.PassedOver != scheduler.WaitLocality {
			j.Wait.Pause(now)
			p.Changed = true
		}
	}
}

// reserved launches work of jobs that have reserved slots.
func (a *assignment) reserved() {
	ids := make([]scheduler.JobID, 0, len(a.World.Reserved))
	for id := range a.World.Reserved {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		j := a.Jobs[id]
		if j == nil || !j.Runnable {
			continue
		}
		tries := 0
		for b := range j.Launchable("", 0).All() {
			if tries++; tries > scanMax {
				break
			}
			if a.OverMax(j, b) {
				continue
			}
			if where, ok := a.View.FitReserved(b); ok {
				a.launch(j, Pick{Bundle: b, Where: where}, "")
				if b.ID == a.Collect { // no slots need to be held back any more
					a.stopHoldback()
				}
			}
		}
	}
}

// fill assigns the slots of a kind, one bundle at a time, each time to the job that comes first
// (design document, section 4.2).
func (a *assignment) fill(k pooltree.Kind) {
	name := a.World.Kinds[k]
	passes := 0
	for passes < visitsMax && a.View.Capacity.FreeSlots(name) > 0 {
		n := a.Tree.Next(k)
		if n == nil {
			break
		}
		j := n.Owner.(*shares.Job)
		switch {
		case !j.WithinUserLimit(): // however many there are, others come behind them
			a.PassOver(j, scheduler.WaitAtLimit)
			a.Tree.Pass(n, k)
		case !a.give(j, k, name):
			a.Tree.Pass(n, k)
			passes++
		}
	}
	a.withheldAll(k, name)
	a.Tree.Rewind(k)
	a.waitsBesideFree(k, name)
}

// waitsBesideFree records jobs that wait although slots are free, and are not asked. A pool is
// at its maximum, or the load manager refuses the launchers with those slots.
func (a *assignment) waitsBesideFree(k pooltree.Kind, name scheduler.SlotKind) {
	bounded := a.View.Capacity.FreeSlots(name) > 0 && a.bounded(k)
	if !bounded && !a.withheld[name] {
		return
	}
	visits := 0
	for _, v := range a.View.Jobs() {
		j := a.Jobs[v.ID()]
		if !j.Runnable || !j.Node.Has(k) || j.Node.Of(k).Ready() == 0 {
			continue
		}
		switch {
		case j.Node.Of(k).AtMax(1):
			a.PassOver(j, scheduler.WaitAtLimit)
		case a.withheld[name]:
			a.PassOver(j, scheduler.WaitHeld)
		default:
			continue
		}
		if visits++; visits == visitsMax {
			return
		}
	}
}

// bounded says whether some pool has reached its maximum of a kind.
func (a *assignment) bounded(k pooltree.Kind) bool {
	for _, p := range a.Pools { // in any order
		if p.Node.Has(k) && p.Node.Of(k).AtMax(1) {
			return true
		}
	}
	return false
}

// give launches one bundle of a job, or records why not.
func (a *assignment) give(j *shares.Job, k pooltree.Kind, name scheduler.SlotKind) bool {
	c := &a.choice
	*c = Choice{View: a.View, Job: j.Job, Kind: name, After: j.Given(a.View, k), round: a}
	c.Level = j.Wait.Allowed(a.View.Now(), a.Limits)
	if c.Level < scheduler.Remote && a.urgent(j, k) {
		c.Level = scheduler.Remote // a pool that takes slots back takes any
	}
	mark := a.View.Capacity.Mark()
	pick, reason := a.selector.Select(c)
	j.SetGiven(k, c.After)
	if pick.Bundle != nil && a.overMax(j, pick.Bundle) {
		a.View.Capacity.Undo(mark)
		pick, reason = Pick{}, scheduler.WaitAtLimit
	}
	if pick.Bundle == nil {
		if reason != scheduler.WaitLocality && reason != scheduler.WaitAtLimit && a.withholdsFrom(c.Unfit, name) {
			reason = scheduler.WaitHeld // it might fit on a withheld launcher
		}
		a.PassOver(j, cmp.Or(reason, scheduler.WaitNoCapacity))
		if c.Unfit != nil && len(a.launches) == 0 {
			a.collect(j, c.Unfit)
		}
		return false
	}
	a.launch(j, pick, name)
	if pick.Located || pick.Level != scheduler.NodeLocal {
		a.levels[len(a.levels)-1] = int(max(min(c.Level, a.Config.LocalityCap), pick.Level)) + 1
	}
	return true
}

// withholdsFrom says whether the load manager withholds slots of a kind that a bundle needs. If
// no bundle is known, that is the current kind.
func (a *assignment) withholdsFrom(b *view.Bundle, turn scheduler.SlotKind) bool {
	if b == nil {
		return a.withheld[turn]
	}
	return slices.ContainsFunc(b.Groups, func(g scheduler.Group) bool { return a.withheld[g.Kind] })
}

// launch makes the decision, and counts the slots as held until the next round has its outcome.
// It was the job's turn for slots of the given kind; "": it was not its turn.
func (a *assignment) launch(j *shares.Job, pick Pick, turn scheduler.SlotKind) {
	a.launches, a.levels = append(a.launches, a.View.Launch(pick.Bundle, pick.Where)), append(a.levels, 0)
	j.Far = shares.Far{}
	if g := pick.Bundle.Groups; len(g) == 1 {
		a.count(j, g[0].Kind, g[0].Slots, turn)
	} else {
		for _, n := range gangs.Needs(pick.Bundle) {
			a.count(j, n.Kind, n.Count, turn)
		}
	}
	if len(a.touched) == 0 || a.touched[len(a.touched)-1] != j {
		a.touched = append(a.touched, j)
	}
	if now := (locality.Wait{Level: pick.Level}); pick.Located && j.Wait != now {
		j.Wait.Launched(pick.Level)
		a.waits[j.ID()] = j
		a.Changed = true
	}
	if a.watch {
		a.placed = append(a.placed, Placed{j, pick})
	}
}

// count counts slots as a job's.
func (a *assignment) count(j *shares.Job, kind scheduler.SlotKind, slots int, turn scheduler.SlotKind) {
	s := j.Node.Of(a.World.Kind(kind))
	if kind == turn {
		s.Take(slots)
	} else {
		s.Set(s.Running+slots, max(s.Ready()-slots, 0))
	}
}

// free lists launchers with room for a kind.
func (a *assignment) free(kind scheduler.SlotKind) []*view.Launcher {
	if all, ok := a.frees[kind]; ok {
		return all
	}
	if a.frees == nil {
		a.frees = map[scheduler.SlotKind][]*view.Launcher{}
	}
	var all []*view.Launcher
	for l := range a.View.Capacity.WithRoom(kind) {
		if all = append(all, l); len(all) == nearMax {
			break
		}
	}
	a.frees[kind] = all
	return all
}

// fit finds room that the load manager accepts. A launcher that it refuses is left out for the
// rest of the round.
func (a *assignment) fit(b *view.Bundle, find func() ([]scheduler.LauncherID, bool)) ([]scheduler.LauncherID, bool) {
	if a.load == nil {
		return find()
	}
	for range loadTriesMax {
		mark := a.View.Capacity.Mark()
		where, ok := find()
		if !ok {
			return nil, false
		}
		full, kind := a.overloaded(b, where)
		if full == nil {
			return where, true
		}
		a.View.Capacity.Undo(mark)
		if free, _ := a.View.Capacity.Room(full, 0, kind); free > 0 {
			if a.withheld == nil {
				a.withheld = map[scheduler.SlotKind]bool{}
			}
			a.withheld[kind] = true
			a.View.Capacity.TakeRoom(full, &scheduler.Group{Kind: kind, Slots: free})
		}
	}
	return nil, false
}

// overloaded returns a launcher that held its cap of a kind or more before the bundle, or nil.
// An idle launcher takes a bundle of any size.
func (a *assignment) overloaded(b *view.Bundle, where []scheduler.LauncherID) (*view.Launcher, scheduler.SlotKind) {
	for i, id := range where {
		l, kind := a.View.Launcher(id), b.Groups[i].Kind
		k := a.World.Kind(kind)
		crowd := Crowd{Runnable: a.Tree.Root().Of(k).Demand(), Total: a.World.Total[k]}
		left, _ := a.View.Capacity.RoomFor(l, b, kind)
		held := l.Total(kind) - left
		for n, other := range where {
			if other == id && b.Groups[n].Kind == kind {
				held -= b.Groups[n].Slots
			}
		}
		if held > 0 && held >= a.load.Cap(l, kind, crowd) {
			return l, kind
		}
	}
	return nil, ""
}
