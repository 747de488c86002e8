package fair

import (
	"cmp"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/gangs"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/locality"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/shares/pooltree"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// visitsMax bounds how many jobs are asked in vain in one round for one kind of
// slot. What stands behind them waits until some of them do not come first any
// more: with delay scheduling, at the latest when their waits are over.
const visitsMax = 256

// loadTriesMax bounds how many launchers are tried for a bundle that the load
// manager refuses.
const loadTriesMax = 8

// assignment is the giving away of slots in one round.
type assignment struct {
	*Policy
	blind    bool // locality does not matter
	launches []scheduler.Launch
	frees    map[scheduler.SlotKind][]*view.Launcher
	picks    []given // for the trace
	choice   Choice  // of the job at hand
	located  [scanMax]*view.Bundle

	collecting collecting
}

// given is a pick with its job.
type given struct {
	job *job
	Pick
}

// assign gives away what is free.
func (p *Policy) assign(d *scheduler.Decisions) {
	before := p.visited
	p.visited = nil
	for _, j := range before {
		j.vain = scheduler.WaitNone
	}
	p.before = before
	a := assignment{Policy: p, blind: p.options.locality == localityNone}
	a.reserved()
	a.collected()
	for _, k := range p.world.order {
		if p.options.locality == localityFlow {
			a.flow(k)
		} else {
			a.fill(k)
		}
	}
	p.pause(before)
	d.Launch = a.launches
	p.stale = p.stale || p.tree.Cycles() && len(a.launches) > 0
	p.trace.picks(p, a.picks)
}

// pause stops the clocks of jobs that were passed over before and are not now.
func (p *Policy) pause(before []*job) {
	now := p.view.Now()
	for _, j := range p.visited {
		if j.vain == scheduler.WaitLocality && !j.wait.Skipped {
			j.wait.Skip(now)
			p.waits[j.ID()] = j
			p.stale = true
		}
	}
	for _, j := range before {
		if j.wait.Skipped && j.vain != scheduler.WaitLocality {
			j.wait.Pause(now)
			p.stale = true
		}
	}
}

// reserved launches work of jobs for which slots were taken back.
func (a *assignment) reserved() {
	ids := make([]scheduler.JobID, 0, len(a.world.reserved))
	for id := range a.world.reserved {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		j := a.jobs[id]
		if j == nil || !j.runnable {
			continue
		}
		tries := 0
		for b := range a.view.ReadyOf(j.Job) {
			if tries++; tries > scanMax {
				break
			}
			if where, ok := a.onReserved(j, b); ok {
				a.launch(j, Pick{Bundle: b, Where: where}, "")
			}
		}
	}
}

// onReserved fits a bundle where something is reserved for its job: a single group
// on such a launcher, a gang where it fits with what is.
func (a *assignment) onReserved(j *job, b *view.Bundle) ([]scheduler.LauncherID, bool) {
	if len(b.Groups) > 1 {
		return a.view.Fit(b)
	}
	kind := b.Groups[0].Kind
	for _, l := range a.view.ReservedFor(j.ID()) {
		free, _ := a.view.Room(l, 0, kind)
		if with, _ := a.view.RoomFor(l, b, kind); with == free {
			continue
		}
		if where, ok := a.view.FitOn(l, b); ok {
			return where, true
		}
	}
	return nil, false
}

// fill gives away the slots of a kind: again and again one bundle of the job that
// comes first (design document, section 4.2).
func (a *assignment) fill(k pooltree.Kind) {
	name := a.world.kinds[k]
	vain := 0
	for vain < visitsMax && a.view.FreeSlots(name) > 0 && !a.collecting.kept.Holds(name) {
		n := a.tree.Next(k)
		if n == nil {
			break
		}
		j := n.Owner.(*job)
		if !a.give(j, k, name) {
			a.tree.Pass(n, k)
			vain++
		}
	}
	a.withheldAll(k, name)
	a.tree.Rewind(k)
}

// give launches one bundle of a job, or notes why not.
func (a *assignment) give(j *job, k pooltree.Kind, name scheduler.SlotKind) bool {
	c := &a.choice
	*c = Choice{View: &a.view, Job: j.Job, Kind: name, After: j.given(&a.view, k), round: a}
	c.Level = j.wait.Allowed(a.view.Now(), a.limits)
	if c.Level < scheduler.Remote && a.starvedFor(j, k) {
		c.Level = scheduler.Remote // whoever takes slots back cannot be choosy
	}
	mark := a.view.Mark()
	pick, reason := a.parts.selector.Select(c)
	j.after[k] = c.After
	if pick.Bundle != nil && a.overMax(j, pick.Bundle) {
		a.view.Undo(mark)
		pick, reason = Pick{}, scheduler.WaitAtLimit
	}
	if pick.Bundle == nil {
		a.visit(j, cmp.Or(reason, scheduler.WaitNoCapacity))
		if c.Unfit != nil && len(a.launches) == 0 {
			a.collect(c.Unfit)
		}
		return false
	}
	a.launch(j, pick, name)
	return true
}

func (a *assignment) visit(j *job, why scheduler.WaitReason) {
	if j.vain == scheduler.WaitNone {
		a.visited = append(a.visited, j)
	}
	j.vain = why
}

// overMax says whether a bundle would take a pool over its maximum share.
func (p *Policy) overMax(j *job, b *view.Bundle) bool {
	if len(b.Groups) == 1 {
		return j.node.Of(p.world.kind(b.Groups[0].Kind)).AtMax(b.Groups[0].Slots)
	}
	for _, n := range gangs.Needs(b) {
		if j.node.Of(p.world.kind(n.Kind)).AtMax(n.Count) {
			return true
		}
	}
	return false
}

// launch makes the decision, and counts the slots as held until the next round
// tells what became of it. It was the job's turn for slots of a kind; "" when it
// was not.
func (a *assignment) launch(j *job, pick Pick, turn scheduler.SlotKind) {
	a.launches = append(a.launches, a.view.Launch(pick.Bundle, pick.Where))
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
	if now := (locality.Wait{Level: pick.Level}); pick.Located && j.wait != now {
		j.wait.Launched(pick.Level)
		a.waits[j.ID()] = j
		a.stale = true
	}
	if a.trace.on() {
		a.picks = append(a.picks, given{j, pick})
	}
}

// count counts slots as a job's.
func (a *assignment) count(j *job, kind scheduler.SlotKind, slots int, turn scheduler.SlotKind) {
	s := j.node.Of(a.world.kind(kind))
	if kind == turn {
		s.Take(slots)
	} else {
		s.Set(s.Running+slots, max(s.Ready()-slots, 0))
	}
}

// given returns up to which of a job's bundles of a kind all are given away in
// this round.
func (j *job) given(v *view.View, k pooltree.Kind) scheduler.BundleID {
	if j.turn != v.Round() {
		j.turn = v.Round()
		clear(j.after)
	}
	for len(j.after) <= int(k) {
		j.after = append(j.after, 0)
	}
	return j.after[k]
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
	for l := range a.view.WithRoom(kind) {
		if all = append(all, l); len(all) == nearMax {
			break
		}
	}
	a.frees[kind] = all
	return all
}

// fit finds room that the load manager does not object to. A launcher that it
// refuses is left out for the rest of the round.
func (a *assignment) fit(b *view.Bundle, find func() ([]scheduler.LauncherID, bool)) ([]scheduler.LauncherID, bool) {
	if a.parts.load == nil {
		return find()
	}
	for range loadTriesMax {
		mark := a.view.Mark()
		where, ok := find()
		if !ok {
			return nil, false
		}
		full, kind := a.overloaded(b, where)
		if full == nil {
			return where, true
		}
		a.view.Undo(mark)
		if free, _ := a.view.Room(full, 0, kind); free > 0 {
			a.view.Take(full, &scheduler.Group{Kind: kind, Slots: free})
		}
	}
	return nil, false
}

// overloaded returns a launcher that held its cap of a kind or more before the
// bundle came, or nil. One that is idle takes a bundle of any size.
func (a *assignment) overloaded(b *view.Bundle, where []scheduler.LauncherID) (*view.Launcher, scheduler.SlotKind) {
	for i, id := range where {
		l, kind := a.view.Launcher(id), b.Groups[i].Kind
		k := a.world.kind(kind)
		crowd := Crowd{Runnable: a.tree.Root().Of(k).Demand(), Total: a.world.total[k]}
		left, _ := a.view.RoomFor(l, b, kind)
		held := l.Total(kind) - left
		for n, other := range where {
			if other == id && b.Groups[n].Kind == kind {
				held -= b.Groups[n].Slots
			}
		}
		if held > 0 && held >= a.parts.load.Cap(l, kind, crowd) {
			return l, kind
		}
	}
	return nil, ""
}
