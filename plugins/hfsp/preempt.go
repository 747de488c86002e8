package hfsp

import (
	"cmp"
	"slices"

	"github.com/hamadryad/hamadryad/plugins/hfsp/virtual"
	"github.com/hamadryad/hamadryad/plugins/hfsp/work"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/gangs"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/preemption"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

const (
	// victimsMax bounds the victims that are tried for one bundle.
	victimsMax = 64
	// pausedTriesMax bounds the suspended launches of a stage for which victims are sought in a
	// round.
	pausedTriesMax = 8
	// fruitlessMax bounds the failed searches for victims in a round: one for each stage.
	fruitlessMax = 4
)

// mode returns how a stage's attempts are preempted; 0 means never.
func (p *Policy) mode(s *stage) scheduler.PreemptMode {
	choice := p.options.PreemptMaps
	if s.Info().Shuffles {
		choice = p.options.PreemptReduces
	}
	switch choice {
	case preemptKill:
		return scheduler.PreemptKill
	case preemptSuspend:
		return scheduler.PreemptSuspend
	}
	return 0
}

// loser is a stage that has more slots than it is entitled to.
type loser struct {
	stage  *stage
	excess int // slots
	mode   scheduler.PreemptMode
	finish scheduler.Time // in the virtual cluster
}

// preemptForStages preempts for stages that hold fewer slots than they are entitled to, in order.
func (d *assignment) preemptForStages(k *kind) {
	if len(k.soft) == 0 {
		return
	}
	var losers []*loser
	looked := false
	for _, e := range k.entitled {
		s := e.stage
		lack := s.entitled - s.has()
		if lack <= 0 || s.ReadyBundles == s.launched && s.Suspended == 0 || s.lacked {
			continue
		}
		s.lacked = true
		if lack -= d.due(s, lack); lack <= 0 {
			continue
		}
		if at := d.memory.retryAt(s.Job.ID()); at > d.view.Now() {
			d.wake(at)
			continue
		}
		if !looked {
			looked, losers = true, d.losers(k)
		}
		if len(losers) == 0 || d.fruitless == fruitlessMax {
			return
		}
		if !d.takeFor(s, lack, losers) {
			d.fruitless++
		}
	}
}

// due returns the part of a stage's lack that slots cover which are reserved or being preempted for
// its job. Each slot counts once a round.
func (d *assignment) due(s *stage, lack int) int {
	key := coming{s.Job.ID(), s.kind.name}
	if d.coming == nil {
		d.coming = map[coming]int{}
		for _, k := range d.kinds {
			for _, x := range k.leaving {
				for u := range x.Oldest {
					for _, a := range u.Attempts {
						if a.Leaving != 0 && a.State != view.Suspended {
							d.coming[coming{a.Leaving, a.Need.Kind}] += a.Need.Slots
						}
					}
				}
			}
		}
	}
	if _, known := d.coming[coming{key.job, ""}]; !known {
		d.coming[coming{key.job, ""}] = 1 // the job's reserved slots are counted
		for _, k := range d.kinds {
			d.coming[coming{key.job, k.name}] += d.view.Capacity.ReservedSlots(key.job, k.name)
		}
	}
	n := min(d.coming[key], lack)
	d.coming[key] -= n
	return n
}

// losers lists the stages that hold preemptible slots beyond their entitlement. The least urgent
// stage comes first: the reverse of the order in which stages are served.
func (d *assignment) losers(k *kind) (all []*loser) {
	for _, s := range k.soft {
		d.begin(s)
		if excess := s.Held - s.entitled; excess > 0 {
			l := &loser{stage: s, excess: excess, mode: d.mode(s)}
			switch {
			case s.early:
				l.finish = virtual.Never
			case s.job != nil:
				l.finish = k.cluster.Finish(s.job)
			}
			all = append(all, l)
		}
	}
	slices.SortFunc(all, func(a, b *loser) int { return cmp.Or(cmp.Compare(b.finish, a.finish), compare(b.stage, a.stage)) })
	return all
}

// takeFor picks victims for a stage until its lack is covered, and reports whether it found any. It
// serves suspended launches first, the oldest first, then the stage's next bundles.
func (d *assignment) takeFor(s *stage, lack int, losers []*loser) (found bool) {
	tried := 0
	for u := range s.Paused {
		if lack <= 0 || tried == pausedTriesMax {
			break
		}
		if u.Turn == d.view.Round() || u.Slots > lack && found {
			continue
		}
		tried++
		if d.goOn(u, losers) {
			found = true
			lack -= u.Slots
		}
	}
	if lack <= 0 {
		return found
	}
	return d.takeForReady(s, lack, losers) || found
}

// goOn picks victims for a suspended launch, all preempted the same way: it resumes on its own
// launchers.
func (d *assignment) goOn(u *work.Unit, losers []*loser) bool {
	return d.victimsToGoOn(u, scheduler.PreemptSuspend, losers) || d.victimsToGoOn(u, scheduler.PreemptKill, losers)
}

func (d *assignment) victimsToGoOn(u *work.Unit, mode scheduler.PreemptMode, losers []*loser) bool {
	on := func(a *view.Attempt) bool {
		return slices.ContainsFunc(u.Attempts, func(x *view.Attempt) bool { return x.Launcher == a.Launcher })
	}
	mark := d.view.Capacity.Mark()
	var taken []victim
	for v, l := range d.candidates(mode, losers) {
		if !slices.ContainsFunc(v.Attempts, on) {
			continue
		}
		for _, a := range v.Attempts {
			d.view.Capacity.Release(a, mode == scheduler.PreemptSuspend)
		}
		taken = append(taken, victim{v, l})
		taken[len(taken)-1].take(d.view.Round())
		if d.view.Capacity.TakeForResume(u.Attempts[0]) {
			d.view.Capacity.HoldForUsers(mark)
			u.Turn = d.view.Round()
			d.preempts = append(d.preempts, preemption.Stop(scheduler.Preempt{Mode: mode, For: u.Bundle.Job.ID(), Bundle: u.Bundle.ID}, taken))
			return true
		}
		if len(taken) == victimsMax {
			break
		}
	}
	d.view.Capacity.Undo(mark)
	for _, v := range taken {
		v.giveBack()
	}
	return false
}

// takeForReady picks victims for a stage's next bundles.
func (d *assignment) takeForReady(s *stage, lack int, losers []*loser) (found bool) {
	for b := range d.index.Launchable(s.Stage) {
		need := gangs.Slots(b, s.kind.name)
		if b.SpeculationOffered || need > lack && (found || s.has() > 0) {
			continue
		}
		p, ok := d.victims(b, scheduler.PreemptSuspend, losers)
		if !ok {
			p, ok = d.victims(b, scheduler.PreemptKill, losers)
		}
		if !ok {
			return found // if one bundle finds no victims, the rest are not tried
		}
		found = true
		b.LeaveOut() // so that no later search tries it
		if len(b.Groups) == 1 && b.Groups[0].Slots == 1 && s.Job.LaunchableCount() == s.ReadyBundles {
			p.Bundle, p.Placement = 0, nil
		}
		d.preempts = append(d.preempts, p)
		if lack -= need; lack <= 0 {
			return found
		}
	}
	return found
}

// victims picks launches to preempt, all in one mode, until a bundle fits.
func (d *assignment) victims(b *view.Bundle, mode scheduler.PreemptMode, losers []*loser) (p scheduler.Preempt, ok bool) {
	next := d.candidates(mode, losers)
	search := preemption.Search{View: &d.view, Bundle: b, Suspend: mode == scheduler.PreemptSuspend, Most: victimsMax}
	victims, where := preemption.FindAmong(search, func() (v victim, found bool) {
		for u, l := range next {
			if search.Useful(u.Attempts) {
				v = victim{u, l}
				v.take(d.view.Round())
				return v, true
			}
		}
		return v, false
	}, victim.giveBack)
	p = scheduler.Preempt{Mode: mode, For: b.Job.ID(), Bundle: b.ID, Placement: where}
	return preemption.Stop(p, victims), where != nil
}

// victim is a launch that is preempted, with the stage that loses it.
type victim struct {
	*work.Unit
	from *loser
}

// Live returns the victim's live attempts.
func (v victim) Live() []*view.Attempt { return v.Attempts }

func (v victim) take(round uint64) {
	v.Turn = round
	v.from.excess -= v.Slots
}

func (v victim) giveBack() {
	v.Turn = 0
	v.from.excess += v.Slots
}

// candidates walks the launches that can be preempted in one mode: the least urgent stage first,
// the youngest launch first. A second walk continues where the first ended: all launches before
// that are taken or can't be preempted.
func (d *assignment) candidates(mode scheduler.PreemptMode, losers []*loser) func(func(*work.Unit, *loser) bool) {
	return func(yield func(*work.Unit, *loser) bool) {
		for _, l := range losers {
			if l.mode != mode {
				continue
			}
			for u := range l.stage.Youngest {
				if l.excess < u.Slots {
					break
				}
				if d.mayGo(u, l) && !yield(u, l) {
					return
				}
			}
		}
	}
}

// mayGo reports whether a launch can be preempted now.
func (d *assignment) mayGo(u *work.Unit, l *loser) bool {
	switch {
	case u.Turn == d.view.Round(), !u.Stays(), u.Ends(), u.Slots == 0, d.launchesSpeculatively(u.Bundle):
		return false
	case u.Bundle.ProtectedUntil > d.view.Now():
		d.wake(u.Bundle.ProtectedUntil)
		return false
	case l.mode == scheduler.PreemptKill:
		return !d.isSample(u, l.stage)
	}
	return u.Runs() && !u.Bundle.NoSuspend() && d.view.Capacity.MaySuspend(u.Attempts, d.environment.Limits) && !slices.ContainsFunc(u.Attempts, func(a *view.Attempt) bool { return !d.canSuspend(u, a) })
}

// launchesSpeculatively reports whether the round launches a second attempt of a bundle. Then the
// first attempt is not preempted.
func (d *assignment) launchesSpeculatively(b *view.Bundle) bool {
	return b.SpeculationOffered && b.LeftOut()
}

// isSample reports whether a launch is one of the samples that train its stage. Samples are not
// killed, since that throws their work away.
func (d *assignment) isSample(u *work.Unit, s *stage) bool {
	if !s.trains {
		return false
	}
	t := d.estimator.Training(s.tasks)
	left := t.Need - t.Finished
	for x := range s.Oldest {
		if left <= 0 {
			return false
		}
		if x == u {
			return true
		}
		left -= len(x.Attempts)
	}
	return false
}

// canSuspend reports whether an attempt's launcher can suspend it together with all else that is
// being suspended there: SuspendedMax and SuspendedMemory bound both.
func (d *assignment) canSuspend(of *work.Unit, a *view.Attempt) bool {
	l := d.view.Launcher(a.Launcher)
	if l == nil || d.memory.neverSuspends(l.ID) {
		return false
	}
	n, memory := l.Offer.Suspended+1, l.Offer.Held+a.Need.Memory
	for _, x := range l.Attempts() {
		u := d.index.Unit(x)
		goes := x.Leaving != 0 || u == of || u != nil && u.Turn == d.view.Round()
		if x != a && x.State != view.Suspended && goes {
			n++
			memory += x.Need.Memory
		}
	}
	return n <= d.options.SuspendedMax && float64(memory) <= d.options.SuspendedMemory*float64(l.Memory)
}
