// Command hamadryad-policy-smallest is a whole scheduling policy. Jobs with the least left to run
// go first, so a short job never waits behind a long one.
//
//	hamadryad policy check build/bin/hamadryad-policy-smallest
//	hamadryad local --policy smallest -- wordcount INPUT OUTPUT
package main

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/serve"
	"github.com/hamadryad/hamadryad/sdk/scheduler/settings"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

func main() { serve.Main(func() scheduler.TaskScheduler { return &smallest{} }) }

type smallest struct{ view.View }

// Check refuses every setting with its line: this policy has none.
func (p *smallest) Check(c scheduler.Config) error { return settings.Decode(c, &struct{}{}) }

func (p *smallest) Start(c scheduler.Config, s scheduler.Snapshot, _ scheduler.Environment) (scheduler.Description, error) {
	if err := p.Check(c); err != nil {
		return scheduler.Description{}, err
	}
	return scheduler.Description{Name: "smallest", Version: "1"}, p.View.Start(s)
}

func (p *smallest) AssignTasks(r scheduler.Round) (d scheduler.Decisions, err error) {
	if err := p.Apply(r); err != nil {
		return d, err
	}
	for _, e := range r.Events {
		if s, ok := e.(scheduler.SettingChanged); ok {
			d.Settings = append(d.Settings, settings.Verdict(s, p.Check(s.Config)))
		}
	}
	jobs := slices.Clone(p.Jobs())
	slices.SortStableFunc(jobs, func(a, b *view.Job) int { return cmp.Compare(left(a), left(b)) })
	for _, j := range jobs {
		for b := range p.ReadyOf(j) {
			if where, ok := p.Fit(b); ok { // takes what the bundle needs, so launches do not collide
				d.Launch = append(d.Launch, p.Launch(b, where))
			}
		}
	}
	return d, nil
}

// left is how many node groups of a job have not finished.
func left(j *view.Job) (n int) {
	for _, c := range j.Counts {
		n += c.Waiting + c.Running
	}
	return n
}

func (p *smallest) Explain(id scheduler.JobID) (scheduler.Explanation, error) {
	j := p.Job(id)
	if j == nil {
		return scheduler.Explanation{}, fmt.Errorf("%w: %s", scheduler.ErrUnknownJob, id)
	}
	return scheduler.Explanation{Reason: scheduler.WaitNoCapacity, Detail: fmt.Sprintf("jobs with fewer than %d groups left go first", left(j))}, nil
}

func (p *smallest) Status() (scheduler.Status, error) { return scheduler.Status{}, nil }

func (p *smallest) Terminate() {}
