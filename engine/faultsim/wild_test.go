package faultsim

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// wild makes all decisions at random, and launches most bundles that fit. It calms down with the
// faults.
type wild struct {
	view.View
	rand  *rand.Rand
	ahead bool // launches ahead
}

func newWild() scheduler.TaskScheduler { return &wild{} }

// newWildAhead is newWild, and launches ahead. It is a policy of its own, so that the histories of
// the other one stay.
func newWildAhead() scheduler.TaskScheduler { return &wild{ahead: true} }

func (p *wild) Check(scheduler.Config) error { return nil }

func (p *wild) Start(_ scheduler.Config, s scheduler.Snapshot, _ scheduler.Environment) (scheduler.Description, error) {
	p.rand = rand.New(rand.NewPCG(uint64(s.Now), 1))
	d := scheduler.Description{Name: "wild", Version: "1", ProgressEvery: time.Second}
	for _, a := range []scheduler.Ability{scheduler.AbilityProgress, scheduler.AbilityResume, scheduler.AbilityAdmission, scheduler.AbilityAdvisoryAdmission, scheduler.AbilityLoggedRequests, scheduler.AbilityCheckpoint, scheduler.AbilityLoad} {
		if p.rand.IntN(2) == 0 {
			d.Abilities |= a
		}
	}
	if p.ahead {
		d.Abilities |= scheduler.AbilityAhead
	}
	return d, p.View.Start(s)
}

func (p *wild) AssignTasks(r scheduler.Round) (scheduler.Decisions, error) {
	var d scheduler.Decisions
	if err := p.Apply(r); err != nil {
		return d, err
	}
	restless := r.Now < start.Add(faultsFor)
	p.answer(r, &d)
	for _, j := range p.Jobs() {
		for _, a := range j.Attempts() {
			if a.State == view.Suspended && p.rand.IntN(3) == 0 {
				d.Resume = append(d.Resume, scheduler.Resume{Attempt: a.ID})
			}
			if restless && p.rand.IntN(40) == 0 {
				d.Preempt = append(d.Preempt, p.preempt(a))
			}
			if restless && p.rand.IntN(60) == 0 {
				d.Speculate = append(d.Speculate, scheduler.Speculate{Bundle: a.Bundle.ID})
			}
		}
	}
	for b := range p.Launchable() {
		where, ok := p.Fit(b)
		if restless && p.rand.IntN(20) == 0 && len(p.Launchers()) > 0 { // as if it had not looked
			where, ok = nil, true
			for range b.Groups {
				where = append(where, p.Launchers()[p.rand.IntN(len(p.Launchers()))].ID)
			}
		}
		switch {
		case ok && p.rand.IntN(5) > 0:
			d.Launch = append(d.Launch, p.Launch(b, where))
		case restless && p.rand.IntN(5) == 0:
			d.Reserve = append(d.Reserve, p.reserve(b))
		}
	}
	if p.ahead {
		p.launchAhead(&d)
	}
	d.WakeAt = r.Now.Add(time.Duration(1+p.rand.IntN(3000)) * time.Millisecond)
	if p.rand.IntN(10) == 0 {
		d.Checkpoint = &scheduler.Checkpoint{Version: 1, Data: []byte{1}, Append: p.rand.IntN(10) > 0}
	}
	return d, nil
}

// launchAhead launches some bundles ahead where there is room for them, and preempts some that are
// held.
func (p *wild) launchAhead(d *scheduler.Decisions) {
	restless := p.Now() < start.Add(faultsFor)
	for _, l := range p.Launchers() {
		for _, x := range l.Offer.Ahead {
			n := x.Count
			for b := range p.Job(x.Job).Ready() {
				if n > 0 && len(b.Groups) == 1 && b.Groups[0].Stage == x.Stage && !slices.Contains(b.Avoid, l.ID) {
					n--
					launch := p.Launch(b, []scheduler.LauncherID{l.ID})
					launch.Ahead = true
					d.Launch = append(d.Launch, launch)
				}
			}
		}
	}
	for _, j := range p.Jobs() {
		for _, a := range j.Ahead() {
			if restless && p.rand.IntN(40) == 0 {
				d.Preempt = append(d.Preempt, p.preempt(a))
			}
		}
	}
}

// preempt preempts an attempt, for some job with a ready bundle if there is one, or for a suspended
// attempt on its launcher.
func (p *wild) preempt(a *view.Attempt) scheduler.Preempt {
	d := scheduler.Preempt{Victims: []scheduler.AttemptID{a.ID}, Mode: scheduler.PreemptMode(1 + p.rand.IntN(3)), Grace: time.Second, For: a.Job().ID()}
	if l := p.Launcher(a.Launcher); l != nil && p.rand.IntN(2) == 0 {
		for _, x := range l.Attempts() {
			if x.State == view.Suspended && p.rand.IntN(2) == 0 {
				d.For, d.Bundle = x.Job().ID(), x.Bundle.ID
				return d
			}
		}
	}
	for b := range p.Ready() {
		if p.rand.IntN(3) == 0 {
			d.For = b.Job.ID()
			if p.rand.IntN(2) == 0 {
				d.Bundle = b.ID
			}
			break
		}
	}
	return d
}

// reserve reserves any launchers for a bundle, or withdraws its reservation.
func (p *wild) reserve(b *view.Bundle) scheduler.Reserve {
	d := scheduler.Reserve{Bundle: b.ID, Until: p.Now().Add(time.Duration(p.rand.IntN(20000)-100) * time.Millisecond)}
	for range b.Groups {
		if all := p.Launchers(); len(all) > 0 && p.rand.IntN(4) > 0 {
			d.Launchers = append(d.Launchers, all[p.rand.IntN(len(all))].ID)
		}
	}
	return d
}

func (p *wild) answer(r scheduler.Round, d *scheduler.Decisions) {
	for _, e := range r.Events {
		switch e := e.(type) {
		case scheduler.AdmissionAsked:
			if p.rand.IntN(20) == 0 {
				d.Refuse = append(d.Refuse, scheduler.Refuse{Job: e.Job.ID, Reason: "a whim"})
			} else {
				d.Admit = append(d.Admit, scheduler.Admit{Job: e.Job.ID})
			}
		case scheduler.Requested:
			d.Answers = append(d.Answers, scheduler.Answer{Request: e.Request, Status: 200})
		case scheduler.SettingChanged:
			d.Settings = append(d.Settings, scheduler.SettingsVerdict{Version: e.Version})
		}
	}
}

func (p *wild) Explain(scheduler.JobID) (scheduler.Explanation, error) {
	return scheduler.Explanation{}, nil
}
func (p *wild) Status() (scheduler.Status, error) { return scheduler.Status{}, nil }
func (p *wild) Terminate()                        {}
