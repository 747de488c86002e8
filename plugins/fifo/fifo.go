package fifo

import (
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/locality"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/locality/placement"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/queueorder"
	"github.com/hamadryad/hamadryad/sdk/scheduler/settings"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// Policy is the FIFO policy. The zero value is ready for Check and Start.
type Policy struct {
	options options
	view    view.View
	queue   []*view.Job // live jobs, in order
	waiting []*view.Job // queued jobs with something to launch or report; in order
	// reasons is why each waiting job waits, as last reported to the manager.
	reasons map[scheduler.JobID]scheduler.WaitReason
	placer  locality.Placer
}

var _ scheduler.TaskScheduler = (*Policy)(nil)

// New returns a FIFO policy.
func New() scheduler.TaskScheduler { return &Policy{} }

// Check validates settings.
func (p *Policy) Check(c scheduler.Config) error {
	_, err := parse(c)
	return err
}

// Start takes over settings and world.
func (p *Policy) Start(c scheduler.Config, s scheduler.Snapshot, _ scheduler.Environment) (scheduler.Description, error) {
	o, err := parse(c)
	if err != nil {
		return scheduler.Description{}, err
	}
	if err := p.view.Start(s); err != nil {
		return scheduler.Description{}, err
	}
	p.options, p.reasons = o, map[scheduler.JobID]scheduler.WaitReason{}
	p.queue = slices.SortedFunc(slices.Values(p.view.Jobs()), queueorder.ByPriority)
	p.waiting = nil
	for _, j := range p.queue {
		if j.ReadyCount() > 0 {
			p.waiting = append(p.waiting, j)
		}
	}
	return scheduler.Description{Name: "fifo", Version: "1"}, nil
}

// AssignTasks decides one round.
func (p *Policy) AssignTasks(r scheduler.Round) (scheduler.Decisions, error) {
	var d scheduler.Decisions
	if err := p.view.Apply(r); err != nil {
		return d, err
	}
	p.requeue(r.Events)
	for _, e := range r.Events {
		if s, ok := e.(scheduler.SettingChanged); ok {
			d.Settings = append(d.Settings, p.change(s))
		}
	}
	a := assignment{view: &p.view, locality: &p.options.Locality, collectAfter: p.options.CollectAfter, queue: p.queue}
	for _, j := range p.waiting {
		a.next(j)
		if told := p.reasons[j.ID()]; told != a.reason {
			d.Waiting = append(d.Waiting, scheduler.Waiting{Job: j.ID(), Reason: a.reason, Detail: a.detail()})
			p.reasons[j.ID()] = a.reason
		}
	}
	p.placer.Place(&p.options.Locality, placement.Round{View: &p.view}, a.launches)
	a.kept.Release(&p.view)
	p.waiting = slices.DeleteFunc(p.waiting, p.settled)
	d.Launch = a.launches
	return d, nil
}

// settled says whether nothing of a job waits any more; then it drops the job's reason.
func (p *Policy) settled(j *view.Job) bool {
	if j.ReadyCount() > 0 {
		return false
	}
	delete(p.reasons, j.ID())
	return true
}

// change applies a new version of the settings, or returns its problems.
func (p *Policy) change(s scheduler.SettingChanged) scheduler.SettingsVerdict {
	o, err := parse(s.Config)
	if err == nil {
		p.options = o
	}
	return settings.Verdict(s, err)
}

// Terminate ends the policy; it holds nothing that needs an end.
func (p *Policy) Terminate() {}
