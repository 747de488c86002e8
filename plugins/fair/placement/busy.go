package placement

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hamadryad/hamadryad/plugins/fair/shares"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/shares/pooltree"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// busy tracks the launchers that a LoadRefuser refuses.
type busy struct {
	refuser   LoadRefuser            // nil: nothing is refused
	launchers []scheduler.LauncherID // refused, ascending
}

// busyNamed is how many refused launchers an explanation names.
const busyNamed = 3

// start asks a new load manager about every launcher.
func (b *busy) start(m LoadManager, v *view.View) {
	for _, id := range b.launchers {
		if l := v.Launcher(id); l != nil {
			v.Capacity.Withhold(l, false)
		}
	}
	*b = busy{}
	if b.refuser, _ = m.(LoadRefuser); b.refuser == nil {
		return
	}
	for _, l := range v.Launchers() {
		b.changed(v, l.ID)
	}
}

// changed asks about a launcher that came, went, or has a new load. Free slots of a refused
// launcher go to no job until that changes. Slots reserved for a job after a preemption are the
// job's: the victim kept the machine as busy.
func (b *busy) changed(v *view.View, id scheduler.LauncherID) {
	if b.refuser == nil {
		return
	}
	l := v.Launcher(id)
	refused := l != nil && b.refuser.Refuses(l)
	switch i, found := slices.BinarySearch(b.launchers, id); {
	case refused && !found:
		b.launchers = slices.Insert(b.launchers, i, id)
	case !refused && found:
		b.launchers = slices.Delete(b.launchers, i, i+1)
	}
	if l != nil {
		v.Capacity.Withhold(l, refused)
	}
}

// byOthers lists the refused launchers that run none of our work. Other programs keep them busy
// for an unknown time. Where our work runs, its end is likely to help.
func (b *busy) byOthers(v *view.View) []scheduler.LauncherID {
	var all []scheduler.LauncherID
	for _, id := range b.launchers {
		if len(v.Launcher(id).Attempts()) == 0 {
			all = append(all, id)
		}
	}
	return all
}

// withheldAll records the first job in order if nothing is free except on refused launchers. No
// other job is asked, because there is nothing to give.
func (a *assignment) withheldAll(k pooltree.Kind, name scheduler.SlotKind) {
	if a.View.Capacity.Withheld(name) == 0 || a.View.Capacity.FreeSlots(name) > 0 {
		return
	}
	if n := a.Tree.Next(k); n != nil {
		a.PassOver(n.Owner.(*shares.Job), scheduler.WaitNoCapacity)
	}
}

// detail says which free slots of a kind are withheld from a job; "": none.
func (b *busy) detail(v *view.View, kind scheduler.SlotKind) string {
	n := v.Capacity.Withheld(kind)
	if n == 0 {
		return ""
	}
	var names []string
	for _, id := range b.launchers {
		if l := v.Launcher(id); l != nil && l.Total(kind) > 0 {
			names = append(names, fmt.Sprintf("%s with %s", l.Name, loadText(l)))
		}
	}
	if more := len(names) - busyNamed; more > 0 {
		names = append(names[:busyNamed], fmt.Sprintf("%d more", more))
	}
	return fmt.Sprintf("%d free %s slots are on launchers over their load (%v): %s; ", n, kind, b.refuser, strings.Join(names, ", "))
}

func loadText(l *view.Launcher) string {
	percent := func(x float64) string {
		if x == scheduler.LoadUnknown {
			return "unknown"
		}
		return fmt.Sprintf("%.2f", x)
	}
	return "CPU " + percent(l.CPULoad) + " and memory " + percent(l.MemoryLoad)
}
