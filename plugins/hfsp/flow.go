package hfsp

import (
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/gangs"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/locality"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/locality/placement"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// place places all launches of the round together, if the settings ask for a flow.
func (d *assignment) place() {
	firm := len(d.launches)
	for _, k := range d.kinds {
		d.offer(k)
	}
	dropped := d.placer.Place(&d.options.Locality, placement.Round{
		View:     &d.view,
		Levels:   func(launch int) int { return d.levels[launch] },
		Optional: func(launch int) bool { return launch >= firm },
	}, d.launches)
	if !d.options.Locality.Flow() {
		return
	}
	for _, i := range slices.Backward(dropped) {
		d.drop(i)
	}
	for i := range d.launches {
		d.placedAnew(i, i < firm)
	}
}

// offer launches work of stages that wait for locality on slots that no stage takes. The flow may
// move other launches so that a slot near the input becomes free. Otherwise the launch is dropped,
// and the stage goes on waiting.
func (d *assignment) offer(k *kind) {
	if !d.options.Locality.Flow() || d.view.Capacity.FreeSlots(k.name) == 0 {
		return
	}
	for s := range d.serve(k) {
		if d.turnOf(s).delayed {
			d.offerOf(s)
		}
		if d.view.Capacity.FreeSlots(k.name) == 0 {
			return
		}
	}
}

func (d *assignment) offerOf(s *stage) {
	level := s.wait.Allowed(d.view.Now(), d.limits())
	misses := 0
	for b := range d.index.Launchable(s.Stage) {
		if misses == locality.MissesMax || d.view.Capacity.FreeSlots(s.kind.name) == 0 {
			return
		}
		if d.located(b) {
			if where, ok := d.view.Fit(b); ok {
				d.launch(s, b, where, level)
				continue
			}
		}
		misses++
	}
}

// drop takes back an offered launch that found no slot near its input.
func (d *assignment) drop(launch int) {
	b := d.view.Bundle(d.launches[launch].Bundle)
	s := of(d.index.StageOf(b))
	s.granted -= gangs.Slots(b, s.kind.name)
	s.launched--
	d.launches, d.levels = slices.Delete(d.launches, launch, launch+1), slices.Delete(d.levels, launch, launch+1)
}

// placedAnew records how near to its input the flow placed a launch: its stage may go on at that
// level without waiting. A bundle of one group that was launched anyway has already ended the wait.
func (d *assignment) placedAnew(launch int, firm bool) {
	l := &d.launches[launch]
	b := d.view.Bundle(l.Bundle)
	if !d.located(b) {
		return
	}
	level := scheduler.NodeLocal
	for i := range b.Groups {
		if g := &b.Groups[i]; len(g.Places) > 0 {
			level = max(level, view.Locality(d.view.Launcher(l.Launchers[i]), g))
		}
	}
	wait := &of(d.index.StageOf(b)).wait
	if firm && len(b.Groups) == 1 {
		wait.Level = level
		return
	}
	wait.Launched(level)
}

// located reports whether a bundle waits for launchers near its input. Gangs do only where a flow
// places them.
func (d *assignment) located(b *view.Bundle) bool {
	if len(b.Groups) == 1 {
		return len(b.Groups[0].Places) > 0
	}
	return d.options.Locality.Flow() && slices.ContainsFunc(b.Groups, func(g scheduler.Group) bool { return len(g.Places) > 0 })
}
