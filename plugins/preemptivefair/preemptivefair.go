package preemptivefair

import (
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/locality"
	"github.com/hamadryad/hamadryad/sdk/scheduler/settings"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// progressEvery is the interval of attempts' progress reports, when progress decides which
// attempt loses.
const progressEvery = time.Second

// Policy is the preemptive-fair policy. The zero value is ready for Check and
// Start.
type Policy struct {
	options     options
	environment scheduler.Environment
	view        view.View
	memory      memory
	world       *world      // as of the last round
	last        *assignment // the last round; nil before the first
	placer      locality.Placer
}

var _ scheduler.TaskScheduler = (*Policy)(nil)

// New returns a preemptive-fair policy.
func New() scheduler.TaskScheduler { return &Policy{} }

// Check validates settings.
func (p *Policy) Check(c scheduler.Config) error {
	_, err := parse(c)
	return err
}

// Start applies settings, world and, if there is one, the checkpoint.
func (p *Policy) Start(c scheduler.Config, s scheduler.Snapshot, e scheduler.Environment) (scheduler.Description, error) {
	o, err := parse(c)
	if err != nil {
		return scheduler.Description{}, err
	}
	if err := p.view.Start(s); err != nil {
		return scheduler.Description{}, err
	}
	missed, err := p.memory.load(s)
	if err != nil {
		return scheduler.Description{}, err
	}
	p.options, p.environment, p.last = o, e, nil
	p.memory.Leaving = p.memory.Leaving.Start(&p.view)
	for _, l := range p.view.Launchers() {
		p.memory.NoSuspend = p.memory.NoSuspend || l.NoSuspend
	}
	p.world = newWorld(&p.view)
	if len(missed) > 0 {
		p.memory.meet(p.view.Jobs())
		p.memory.updateNewcomers(p.world)
		p.memory.learn(&p.view, missed)
	}
	d := scheduler.Description{Name: "preemptive-fair", Version: "1"}
	d.Abilities, d.ProgressEvery = o.abilities()
	return d, nil
}

// abilities returns what the policy can do. It asks for progress if its decisions depend on it.
func (o options) abilities() (able scheduler.Ability, progress time.Duration) {
	if o.AttemptLoses == leastProgress {
		return scheduler.AbilityCheckpoint | scheduler.AbilityProgress, progressEvery
	}
	return scheduler.AbilityCheckpoint, 0
}

// AssignTasks decides one round.
func (p *Policy) AssignTasks(r scheduler.Round) (scheduler.Decisions, error) {
	var d scheduler.Decisions
	if err := p.view.Apply(r); err != nil {
		return d, err
	}
	for _, e := range r.Events {
		if s, ok := e.(scheduler.SettingChanged); ok {
			d.Settings = append(d.Settings, p.change(s))
		}
	}
	p.memory.Leaving = p.memory.Leaving.After(&p.view, r.Events)
	p.world.update(r.Events)
	p.world.part(p.memory.Leaving)
	p.memory.learn(&p.view, r.Events)
	p.memory.meet(p.view.Jobs())
	p.memory.updateNewcomers(p.world)
	p.memory.forget(&p.view)
	p.memory.wait(p.world)
	a := &assignment{world: p.world, options: p.options, memory: &p.memory, seed: p.environment.Seed, limits: p.environment.Limits, placer: &p.placer}
	a.assign()
	d.Launch, d.Preempt = a.launches, a.preempts
	d.WakeAt = a.wakeAt()
	d.Waiting = a.explainWaits()
	p.last = a
	p.world.rest()
	var err error
	d.Checkpoint, err = p.memory.save()
	return d, err
}

// change applies a new version of the settings, or returns its problems.
func (p *Policy) change(s scheduler.SettingChanged) scheduler.SettingsVerdict {
	o, err := parse(s.Config)
	v := settings.Verdict(s, err)
	if err == nil {
		p.options = o
		v.Abilities, v.ProgressEvery = o.abilities()
	}
	return v
}

// wakeAt returns when the policy could decide something without an event: a hold ends, a refused
// preemption may be retried, or a protection ends.
func (d *assignment) wakeAt() scheduler.Time {
	at := scheduler.Time(0)
	for _, requests := range d.requests {
		for _, c := range requests {
			if c.kept != "" {
				at = d.view.Sooner(at, d.keepTill)
			}
		}
	}
	if d.lacking {
		at = d.view.Sooner(at, d.protectedTill)
	}
	for _, n := range d.memory.Newcomers {
		if n.Refused < refusedMax {
			at = d.view.Sooner(at, n.RetryAt)
		}
	}
	return at
}

// Terminate ends the policy; it holds nothing that needs an end.
func (p *Policy) Terminate() {}
