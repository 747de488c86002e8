package policies

import (
	"fmt"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// loadMax is the highest CPU or memory load of a machine that gets work.
const loadMax = 0.8

// Load launches nothing on busy machines, whatever makes them busy. An unknown load is no reason to
// skip a launcher.
func Load() scheduler.TaskScheduler {
	p := &base{about: scheduler.Description{Name: "load", Version: "1", Abilities: scheduler.AbilityLoad}}
	told := map[scheduler.JobID]scheduler.WaitReason{} // the last reasons of live jobs
	p.loaded = func(scheduler.Snapshot) error { clear(told); return nil }
	p.decide = func(r scheduler.Round, d *scheduler.Decisions) {
		busy := 0
		for _, l := range p.Launchers() {
			over := l.CPULoad > loadMax || l.MemoryLoad > loadMax
			p.Capacity.Withhold(l, over)
			if over {
				busy++
			}
		}
		for _, e := range r.Events {
			if f, ok := e.(scheduler.JobFinished); ok {
				delete(told, f.Job)
			}
		}
		for _, j := range p.byPriority() {
			why := scheduler.WaitNone
			for b := range j.Launchable("", 0).All() {
				if where, ok := p.Fit(b); ok {
					d.Launch = append(d.Launch, p.Launch(b, where))
				} else if !b.SpeculationOffered {
					why = scheduler.WaitNoCapacity
				}
			}
			if why != told[j.ID()] {
				told[j.ID()] = why
				d.Waiting = append(d.Waiting, scheduler.Waiting{
					Job: j.ID(), Reason: why, Detail: fmt.Sprintf("%d of %d launchers are busier than %v", busy, len(p.Launchers()), loadMax),
				})
			}
		}
	}
	return p
}
