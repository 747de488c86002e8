package policies

import (
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// Delay lets a bundle wait (setting wait; default 2 s) for a launcher that holds
// its input before it takes any.
func Delay() scheduler.TaskScheduler {
	p := &base{about: scheduler.Description{Name: "delay", Version: "1"}}
	p.decide = func(_ scheduler.Round, d *scheduler.Decisions) {
		for b := range p.Ready() {
			level := scheduler.Remote
			until := b.Since.Add(p.wait)
			if p.Now() < until && p.hasHome(b) {
				level = scheduler.NodeLocal
			}
			where, ok := p.FitNear(b, level)
			if len(b.Groups) > 1 {
				where, ok = p.Fit(b)
			}
			switch {
			case ok:
				d.Launch = append(d.Launch, p.Launch(b, where))
			case level == scheduler.NodeLocal && (d.WakeAt == 0 || until < d.WakeAt):
				d.WakeAt = until
			}
		}
	}
	return p
}

// hasHome says whether a launcher that is not draining holds input of the bundle.
func (p *base) hasHome(b *view.Bundle) bool {
	return len(b.Groups) == 1 && slices.ContainsFunc(p.Launchers(), func(l *view.Launcher) bool {
		return !l.Closed() && view.Locality(l, &b.Groups[0]) == scheduler.NodeLocal
	})
}
