package scheduler_test

import (
	"fmt"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/settings"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// eager is a whole policy: it launches what fits, in order of submission.
type eager struct{ view.View }

var _ scheduler.TaskScheduler = (*eager)(nil)

func (p *eager) Check(c scheduler.Config) error { return settings.Decode(c, &struct{}{}) }

func (p *eager) Start(c scheduler.Config, s scheduler.Snapshot, _ scheduler.Environment) (scheduler.Description, error) {
	if err := p.Check(c); err != nil {
		return scheduler.Description{}, err
	}
	return scheduler.Description{Name: "eager", Version: "1"}, p.View.Start(s)
}

func (p *eager) AssignTasks(r scheduler.Round) (scheduler.Decisions, error) {
	var d scheduler.Decisions
	if err := p.Apply(r); err != nil {
		return d, err
	}
	for _, e := range r.Events {
		if s, ok := e.(scheduler.SettingChanged); ok {
			d.Settings = append(d.Settings, settings.Verdict(s, p.Check(s.Config)))
		}
	}
	for b := range p.Ready() {
		if where, ok := p.Fit(b); ok {
			d.Launch = append(d.Launch, p.Launch(b, where))
		}
	}
	return d, nil
}

func (p *eager) Explain(id scheduler.JobID) (scheduler.Explanation, error) {
	if p.Job(id) == nil {
		return scheduler.Explanation{}, fmt.Errorf("%w: %s", scheduler.ErrUnknownJob, id)
	}
	return scheduler.Explanation{Reason: scheduler.WaitNoCapacity, Detail: "all slots are taken"}, nil
}

func (p *eager) Status() (scheduler.Status, error) { return scheduler.Status{}, nil }

func (p *eager) Terminate() {}

// A round tells what happened and what is free; the answer says what to start, and
// where. A plug-in's main is serve.Main, with a function that makes the policy.
func ExampleTaskScheduler() {
	slots := []scheduler.SlotCount{{Kind: scheduler.DefaultKind, Count: 2}}
	need := []scheduler.Group{{Kind: scheduler.DefaultKind, Slots: 1}}
	p := &eager{}
	if _, err := p.Start(scheduler.Config{}, scheduler.Snapshot{}, scheduler.Environment{}); err != nil {
		fmt.Println(err)
	}
	d, err := p.AssignTasks(scheduler.Round{
		Number: 1,
		Events: []scheduler.Event{
			scheduler.LauncherJoined{Launcher: 1, Slots: slots},
			scheduler.JobSubmitted{Job: scheduler.Job{ID: 7, Stages: []scheduler.Stage{{Groups: 3, Kind: scheduler.DefaultKind, Slots: 1}}}},
			scheduler.BundleReady{Job: 7, Bundle: 10, Groups: need},
			scheduler.BundleReady{Job: 7, Bundle: 11, Groups: need},
			scheduler.BundleReady{Job: 7, Bundle: 12, Groups: need},
		},
		Offers: []scheduler.Offer{{Launcher: 1, Free: slots}},
	})
	for _, l := range d.Launch {
		fmt.Println(l.Bundle, "on launchers", l.Launchers)
	}
	fmt.Println(err)
	why, _ := p.Explain(7)
	fmt.Println(why.Reason)
	// Output:
	// bundle-10 on launchers [1]
	// bundle-11 on launchers [1]
	// <nil>
	// no free capacity
}

// A preemption names its victims, and who gets what they leave. The manager takes the
// set whole or refuses it, and reserves the slots until the bundle starts.
func ExamplePreempt() {
	d := scheduler.Decisions{Preempt: []scheduler.Preempt{{
		Victims: []scheduler.AttemptID{41, 42}, Mode: scheduler.PreemptSoft, Grace: 10 * time.Second,
		For: 7, Bundle: 12, Placement: []scheduler.LauncherID{1, 1},
	}}}
	p := d.Preempt[0]
	fmt.Printf("%s of attempts %v for %v of %s\n", p.Mode, p.Victims, p.Bundle, p.For)
	// Output:
	// soft kill of attempts [attempt-41 attempt-42] for bundle-12 of job-7
}

// Each decision has one outcome, in the next round. One that is refused changed
// nothing; the policy decides anew.
func ExampleOutcome() {
	for _, e := range []scheduler.Event{
		scheduler.Outcome{Kind: scheduler.DecisionLaunch, Index: 0, Accepted: true, Attempts: []scheduler.AttemptID{41}, Launch: scheduler.Launch{Bundle: 10}},
		scheduler.Outcome{Kind: scheduler.DecisionLaunch, Index: 1, Reason: scheduler.NoCapacity, Launch: scheduler.Launch{Bundle: 11}},
	} {
		switch e := e.(type) {
		case scheduler.Outcome:
			if e.Accepted {
				fmt.Println(e.Kind, "of", e.Launch.Bundle, "became attempts", e.Attempts)
			} else {
				fmt.Println(e.Kind, "of", e.Launch.Bundle, "was refused:", e.Reason)
			}
		}
	}
	// Output:
	// launch of bundle-10 became attempts [attempt-41]
	// launch of bundle-11 was refused: no capacity
}

// What is wrong with settings is told with its file and line.
func ExampleProblems() {
	options := struct {
		Groups int `yaml:"groups"`
	}{Groups: 10}
	err := settings.Decode(scheduler.Config{File: "site.yaml", Line: 12, Text: []byte("groups: 3\ngruops: 4\n")}, &options)
	fmt.Println(err)
	// Output:
	// site.yaml:13: unknown setting "gruops": correct its name or remove it; did you mean groups?
}
