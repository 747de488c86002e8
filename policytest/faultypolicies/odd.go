package faultypolicies

import (
	"bytes"
	"errors"
	"slices"
	"strconv"

	"github.com/hamadryad/hamadryad/policytest/policies"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/settings"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// Odd are policies that keep all rules, and waste resources. The kit passes them with a warning, of
// which Caught is part.
func Odd() []FaultyPolicy {
	plain := func(*view.View, scheduler.Round, *scheduler.Decisions) {}
	return []FaultyPolicy{
		odd("never preempted", policies.Delay, 0, plain),
		odd("never used a reservation", policies.Gang, 0, func(v *view.View, _ scheduler.Round, d *scheduler.Decisions) {
			d.Launch = slices.DeleteFunc(d.Launch, func(l scheduler.Launch) bool { return v.Capacity.Reserved(v.Bundle(l.Bundle).Job.ID()) })
			hold(v, d)
		}),
		odd("never suspended anything", policies.Delay, scheduler.AbilityResume, plain),
		odd("and refused none", policies.Admit, 0, func(_ *view.View, _ scheduler.Round, d *scheduler.Decisions) {
			for _, x := range d.Refuse {
				d.Admit = append(d.Admit, scheduler.Admit{Job: x.Job})
			}
			d.Refuse = nil
		}),
		odd("and refused them all", policies.Admit, 0, func(_ *view.View, _ scheduler.Round, d *scheduler.Decisions) {
			for _, x := range d.Admit {
				d.Refuse = append(d.Refuse, scheduler.Refuse{Job: x.Job, Reason: "not today"})
			}
			d.Admit = nil
		}),
		odd("never gave a checkpoint", policies.Delay, scheduler.AbilityCheckpoint, plain),
		odd("with an error", policies.Pages, 0, func(_ *view.View, _ scheduler.Round, d *scheduler.Decisions) {
			for i := range d.Answers {
				d.Answers[i].Status = 404
			}
		}),
		odd("asks for progress every 0s", policies.Delay, scheduler.AbilityProgress, plain),
		odd("and did something at 0 of them", policies.Load, 0, func(v *view.View, r scheduler.Round, d *scheduler.Decisions) {
			if d.WakeAt = 0; len(v.Jobs()) > 0 {
				d.WakeAt = r.Now + 1000
			}
			if woken(r) {
				d.WakeAt = 0
			}
		}),
		odd("a time that had passed", policies.Load, 0, func(_ *view.View, r scheduler.Round, d *scheduler.Decisions) {
			if d.WakeAt = 0; !woken(r) {
				d.WakeAt = r.Now / 1e6 // in milliseconds
			}
		}),
		odd("never started a second attempt", policies.Load, 0, func(v *view.View, _ scheduler.Round, d *scheduler.Decisions) {
			d.Launch = slices.DeleteFunc(d.Launch, func(l scheduler.Launch) bool { return v.Bundle(l.Bundle).SpeculationOffered })
			hold(v, d) // the slots that it preempted for gangs and does not use
		}),
		{"its stubs, are older", func() scheduler.TaskScheduler { return older{policies.Delay()} }, "skipped: events of kind 99: 3", true},
	}
}

// older is a policy whose SDK does not know a kind of events.
type older struct{ scheduler.TaskScheduler }

// Status tells so, as the SDKs do.
func (older) Status() (scheduler.Status, error) {
	return scheduler.Status{Facts: []scheduler.Property{{Name: "skipped: events of kind 99", Value: "3"}}}, nil
}

// hold reports all jobs as waiting for held slots: without a reason the kit fails idle slots.
func hold(v *view.View, d *scheduler.Decisions) {
	d.Waiting = nil
	for _, j := range v.Jobs() {
		d.Waiting = append(d.Waiting, scheduler.Waiting{Job: j.ID(), Reason: scheduler.WaitHeld, Detail: "as it likes"})
	}
}

// KeepsItsSettings accepts new settings and continues with the old ones; its successor uses others.
func KeepsItsSettings() scheduler.TaskScheduler { return &deaf{TaskScheduler: policies.Delay()} }

// RefusesChanges accepts only the settings that it is started with.
func RefusesChanges() scheduler.TaskScheduler {
	return &deaf{TaskScheduler: policies.Delay(), stubborn: true}
}

type deaf struct {
	scheduler.TaskScheduler
	stubborn bool
	first    []byte
}

// Start keeps the settings.
func (p *deaf) Start(c scheduler.Config, s scheduler.Snapshot, e scheduler.Environment) (scheduler.Description, error) {
	p.first = c.Text
	return p.TaskScheduler.Start(c, s, e)
}

// AssignTasks keeps changes from the good policy, and judges them itself.
func (p *deaf) AssignTasks(r scheduler.Round) (scheduler.Decisions, error) {
	var said []scheduler.SettingsVerdict
	r.Events = slices.DeleteFunc(slices.Clone(r.Events), func(e scheduler.Event) bool {
		s, is := e.(scheduler.SettingChanged)
		if is {
			err := p.Check(s.Config)
			if err == nil && p.stubborn && !bytes.Equal(s.Config.Text, p.first) {
				err = errors.New("start me again")
			}
			said = append(said, settings.Verdict(s, err))
		}
		return is
	})
	d, err := p.TaskScheduler.AssignTasks(r)
	d.Settings = said
	return d, err
}

// TrustsProperties shows the jobs' property named wait as a share.
func TrustsProperties() scheduler.TaskScheduler {
	s := odd("", policies.Delay, 0, func(*view.View, scheduler.Round, *scheduler.Decisions) {}).New().(*seer)
	return trusting{s}
}

type trusting struct{ *seer }

// Status shows the property unchecked.
func (p trusting) Status() (scheduler.Status, error) {
	pool := scheduler.PoolStatus{Name: "all"}
	for _, j := range p.view.Jobs() {
		for _, x := range j.Info.Properties {
			if f, err := strconv.ParseFloat(x.Value, 64); x.Name == "wait" && err == nil {
				pool.FairShare += f
			}
		}
	}
	return scheduler.Status{Pools: []scheduler.PoolStatus{pool}}, nil
}

func woken(r scheduler.Round) bool {
	return slices.ContainsFunc(r.Events, func(e scheduler.Event) bool { _, is := e.(scheduler.TimePassed); return is })
}

// seer is a good policy whose answers are falsified by code that sees the cluster too.
type seer struct {
	scheduler.TaskScheduler
	view  view.View
	also  scheduler.Ability
	spoil func(*view.View, scheduler.Round, *scheduler.Decisions)
}

func odd(caught string, good func() scheduler.TaskScheduler, also scheduler.Ability, spoil func(*view.View, scheduler.Round, *scheduler.Decisions)) FaultyPolicy {
	return FaultyPolicy{caught, func() scheduler.TaskScheduler {
		return &seer{TaskScheduler: good(), also: also, spoil: spoil}
	}, caught, true}
}

// Start is the good policy's, with one more ability.
func (s *seer) Start(c scheduler.Config, w scheduler.Snapshot, e scheduler.Environment) (scheduler.Description, error) {
	d, err := s.TaskScheduler.Start(c, w, e)
	d.Abilities |= s.also
	if err == nil {
		err = s.view.Start(w)
	}
	return d, err
}

// AssignTasks is the good policy's, spoilt.
func (s *seer) AssignTasks(r scheduler.Round) (scheduler.Decisions, error) {
	if err := s.view.Apply(r); err != nil {
		return scheduler.Decisions{}, err
	}
	d, err := s.TaskScheduler.AssignTasks(r)
	s.spoil(&s.view, r, &d)
	return d, err
}
