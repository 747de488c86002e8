package hfsp

import (
	"math"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/gangs"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/locality"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

const (
	// pausedMax bounds how many suspended launches of a stage are checked for free slots in a
	// round.
	pausedMax = 256
)

// open reports whether any slot is free that the stage's job could take.
func (d *assignment) open(s *stage) bool {
	return d.view.Capacity.FreeSlots(s.kind.name) > 0 || d.view.Capacity.Reserved(s.Job.ID())
}

// useRest gives the slots left after all stages got their share to any stage that can use them, in
// order.
func (d *assignment) useRest(k *kind) {
	none := func() bool {
		return d.view.Capacity.FreeSlots(k.name) == 0 && d.view.Capacity.FreeForResume(k.name) == 0 && !d.view.Capacity.AnyReserved()
	}
	if none() {
		return
	}
	for s := range d.serve(k) {
		if s.ReadyBundles > 0 || s.AnyPaused() {
			d.begin(s)
			d.fill(s, math.MaxInt)
		}
		if none() {
			return
		}
	}
}

// fill resumes and launches a stage's work up to upTo slots. Suspended launches come first, the
// oldest first, each on its own launchers; then work that never ran.
func (d *assignment) fill(s *stage, upTo int) {
	if s.has() >= upTo {
		return
	}
	if s.AnyPaused() {
		d.resume(s, upTo)
	}
	if s.ReadyBundles == s.launched || !d.open(s) {
		return
	}
	level := scheduler.Remote
	if d.waits() {
		level = s.wait.Allowed(d.view.Now(), d.limits())
	}
	p := d.pass(s, upTo, level)
	if s.Job.Located() && !d.options.Locality.Blind() {
		p.Near(level)
	}
	p.Each(d.index.Launchable(s.Stage), func(b *view.Bundle) ([]scheduler.LauncherID, bool) { return d.fitWithin(s, b, level) })
	if d.waits() {
		d.skipped(s, upTo, level)
	}
}

// resume resumes suspended launches whose slots are free.
func (d *assignment) resume(s *stage, upTo int) {
	tried := 0
	for u := range s.Paused {
		if s.has() >= upTo || tried == pausedMax {
			return
		}
		tried++
		if u.Turn == d.view.Round() || !d.kept.Without(&d.view, func() bool { return d.view.Capacity.TakeForResume(u.Attempts[0]) }) {
			continue
		}
		u.Turn = d.view.Round()
		s.granted += u.Slots
		d.resumes = append(d.resumes, scheduler.Resume{Attempt: u.Attempts[0].ID})
	}
}

// pass launches bundles of a stage, up to upTo slots. level is how far from its input the stage's
// work may be placed.
func (d *assignment) pass(s *stage, upTo int, level scheduler.Locality) *locality.Pass {
	p := &locality.Pass{View: &d.view, Job: s.Job, Kind: s.kind.name, Seconds: true}
	p.Full = func() bool { return s.has() >= upTo || !p.Open() }
	p.May = func(b *view.Bundle) bool { return d.index.StageOf(b) == s.Stage }
	p.Launch = func(b *view.Bundle, where []scheduler.LauncherID) {
		d.launch(s, b, where, level)
		if g := &b.Groups[0]; len(b.Groups) == 1 && len(g.Places) > 0 {
			s.wait.Launched(view.Locality(d.view.Launcher(where[0]), g))
		}
	}
	return p
}

// fitWithin finds a place for a bundle of a stage whose work may be placed up to level from its
// input.
func (d *assignment) fitWithin(s *stage, b *view.Bundle, level scheduler.Locality) ([]scheduler.LauncherID, bool) {
	if level != scheduler.Remote && d.located(b) {
		return d.view.FitReserved(b)
	}
	where, ok := d.options.Locality.Fit(&d.view, b)
	if !ok {
		if s.unfit == nil {
			s.unfit = b
		}
		d.collect(s, b)
	}
	return where, ok
}

// launch launches a bundle of a stage whose work may be placed up to level from its input.
func (d *assignment) launch(s *stage, b *view.Bundle, where []scheduler.LauncherID, level scheduler.Locality) {
	d.launches, d.levels = append(d.launches, d.view.Launch(b, where)), append(d.levels, int(level)+1)
	s.granted += gangs.Slots(b, s.kind.name)
	s.launched++
}

// collect holds back slots for a bundle that has been passed over for CollectAfter. Suspended
// launches are resumed all the same, since they hold memory.
func (d *assignment) collect(s *stage, b *view.Bundle) {
	if s.launched == 0 && d.kept.Collect(&d.view, b, d.options.CollectAfter) {
		d.keptFor = s.Job.ID()
	}
}

// waits reports whether stages wait for launchers near their input.
func (d *assignment) waits() bool {
	return d.options.Locality.Mode == locality.ModeAttempts || d.options.Locality.Waits()
}

// limits returns how long, or for how many offers, stages wait for locality.
func (d *assignment) limits() locality.Limits {
	if d.options.Locality.Mode != locality.ModeAttempts {
		return d.options.Locality.Limits(d.heartbeat())
	}
	// In this mode Skip is never called and Waited is set by hand, so a Wait counts offers instead
	// of time.
	skips := func(n int) time.Duration {
		if n < 0 {
			n = len(d.view.Launchers())
		}
		return time.Duration(n)
	}
	return locality.Limits{Node: skips(d.options.Locality.NodeSkips), Rack: skips(d.options.Locality.RackSkips)}
}

// skipped records whether a stage declined free slots because they are far from its input.
func (d *assignment) skipped(s *stage, upTo int, level scheduler.Locality) {
	now := d.view.Now()
	passed := level != scheduler.Remote && s.has() < upTo && s.launched < s.ReadyBundles && d.view.Capacity.FreeSlots(s.kind.name) > 0 && d.somewhereLocated(s)
	if d.options.Locality.Mode != locality.ModeAttempts {
		if !passed {
			s.wait.Pause(now)
			return
		}
		s.delayed = true
		s.wait.Skip(now)
		if at, ok := s.wait.Next(now, d.limits()); ok {
			d.wake(at)
		}
		return
	}
	if !passed {
		return
	}
	s.delayed = true
	if next := s.skip.Add(d.heartbeat()); s.skip == 0 || now >= next {
		for range d.view.Capacity.WithRoom(s.kind.name) {
			s.wait.Waited++
		}
		s.skip = now
	}
	d.wake(s.skip.Add(d.heartbeat()))
}

// somewhereLocated reports whether one of a stage's next bundles has input on some launcher. It depends
// on what can be launched now, and not on what once could: a restarted policy does not know that.
func (d *assignment) somewhereLocated(s *stage) bool {
	if !s.Job.Located() && s.Job.GangCount() == 0 {
		return false
	}
	n := 0
	for b := range d.index.Launchable(s.Stage) {
		if d.located(b) {
			return true
		}
		if n++; n == locality.MissesMax {
			return false
		}
	}
	return false
}
