package hfsp

import (
	"time"

	"github.com/hamadryad/hamadryad/plugins/hfsp/estimation"
	"github.com/hamadryad/hamadryad/plugins/hfsp/work"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/locality"
	"github.com/hamadryad/hamadryad/sdk/scheduler/settings"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// Policy is the HFSP policy. The zero value is ready for Check and Start.
type Policy struct {
	options     options
	environment scheduler.Environment
	view        view.View
	index       work.StageIndex
	estimator   estimation.Estimator
	kinds       []*kind // in order of name
	memory      memory
	saver       saver
	last        *assignment // the last round; nil before the first
	placer      locality.Placer
	took        bool // in the last round slots were preempted or reserved
	notes       []scheduler.Note
	reported    map[scheduler.JobID]scheduler.WaitReason // as last reported to the manager
}

var _ scheduler.TaskScheduler = (*Policy)(nil)

// New returns an HFSP policy.
func New() scheduler.TaskScheduler { return &Policy{} }

// Check validates settings.
func (p *Policy) Check(c scheduler.Config) error {
	_, err := parse(c)
	return err
}

// Start takes over settings, snapshot and, if there is one, the checkpoint.
func (p *Policy) Start(c scheduler.Config, s scheduler.Snapshot, e scheduler.Environment) (scheduler.Description, error) {
	o, err := parse(c)
	if err != nil {
		return scheduler.Description{}, err
	}
	*p = Policy{options: o, environment: e, view: p.view, index: p.index, reported: map[scheduler.JobID]scheduler.WaitReason{}}
	if err := p.view.Start(s); err != nil {
		return scheduler.Description{}, err
	}
	p.estimator = o.newEstimator()
	p.index.Start(&p.view)
	for _, j := range p.view.Jobs() {
		p.meet(j.ID())
	}
	missed := p.recall(s)
	p.countSlots()
	p.learn(missed)
	for _, j := range p.view.Jobs() {
		for _, w := range p.index.Stages(j.ID()) {
			p.updateStage(of(w))
		}
	}
	d := scheduler.Description{Name: "hfsp", Version: "1"}
	d.Abilities, d.ProgressEvery = o.abilities()
	return d, nil
}

// AssignTasks decides one round.
func (p *Policy) AssignTasks(r scheduler.Round) (scheduler.Decisions, error) {
	d := scheduler.Decisions{Notes: p.notes}
	p.notes = nil
	if err := p.view.Apply(r); err != nil {
		return d, err
	}
	for _, e := range r.Events {
		if s, ok := e.(scheduler.SettingChanged); ok {
			d.Settings = append(d.Settings, p.change(s))
		}
	}
	for _, k := range p.kinds {
		k.cluster.Advance(r.Now)
	}
	p.index.Update(r.Events)
	p.update(r.Events)
	for _, k := range p.kinds {
		p.deal(k)
	}
	a := &assignment{Policy: p}
	if p.last != nil {
		a.before, a.begun, a.touched = p.last.begun, p.last.before[:0], p.last.touched[:0]
		p.last.Policy, p.last.begun, p.last.before, p.last.touched = nil, nil, nil, nil
	}
	for _, w := range p.index.Changed() {
		a.touched = append(a.touched, of(w))
	}
	a.assign()
	d.Preempt, d.Resume, d.Launch = a.preempts, a.resumes, a.launches
	d.WakeAt = a.wakeAt
	d.Waiting = a.explainWaits()
	if len(d.Preempt)+len(d.Resume) == 0 {
		d.Launch = p.view.LaunchAhead(d.Launch, nil, nil)
	}
	p.last = a
	p.index.EndRound()
	d.Checkpoint = p.remember()
	return d, nil
}

// update processes the events of a round that view and index have applied.
func (p *Policy) update(events []scheduler.Event) {
	for _, e := range events {
		switch e := e.(type) {
		case scheduler.LauncherJoined:
			p.memory.suspends(e.Launcher) // view.Capacity.MaySuspend knows those that say they can't
		case scheduler.JobSubmitted:
			p.meet(e.Job.ID)
		case scheduler.StageGrown:
			p.meet(e.Job)
		}
	}
	if p.view.LaunchersChanged() {
		p.countSlots()
	}
	p.learn(events)
	for _, w := range p.index.Changed() {
		p.updateStage(of(w))
	}
	for _, w := range p.index.Ended() {
		p.part(of(w))
	}
	p.memory.forget(&p.view)
	for _, e := range events {
		if f, ok := e.(scheduler.JobFinished); ok {
			delete(p.reported, f.Job)
		}
	}
}

// change applies a new version of the settings, or returns the error in it.
func (p *Policy) change(s scheduler.SettingChanged) scheduler.SettingsVerdict {
	o, err := parse(s.Config)
	v := settings.Verdict(s, err)
	if err == nil {
		p.setOptions(o)
		v.Abilities, v.ProgressEvery = o.abilities()
		for _, j := range p.view.Jobs() {
			for _, w := range p.index.Stages(j.ID()) {
				p.index.Touch(w)
			}
		}
	}
	return v
}

// setOptions applies settings while jobs run. A different estimator starts without data, since it
// can't read what the last one learnt.
func (p *Policy) setOptions(o options) {
	was := p.options.Estimator
	p.options = o
	if o.Estimator == was {
		p.estimator.Configure(o.estimation())
		return
	}
	p.estimator = o.newEstimator()
	p.saver.size = 0 // the checkpoint is the last estimator's
	for _, j := range p.view.Jobs() {
		for _, w := range p.index.Stages(j.ID()) {
			of(w).tasks = newTasks(w)
		}
	}
}

// heartbeat is the period of launchers' heartbeats, at least a millisecond.
func (p *Policy) heartbeat() time.Duration { return max(p.environment.Heartbeat, time.Millisecond) }

// Terminate ends the policy; it holds nothing that needs an end.
func (p *Policy) Terminate() {}
