package policytest

import (
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// greedy is a policy that launches all ready bundles that fit, in order of submission. The jobs of a
// game that it can't end need not end under any policy.
type greedy struct{ view view.View }

func newGreedy() scheduler.TaskScheduler { return &greedy{} }

// Check accepts anything, as the settings are those of another policy.
func (p *greedy) Check(scheduler.Config) error { return nil }

// Start takes the snapshot.
func (p *greedy) Start(_ scheduler.Config, s scheduler.Snapshot, _ scheduler.Environment) (scheduler.Description, error) {
	return scheduler.Description{Name: "greedy", Version: "1"}, p.view.Start(s)
}

// AssignTasks launches what fits, and accepts all settings.
func (p *greedy) AssignTasks(r scheduler.Round) (d scheduler.Decisions, err error) {
	if err := p.view.Apply(r); err != nil {
		return d, err
	}
	for _, e := range r.Events {
		if s, is := e.(scheduler.SettingChanged); is {
			d.Settings = append(d.Settings, scheduler.SettingsVerdict{Version: s.Version})
		}
	}
	for _, j := range p.view.Jobs() {
		for b := range j.Ready() {
			if where, fits := p.view.Fit(b); fits {
				d.Launch = append(d.Launch, p.view.Launch(b, where))
			}
		}
	}
	return d, nil
}

// Explain knows the live jobs.
func (p *greedy) Explain(id scheduler.JobID) (scheduler.Explanation, error) {
	if p.view.Job(id) == nil {
		return scheduler.Explanation{}, scheduler.ErrUnknownJob
	}
	return scheduler.Explanation{}, nil
}

// Status shows nothing.
func (p *greedy) Status() (scheduler.Status, error) { return scheduler.Status{}, nil }

// Terminate has nothing to end.
func (p *greedy) Terminate() {}
