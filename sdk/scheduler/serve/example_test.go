package serve_test

import (
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/serve"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// launchAll launches whatever fits, in the order in which it became ready.
type launchAll struct{ view.View }

func (p *launchAll) Check(scheduler.Config) error { return nil }

func (p *launchAll) Start(_ scheduler.Config, s scheduler.Snapshot, _ scheduler.Environment) (scheduler.Description, error) {
	return scheduler.Description{Name: "launch-all", Version: "1"}, p.View.Start(s)
}

func (p *launchAll) AssignTasks(r scheduler.Round) (d scheduler.Decisions, err error) {
	if err := p.Apply(r); err != nil {
		return d, err
	}
	for b := range p.Ready() {
		if where, ok := p.Fit(b); ok {
			d.Launch = append(d.Launch, p.Launch(b, where))
		}
	}
	return d, nil
}

func (p *launchAll) Explain(id scheduler.JobID) (scheduler.Explanation, error) {
	if p.Job(id) == nil {
		return scheduler.Explanation{}, scheduler.ErrUnknownJob
	}
	return scheduler.Explanation{Reason: scheduler.WaitNoCapacity}, nil
}

func (p *launchAll) Status() (scheduler.Status, error) { return scheduler.Status{}, nil }

func (p *launchAll) Terminate() {}

// The whole main of a plug-in.
func ExampleMain() {
	serve.Main(func() scheduler.TaskScheduler { return &launchAll{} })
}
