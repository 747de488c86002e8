package placement

import (
	"slices"

	"github.com/hamadryad/hamadryad/plugins/fair/allocation"
	"github.com/hamadryad/hamadryad/plugins/fair/shares"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/gangs"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/locality"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/locality/placement"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/shares/pooltree"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// place places the round's launches together, if the site wants that (Hammr, section 6).
func (a *assignment) place() {
	if a.Config.Locality.Flow() {
		for _, k := range a.World.Order {
			a.offer(k)
		}
	}
	r := placement.Round{
		View: a.View, Levels: func(launch int) int { return a.levels[launch] },
		Optional:    func(launch int) bool { return launch >= a.firm },
		KeepBundles: a.Config.Selector != allocation.SelectorDefault,
	}
	if a.load != nil {
		r.Spare = a.spare
	}
	dropped := a.Placer.Place(&a.Config.Locality, r, a.launches)
	if !a.Config.Locality.Flow() {
		return
	}
	for _, i := range slices.Backward(dropped) {
		a.drop(i)
	}
	for i := range a.launches {
		a.placedAnew(i)
	}
}

// offer launches work of jobs that wait for locality on slots that no job takes. The flow may
// move other launches to free a slot near the input. If it can't, the launch is dropped, and the
// job continues to wait.
func (a *assignment) offer(k pooltree.Kind) {
	name := a.World.Kinds[k]
	passes := 0
	for passes < visitsMax && a.View.Capacity.FreeSlots(name) > 0 {
		n := a.Tree.Next(k)
		if n == nil {
			break
		}
		if j := n.Owner.(*shares.Job); j.PassedOver != scheduler.WaitLocality || !a.offerOf(j, k, name) {
			a.Tree.Pass(n, k)
			passes++
		}
	}
	a.Tree.Rewind(k)
}

// offerOf launches one bundle of a job wherever there is room.
func (a *assignment) offerOf(j *shares.Job, k pooltree.Kind, name scheduler.SlotKind) bool {
	allowed := j.Wait.Allowed(a.View.Now(), a.Limits)
	c := &a.choice
	*c = Choice{View: a.View, Job: j.Job, Kind: name, After: j.Given(a.View, k), Level: scheduler.Remote, round: a}
	mark := a.View.Capacity.Mark()
	pick, _ := a.selector.Select(c)
	if pick.Bundle == nil || !pick.Located || a.overMax(j, pick.Bundle) {
		a.View.Capacity.Undo(mark)
		return false
	}
	pick.Located = false // its wait is not over yet
	a.launch(j, pick, name)
	a.levels[len(a.levels)-1] = int(min(allowed, a.Config.LocalityCap)) + 1
	return true
}

// drop withdraws an offer without result.
func (a *assignment) drop(launch int) {
	b := a.View.Bundle(a.launches[launch].Bundle)
	for _, n := range gangs.Needs(b) {
		s := shares.Of(b.Job).Node.Of(a.World.Kind(n.Kind))
		s.Set(s.Running-n.Count, s.Ready()+n.Count)
	}
	a.launches, a.levels = slices.Delete(a.launches, launch, launch+1), slices.Delete(a.levels, launch, launch+1)
	if a.watch {
		a.placed = slices.Delete(a.placed, launch, launch+1)
	}
}

// spare returns how many free slots of a kind the load manager leaves on a launcher.
func (a *assignment) spare(l *view.Launcher, kind scheduler.SlotKind) int {
	k := a.World.Kind(kind)
	free, _ := a.View.Capacity.Room(l, 0, kind)
	crowd := Crowd{Runnable: a.Tree.Root().Of(k).Demand(), Total: a.World.Total[k]}
	return min(free, max(a.load.Cap(l, kind, crowd)-(l.Total(kind)-free), 0))
}

// placedAnew records the locality of a moved launch: its job may continue at that level without
// waiting.
func (a *assignment) placedAnew(launch int) {
	l := &a.launches[launch]
	b := a.View.Bundle(l.Bundle)
	pick := Pick{Bundle: b, Where: l.Launchers}
	for i := range b.Groups {
		if g := &b.Groups[i]; a.World.Nearest(g) == scheduler.NodeLocal {
			pick.Level, pick.Located = max(pick.Level, view.Locality(a.View.Launcher(l.Launchers[i]), g)), true
		}
	}
	if a.watch {
		a.placed[launch].Pick = pick
	}
	j := shares.Of(b.Job)
	switch now := (locality.Wait{Level: pick.Level}); {
	case !pick.Located:
		return
	case launch >= a.firm && j.Wait != now:
		j.Wait.Launched(pick.Level)
	case launch < a.firm && j.Wait.Level != pick.Level:
		j.Wait.Level = pick.Level
	default:
		return
	}
	a.waits[j.ID()] = j
	a.Changed = true
}

// nearestOfGang returns the nearest locality that any group of a gang can have. With a cap, or
// without a flow, gangs do not wait for input.
func (a *assignment) nearestOfGang(b *view.Bundle) scheduler.Locality {
	near := scheduler.Remote
	if !a.Config.Locality.Flow() || a.Config.LocalityCap != scheduler.Remote {
		return near
	}
	for i := range b.Groups {
		near = min(near, a.World.Nearest(&b.Groups[i]))
	}
	return near
}
