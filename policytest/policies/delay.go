package policies

import (
	"fmt"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// Delay lets a bundle wait (setting wait; default 2 s) for a launcher with its input before it
// takes any other. It reports the reason, as slots may be free meanwhile.
func Delay() scheduler.TaskScheduler {
	p := &base{about: scheduler.Description{Name: "delay", Version: "1"}}
	told := map[scheduler.JobID]bool{} // jobs whose last sent reason is locality
	p.loaded = func(scheduler.Snapshot) error { clear(told); return nil }
	p.decide = func(_ scheduler.Round, d *scheduler.Decisions) {
		waits := map[scheduler.JobID]bool{}
		for b := range p.Launchable() {
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
			case level == scheduler.NodeLocal:
				waits[b.Job.ID()] = true
				if d.WakeAt == 0 || until < d.WakeAt {
					d.WakeAt = until
				}
			}
		}
		p.reportLocality(told, waits, d)
	}
	return p
}

// reportLocality reports which jobs wait for locality, and which no longer do.
func (p *base) reportLocality(told, waits map[scheduler.JobID]bool, d *scheduler.Decisions) {
	for id := range told { // in any order
		if p.Job(id) == nil {
			delete(told, id)
		}
	}
	for _, j := range p.Jobs() {
		is := waits[j.ID()]
		if is == told[j.ID()] {
			continue
		}
		told[j.ID()] = is
		w := scheduler.Waiting{Job: j.ID()}
		if is {
			w.Reason, w.Detail = scheduler.WaitLocality, fmt.Sprintf("it waits up to %s for slots near its input", p.wait)
		}
		d.Waiting = append(d.Waiting, w)
	}
}

// hasHome reports whether a launcher that is not draining holds input of the bundle.
func (p *base) hasHome(b *view.Bundle) bool {
	return len(b.Groups) == 1 && slices.ContainsFunc(p.Launchers(), func(l *view.Launcher) bool {
		return !l.Closed() && view.Locality(l, &b.Groups[0]) == scheduler.NodeLocal
	})
}
