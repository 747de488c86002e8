package placing

import (
	"cmp"
	"slices"

	"github.com/hamadryad/hamadryad/plugins/fair/sharing"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/gangs"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/locality/placement"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/shares/pooltree"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// Bounds of min-cost-flow placement in one round, for one kind of slot.
const (
	// plannedMax is how many bundles are planned.
	plannedMax = 10_000
	// offersEach is how many bundles a job offers for each that it may launch, so that
	// the cheapest are taken and not the first; offersMin is the least.
	offersEach = 4
	offersMin  = 64
	// flowsMax is how often the flow is solved anew, each time without the jobs
	// that have got what they may.
	flowsMax = 8
)

// plan is how much a job may launch, by the order of pools and jobs.
type plan struct {
	job    *sharing.Job
	left   int   // bundles
	slots  []int // of each that was planned, the last one first to be given back
	offers []*view.Bundle
}

// flow gives away the slots of a kind in two steps: the order of pools and jobs
// says how many bundles each job may launch, and the flow of fewest bytes says
// which, and where (Hammr, section 6). What the flow leaves is given away in order.
func (a *assignment) flow(k pooltree.Kind) {
	name := a.World.Kinds[k]
	if a.View.FreeSlots(name) > 0 && a.Tree.Next(k) != nil {
		plans := a.plan(k, name)
		a.Changed = a.Changed || a.Tree.Cycles()
		a.place(k, name, plans)
		for _, p := range plans { // what was not placed is not held
			for ; p.left > 0; p.left-- {
				s := p.job.Node.Of(k)
				n := p.slots[len(p.slots)-p.left]
				s.Set(s.Running-n, s.Ready()+n)
			}
		}
	}
	a.fill(k)
}

// plan lets jobs take turns until the free slots are spoken for.
func (a *assignment) plan(k pooltree.Kind, name scheduler.SlotKind) []*plan {
	free := a.View.FreeSlots(name)
	var plans []*plan
	of := map[*sharing.Job]*plan{}
	vain := 0
	for range plannedMax {
		next := a.Tree.Next(k)
		if next == nil || free == 0 || vain == visitsMax {
			break
		}
		j := next.Owner.(*sharing.Job)
		p := of[j]
		if p == nil {
			p = &plan{job: j, offers: a.offers(j, k, offersMin)}
			of[j] = p
			plans = append(plans, p)
		}
		slots := 0
		if p.left < len(p.offers) {
			slots = gangs.Slots(p.offers[p.left], name)
		}
		if slots == 0 || slots > free || a.overMax(j, p.offers[p.left]) {
			a.Tree.Pass(next, k)
			vain++
			continue
		}
		next.Of(k).Take(slots)
		free -= slots
		p.left++
		p.slots = append(p.slots, slots)
		if p.left == len(p.offers) {
			p.offers = a.offers(j, k, offersEach*p.left)
		}
	}
	a.Tree.Rewind(k)
	return plans
}

// offers lists a job's first bundles of a kind.
func (a *assignment) offers(j *sharing.Job, k pooltree.Kind, most int) []*view.Bundle {
	var all []*view.Bundle
	for b := range a.View.ReadyOfKind(j.Job, a.World.Kinds[k], j.Given(a.View, k)) {
		if all = append(all, b); len(all) == most {
			break
		}
	}
	return all
}

// place solves the flow, takes the cheapest placements of each job up to its plan,
// and solves again for those that have something left.
func (a *assignment) place(k pooltree.Kind, name scheduler.SlotKind, plans []*plan) {
	net, err := placement.New(placement.Options{NeighbourBytes: a.Config.NeighbourBytes})
	if err != nil {
		return // the settings were checked
	}
	of := map[scheduler.BundleID]*plan{}
	for l := range a.View.WithRoom(name) {
		_ = net.SetLauncher(a.forFlow(l)) // free slots are never negative
	}
	for _, p := range plans {
		for _, b := range p.offers {
			if p.left > 0 && net.SetBundle(placement.Bundle{ID: b.ID, Groups: b.Groups, Avoid: b.Avoid}) == nil {
				of[b.ID] = p
			}
		}
	}
	for range flowsMax {
		placed := net.Solve(0).Placed
		a.relieve(placed, plans, of)
		slices.SortFunc(placed, func(x, y placement.Placement) int {
			return cmp.Or(cmp.Compare(x.Cost, y.Cost), cmp.Compare(x.Bundle, y.Bundle))
		})
		launched := 0
		for _, x := range placed {
			p := of[x.Bundle]
			if p == nil || p.left == 0 || !a.launchAt(p, x, k) {
				continue
			}
			launched++
			_ = net.Launched(x)
			delete(of, x.Bundle)
			if p.left == 0 {
				a.withdraw(net, p, of)
			}
		}
		if launched == 0 || len(of) == 0 || a.View.FreeSlots(name) == 0 {
			return
		}
	}
}

// withdraw takes out what a job still offers.
func (a *assignment) withdraw(net *placement.Network, p *plan, of map[scheduler.BundleID]*plan) {
	for _, b := range p.offers {
		net.RemoveBundle(b.ID)
		delete(of, b.ID)
	}
}

// forFlow is a launcher with what is free of it.
func (a *assignment) forFlow(l *view.Launcher) placement.Launcher {
	x := placement.Launcher{ID: l.ID, Host: l.Host, Rack: l.Rack}
	for _, s := range l.Slots {
		free, memory := a.View.Room(l, 0, s.Kind)
		x.Free = append(x.Free, scheduler.SlotCount{Kind: s.Kind, Count: max(free, 0)})
		x.Memory = max(memory, 0)
	}
	return x
}

// launchAt launches a planned bundle where the flow put it, if that is still to be
// had.
func (a *assignment) launchAt(p *plan, x placement.Placement, k pooltree.Kind) bool {
	b := a.View.Bundle(x.Bundle)
	mark := a.View.Mark()
	for i, id := range x.Launchers {
		l := a.View.Launcher(id)
		if l == nil || !a.View.TakeFor(l, b, &b.Groups[i]) {
			a.View.Undo(mark)
			return false
		}
	}
	if a.load != nil {
		if full, _ := a.overloaded(b, x.Launchers); full != nil {
			a.View.Undo(mark)
			return false
		}
	}
	planned := p.slots[len(p.slots)-p.left]
	p.left--
	s := p.job.Node.Of(k)
	s.Set(s.Running-planned, s.Ready()+planned) // launch counts what it really takes
	pick := Pick{Bundle: b, Where: x.Launchers}
	if len(b.Groups) == 1 && a.World.Nearest(&b.Groups[0]) == scheduler.NodeLocal {
		pick.Level, pick.Located = view.Locality(a.View.Launcher(x.Launchers[0]), &b.Groups[0]), true
	}
	a.launch(p.job, pick, "")
	return true
}
