package placement

import (
	"github.com/hamadryad/hamadryad/plugins/fair/allocation"
	"github.com/hamadryad/hamadryad/plugins/fair/shares"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/settings"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// TaskSelector picks a job's next launch and its place: an extension point of the original
// (design document, section 5). It must be a function of the Choice.
type TaskSelector interface {
	// Select picks one of the job's bundles for free slots of a kind, and takes the room with
	// the methods of the choice. Without a pick it returns the reason.
	Select(c *Choice) (Pick, scheduler.WaitReason)
}

// Pick is a bundle and a launcher for each of its groups; the zero Pick is none.
type Pick struct {
	Bundle *view.Bundle
	Where  []scheduler.LauncherID
	// Level is how near to its input a located bundle was placed; Located says that
	// it has input that some launcher is near to.
	Level   scheduler.Locality
	Located bool
}

// Choice is the input of a TaskSelector.
type Choice struct {
	View  *view.View
	Job   *view.Job
	Kind  scheduler.SlotKind
	After scheduler.BundleID // bundles up to it are already assigned
	Level scheduler.Locality // the farthest level for located work
	// Unfit is set to the first bundle that may go anywhere and fits nowhere.
	Unfit *view.Bundle

	round *assignment
}

// NewSelector makes a task selector from the settings. It is called for each new version of the
// settings.
type NewSelector func(*allocation.Config) TaskSelector

// Selectors are the task selectors by name. Register adds another one.
var Selectors = settings.NewChoices("locality.selector", map[string]NewSelector{
	allocation.SelectorDefault: func(c *allocation.Config) TaskSelector { return defaultSelector{c.LocalityCap} },
})

// selector makes the task selector that the checked settings name.
func selector(c *allocation.Config) TaskSelector {
	made, _ := Selectors.Named(c.Selector)
	return made(c)
}

// Nearest returns how near to its input any launcher could run a bundle. It is Remote for input
// that lies nowhere, and where locality does not count. A gang has no one place. Where a flow
// places it, it is as far as its nearest group can be near; else Remote.
func (c *Choice) Nearest(b *view.Bundle) scheduler.Locality {
	if c.round.blind {
		return scheduler.Remote
	}
	if len(b.Groups) > 1 {
		return c.round.nearestOfGang(b)
	}
	if c.View.HasNear(b) { // the usual case, without a lookup of names
		return scheduler.NodeLocal
	}
	return c.round.World.Nearest(&b.Groups[0])
}

// Fit finds room for a bundle within a level of locality, and takes it.
func (c *Choice) Fit(b *view.Bundle, level scheduler.Locality) ([]scheduler.LauncherID, bool) {
	return c.round.fit(b, func() ([]scheduler.LauncherID, bool) {
		switch {
		case c.round.blind:
			return c.View.FitAnywhere(b)
		case level == scheduler.Remote:
			return c.View.Fit(b)
		}
		return c.View.FitNear(b, level)
	})
}

// FitOn is Fit on one launcher.
func (c *Choice) FitOn(l *view.Launcher, b *view.Bundle) ([]scheduler.LauncherID, bool) {
	return c.round.fit(b, func() ([]scheduler.LauncherID, bool) { return c.View.FitOn(l, b) })
}

// Free lists the launchers that had room for the kind at the first call in the round, at most
// nearMax.
func (c *Choice) Free() []*view.Launcher { return c.round.free(c.Kind) }

// setFar records that all checked work waits for room near its input, and there is none. As long
// as that holds, another check would find nothing. more says that there is other work. Where the
// user has a limit, which work is checked depends on it, and nothing is recorded.
func (c *Choice) setFar(more bool) {
	if c.Job.UserLimit().IsZero() && !c.View.Capacity.Reserved(c.Job.ID()) && !c.View.HasNearRoom(c.Job, c.Kind) {
		shares.Of(c.Job).Far = shares.Far{Kind: c.Kind, Places: c.round.World.Places, More: more}
	}
}

// far says whether that record still holds.
func (c *Choice) far() bool {
	x := &shares.Of(c.Job).Far
	if x.Kind != c.Kind || !c.Job.UserLimit().IsZero() || x.Places != c.round.World.Places || c.View.Capacity.Reserved(c.Job.ID()) || c.View.HasNearRoom(c.Job, c.Kind) {
		return false
	}
	if x.More {
		c.Free() // is as of when it is first asked, in this round as in one in which all is looked at
	}
	return true
}

// Bounds of one search for a job's work.
const (
	// scanMax bounds how many of a job's bundles are checked, lowest id first.
	scanMax = 32
	// nearMax is how many launchers with room are asked for what they hold.
	nearMax = 64
)

// defaultSelector takes work without a place as it comes, and other work as near
// to its input as can be.
type defaultSelector struct {
	cap scheduler.Locality // located work never goes further
}

func (s defaultSelector) Select(c *Choice) (Pick, scheduler.WaitReason) {
	level := min(c.Level, s.cap)
	if level == scheduler.NodeLocal && c.far() {
		return Pick{}, scheduler.WaitLocality
	}
	located := &c.round.located
	n, nodes, seen := 0, 0, 0
	reason := scheduler.WaitNone
	ready := c.Job.Launchable(c.Kind, c.After)
	for b := ready.Next(); b != nil; b = ready.Next() {
		if seen == 0 {
			c.After = b.ID - 1
		}
		if seen++; seen > scanMax {
			break
		}
		near := c.Nearest(b)
		if near == scheduler.Remote || near > s.cap {
			if where, ok := c.Fit(b, scheduler.Remote); ok {
				return Pick{Bundle: b, Where: where}, scheduler.WaitNone
			}
			reason = max(reason, b.Unfit())
			c.unfit(b)
			continue
		}
		if where, ok := c.Fit(b, near); ok {
			return Pick{b, where, near, near == scheduler.NodeLocal}, scheduler.WaitNone
		}
		located[n] = b
		n++
		if near == scheduler.NodeLocal {
			nodes++
		}
	}
	if n == 0 {
		return Pick{}, reason
	}
	if seen > scanMax {
		if pick := s.held(c); pick.Bundle != nil {
			return pick, scheduler.WaitNone
		}
	}
	for l := scheduler.RackLocal; l <= level; l++ {
		for _, b := range located[:n] {
			if where, ok := c.Fit(b, l); ok {
				return Pick{b, where, l, true}, scheduler.WaitNone
			}
		}
	}
	if level < scheduler.Remote {
		if nodes == min(seen, scanMax) {
			c.setFar(seen > scanMax)
		}
		return Pick{}, scheduler.WaitLocality
	}
	c.unfit(located[0])
	return Pick{}, located[0].Unfit()
}

func (c *Choice) unfit(b *view.Bundle) {
	if c.Unfit == nil {
		c.Unfit = b
	}
}

// held asks launchers with room for work whose input they hold. It is for jobs with more work
// than is checked.
func (defaultSelector) held(c *Choice) Pick {
	for _, l := range c.Free() {
		looked := 0
		ready := c.Job.LaunchableAt(l.Host)
		for b := ready.Next(); b != nil; b = ready.Next() {
			if looked++; looked > scanMax {
				break
			}
			if b.Groups[0].Kind != c.Kind {
				continue
			}
			if where, ok := c.FitOn(l, b); ok {
				return Pick{b, where, scheduler.NodeLocal, true}
			}
			break // no room, or not for such: another like it will not fit either
		}
	}
	return Pick{}
}
