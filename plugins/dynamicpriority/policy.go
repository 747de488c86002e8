package dynamicpriority

import (
	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/account"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/locality"
	"github.com/hamadryad/hamadryad/sdk/scheduler/settings"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// Policy is the dynamic-priority policy. The zero value is ready for Check and Start.
type Policy struct {
	options     options
	environment scheduler.Environment
	view        view.View
	ledger      *account.Ledger
	world       world
	store       store
	memory      memory
	last        *assignment // the last round; nil before the first
	placer      locality.Placer
}

var _ scheduler.TaskScheduler = (*Policy)(nil)

// New returns a dynamic-priority policy.
func New() scheduler.TaskScheduler { return &Policy{} }

// Check validates settings.
func (p *Policy) Check(c scheduler.Config) error {
	_, err := parse(c)
	return err
}

// Start loads settings, the snapshot and, if there is one, the checkpoint.
func (p *Policy) Start(c scheduler.Config, s scheduler.Snapshot, e scheduler.Environment) (scheduler.Description, error) {
	o, err := parse(c)
	if err != nil {
		return scheduler.Description{}, err
	}
	*p = Policy{options: o, environment: e, view: p.view, ledger: account.New(o.AllocInterval)}
	if err := p.view.Start(s); err != nil {
		return scheduler.Description{}, err
	}
	if e.Simulated {
		p.ledger.Alone()
	}
	if err := p.memory.load(s, p.ledger); err != nil {
		return scheduler.Description{}, err
	}
	now := int64(s.Now)
	p.ledger.Begin(now)
	p.world.start(&p.view, p.ledger)
	for _, j := range p.view.Jobs() {
		p.meet(j)
	}
	for _, j := range p.view.Jobs() {
		for _, a := range j.Attempts() {
			p.world.hold(a, now)
		}
	}
	p.ledger.SetSlots(p.world.countSlots(), now)
	p.memory.leave(p.memory.Leaving.Start(&p.view))
	return scheduler.Description{
		Name: "dynamic-priority", Version: "1",
		Abilities: scheduler.AbilityAdmission | scheduler.AbilityLoggedRequests | scheduler.AbilityCheckpoint | scheduler.AbilityAhead,
	}, nil
}

// AssignTasks decides one round.
func (p *Policy) AssignTasks(r scheduler.Round) (scheduler.Decisions, error) {
	var d scheduler.Decisions
	if err := p.view.Apply(r); err != nil {
		return d, err
	}
	for _, e := range r.Events {
		p.ledger.Advance(int64(e.When()))
		p.event(e, &d)
	}
	p.ledger.Advance(int64(r.Now))
	p.admit(&d)
	p.memory.leave(p.memory.Leaving.After(&p.view, r.Events))
	p.world.updateWaiting()
	if p.view.LaunchersChanged() {
		p.ledger.SetSlots(p.world.countSlots(), int64(r.Now))
	}
	a := &assignment{Policy: p}
	a.assign()
	d.Launch, d.Preempt = a.launches, a.preempts
	d.Waiting = a.explainWaits()
	if len(d.Preempt) == 0 && p.ledger.Known() {
		d.Launch = p.view.LaunchAhead(d.Launch, nil, nil)
	}
	d.WakeAt = a.wakeAt()
	p.last = a
	p.world.rest()
	p.post(&d)
	var err error
	d.Checkpoint, err = p.memory.save(p.ledger, p.environment.Limits.CheckpointBytes)
	return d, err
}

// event handles an event. The view has already applied the whole round.
func (p *Policy) event(e scheduler.Event, d *scheduler.Decisions) {
	at := int64(e.When())
	switch e := e.(type) {
	case scheduler.JobSubmitted:
		if j := p.view.Job(e.Job.ID); j != nil {
			p.meet(j)
		}
	case scheduler.JobUpdated:
		p.world.move(e.Job)
	case scheduler.JobFinished:
		p.world.part(e.Job)
	case scheduler.StageGrown:
		p.world.grow(e.Job)
	case scheduler.BundleReady:
		p.world.touch(e.Job)
	case scheduler.BundleWithdrawn:
		p.world.touch(e.Job)
	case scheduler.BundleReopened:
		p.world.touch(e.Job)
	case scheduler.BundleGivenUp:
		p.world.touch(e.Job)
	case scheduler.SpeculationOffered:
		p.world.touch(e.Job)
	case scheduler.SpeculationWithdrawn:
		p.world.touch(e.Job)
	case scheduler.AttemptSuspended:
		p.world.release(e.Attempt, at)
	case scheduler.AttemptResumed:
		p.world.again(e.Attempt, at)
	case scheduler.AttemptTookSlots:
		p.world.again(e.Attempt, at)
	case scheduler.AttemptEnded:
		p.world.release(e.Attempt, at)
	case scheduler.Outcome:
		p.world.outcome(e)
	case scheduler.Noted:
		p.noted(e)
	case scheduler.AdmissionAsked:
		p.store.asked = append(p.store.asked, e.Job)
	case scheduler.Requested:
		d.Answers = append(d.Answers, p.answer(e))
	case scheduler.SettingChanged:
		d.Settings = append(d.Settings, p.change(e))
	}
}

// meet adds a job to its queue. In a simulation it opens the queue if necessary.
func (p *Policy) meet(j *view.Job) {
	user := j.Info.User
	if p.environment.Simulated && p.ledger.Queue(user) == nil && p.ledger.AddQueue(user) == nil {
		_ = p.ledger.AddBudget(user, p.options.budget) // parse has checked it, as the rate
		_ = p.ledger.SetSpending(user, p.options.spending)
	}
	p.world.meet(j)
}

// change applies a new version of the settings, or returns what is wrong with it.
func (p *Policy) change(s scheduler.SettingChanged) scheduler.SettingsVerdict {
	o, err := parse(s.Config)
	if err == nil {
		p.options = o
		p.ledger.SetLength(o.AllocInterval, int64(s.At))
	}
	return settings.Verdict(s, err)
}

// wakeAt returns when the policy must act without an event: an interval ends, slots may be
// reclaimed again, or an attempt's protection ends.
func (d *assignment) wakeAt() scheduler.Time {
	at := scheduler.Time(0)
	if len(d.world.jobs) > 0 || d.ledger.Price() > 0 {
		at = d.view.Sooner(at, scheduler.Time(d.ledger.Next()))
	}
	for _, k := range d.lacking {
		at = d.view.Sooner(at, d.memory.due(k, d.options.KillInterval))
		at = d.view.Sooner(at, d.protectedTill)
	}
	if len(d.world.waiting) > 0 && d.options.CollectAfter > 0 {
		at = d.view.Sooner(at, d.overdueAt)
	}
	return at
}

// Terminate ends the policy; it has nothing to release.
func (p *Policy) Terminate() {}
