// Command seesaw is a policy that suspends and resumes attempts that execute after a shuffle, again
// and again. It suspends the attempt for a task of the job "noop", which takes its slot, and
// resumes it when that task has ended. It reports the number of cycles, and the medians of the
// times from its decisions to their effects.
package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/serve"
	"github.com/hamadryad/hamadryad/sdk/scheduler/settings"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

func main() { serve.Main(func() scheduler.TaskScheduler { return &seesaw{} }) }

// options are its settings.
type options struct {
	Cycles int `yaml:"cycles"` // for each job
	Jobs   int `yaml:"jobs"`   // how many come; then "noop" may end
}

// again is its polling period where it can wait for no event.
const again = 10 * time.Millisecond

type seesaw struct {
	view.View
	options options

	victim  scheduler.AttemptID // 0: none, or it has ended
	at      step
	asked   scheduler.Time
	since   scheduler.Time // since when the victim is suspended
	cycles  map[scheduler.JobID]int
	stops   []time.Duration
	resumes []time.Duration
}

// step is the phase of its cycle with the victim.
type step int

const (
	runs    step = iota
	stops        // suspension requested
	stands       // suspended: another may run
	waits        // for the other
	rises        // the other has ended
	resumes      // resumption requested
)

func read(c scheduler.Config) (o options, err error) {
	err = settings.Decode(c, &o)
	return o, err
}

func (p *seesaw) Check(c scheduler.Config) error {
	_, err := read(c)
	return err
}

func (p *seesaw) Start(c scheduler.Config, s scheduler.Snapshot, _ scheduler.Environment) (d scheduler.Description, err error) {
	p.cycles = map[scheduler.JobID]int{}
	if p.options, err = read(c); err != nil {
		return d, err
	}
	return scheduler.Description{Name: "seesaw", Version: "1", Abilities: scheduler.AbilityResume}, p.View.Start(s)
}

func (p *seesaw) AssignTasks(r scheduler.Round) (d scheduler.Decisions, err error) {
	if err := p.Apply(r); err != nil {
		return d, err
	}
	for _, e := range r.Events {
		p.hear(e)
	}
	p.decide(&d)
	d.WakeAt = p.Now().Add(again)
	return d, nil
}

func (p *seesaw) hear(e scheduler.Event) {
	switch e := e.(type) {
	case scheduler.AttemptSuspended:
		if p.at == stops {
			p.stops, p.at, p.since = append(p.stops, e.At.Sub(p.asked)), stands, e.At
		}
	case scheduler.AttemptResumed:
		if p.at == resumes {
			p.resumes, p.at = append(p.resumes, e.At.Sub(p.asked)), runs
			for _, j := range p.Jobs() {
				if slices.ContainsFunc(j.Attempts(), func(a *view.Attempt) bool { return a.ID == e.Attempt }) {
					p.cycles[j.ID()]++
				}
			}
		}
	case scheduler.AttemptEnded:
		switch {
		case e.Attempt == p.victim && p.at == stops:
			p.at, p.victim = stands, 0 // its slot is still reserved for the other job
		case e.Attempt == p.victim, p.at == waits && p.victim == 0:
			p.at, p.victim = runs, 0
		case p.at == waits:
			p.at = rises
		}
	case scheduler.Outcome:
		switch {
		case e.Reason == scheduler.NotRefused:
		case p.at == stops:
			p.at = runs
		case p.at == waits:
			p.at = stands
		case p.at == resumes:
			p.at = rises
		}
	}
}

func (p *seesaw) decide(d *scheduler.Decisions) {
	var other *view.Job
	alone := true
	for _, j := range p.Jobs() {
		if j.Info.Name == "noop" {
			other = j
			continue
		}
		alone = false
		if p.at != stands && p.at != waits {
			p.launch(j, d, -1)
		}
	}
	switch {
	case other == nil:
	case alone && len(p.resumes) < p.options.Jobs*p.options.Cycles:
	case alone:
		p.launch(other, d, -1)
	case p.at == runs:
		p.suspend(other, d)
	case p.at == stands && p.launch(other, d, 1):
		p.at = waits
	}
	if p.at == rises && p.Now().Sub(p.since) >= p.rest() {
		d.Resume = append(d.Resume, scheduler.Resume{Attempt: p.victim})
		p.at, p.asked = resumes, p.Now()
	}
}

// rest is the duration of the victim's suspension: longer the last time, for people to see it.
func (p *seesaw) rest() time.Duration {
	for _, j := range p.Jobs() {
		if p.cycles[j.ID()] == p.options.Cycles-1 && slices.ContainsFunc(j.Attempts(), func(a *view.Attempt) bool { return a.ID == p.victim }) {
			return time.Second
		}
	}
	return 0
}

// launch launches at most most of a job's ready bundles that fit.
func (p *seesaw) launch(j *view.Job, d *scheduler.Decisions, most int) bool {
	before := len(d.Launch)
	for b := range j.Launchable("", 0).All() {
		if len(d.Launch)-before == most {
			break
		}
		if where, ok := p.Fit(b); ok {
			d.Launch = append(d.Launch, p.Launch(b, where))
		}
	}
	return len(d.Launch) > before
}

// suspend suspends an attempt that executes after its shuffle, for another job.
func (p *seesaw) suspend(other *view.Job, d *scheduler.Decisions) {
	for _, j := range p.Jobs() {
		if j == other || p.cycles[j.ID()] == p.options.Cycles {
			continue
		}
		for _, a := range j.Attempts() {
			if a.State == view.Running && a.Phase == scheduler.PhaseExecute && j.Info.Stages[a.Need.Stage].Shuffles && other.LaunchableCount() > 0 {
				d.Preempt = append(d.Preempt, scheduler.Preempt{Victims: []scheduler.AttemptID{a.ID}, Mode: scheduler.PreemptSuspend, For: other.ID()})
				p.at, p.victim, p.asked = stops, a.ID, p.Now()
				return
			}
		}
	}
}

func (p *seesaw) Explain(id scheduler.JobID) (scheduler.Explanation, error) {
	if p.Job(id) == nil {
		return scheduler.Explanation{}, fmt.Errorf("%w: %s", scheduler.ErrUnknownJob, id)
	}
	return scheduler.Explanation{Reason: scheduler.WaitTurn}, nil
}

func (p *seesaw) Status() (s scheduler.Status, err error) {
	for _, f := range []struct {
		name  string
		times []time.Duration
	}{{"suspended", p.stops}, {"resumed", p.resumes}} {
		all := slices.Sorted(slices.Values(f.times))
		text := "0 times"
		if len(all) > 0 {
			text = fmt.Sprintf("%d times, median %v", len(all), all[len(all)/2].Round(time.Microsecond))
		}
		s.Facts = append(s.Facts, scheduler.Property{Name: f.name, Value: text})
	}
	return s, nil
}

func (p *seesaw) Terminate() {}
