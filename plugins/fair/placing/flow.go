package placing

import (
	"github.com/hamadryad/hamadryad/plugins/fair/allocation"
	"github.com/hamadryad/hamadryad/plugins/fair/sharing"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/locality"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/locality/placement"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// place places the launches of the round together, where the site wants that (Hammr, section 6).
func (a *assignment) place() {
	r := placement.Round{
		View: a.View, Levels: func(launch int) int { return a.levels[launch] },
		KeepBundles: a.Config.Selector != allocation.SelectorDefault,
	}
	if a.load != nil {
		r.Spare = a.spare
	}
	a.Placer.Place(&a.Config.Locality, r, a.launches)
	if !a.Config.Locality.Flow() {
		return
	}
	for i := range a.launches {
		a.placedAnew(i)
	}
}

// spare is how many free slots of a kind the load manager leaves on a launcher.
func (a *assignment) spare(l *view.Launcher, kind scheduler.SlotKind) int {
	k := a.World.Kind(kind)
	free, _ := a.View.Room(l, 0, kind)
	crowd := Crowd{Runnable: a.Tree.Root().Of(k).Demand(), Total: a.World.Total[k]}
	return min(free, max(a.load.Cap(l, kind, crowd)-(l.Total(kind)-free), 0))
}

// placedAnew notes how near to its input a launch is now: its job may go on at that level
// without waiting.
func (a *assignment) placedAnew(launch int) {
	l := &a.launches[launch]
	b := a.View.Bundle(l.Bundle)
	pick := Pick{Bundle: b, Where: l.Launchers}
	if len(b.Groups) == 1 && a.World.Nearest(&b.Groups[0]) == scheduler.NodeLocal {
		pick.Level, pick.Located = view.Locality(a.View.Launcher(l.Launchers[0]), &b.Groups[0]), true
	}
	if a.watch {
		a.placed[launch].Pick = pick
	}
	j := sharing.Of(b.Job)
	if now := (locality.Wait{Level: pick.Level}); pick.Located && j.Wait.Level != now.Level {
		j.Wait.Level = now.Level
		a.waits[j.ID()] = j
		a.Changed = true
	}
}
