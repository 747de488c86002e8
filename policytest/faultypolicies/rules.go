package faultypolicies

import (
	"math"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/policytest/policies"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// RuleBreakers returns policies that break one rule of the contract each, and are good in all else. Jobs
// end under all of them, as the manager refuses what is wrong.
func RuleBreakers() []FaultyPolicy {
	return slices.Concat(reservers(), suspenders(), launchers(), answerers())
}

// breaks is a good policy whose answers are falsified by code that sees the cluster too.
func breaks(name, caught string, good func() scheduler.TaskScheduler, spoil func(*view.View, scheduler.Round, *scheduler.Decisions)) FaultyPolicy {
	p := odd(caught, good, 0, spoil)
	p.Name = name
	return p
}

// reservers break rules of Reserve.
func reservers() []FaultyPolicy {
	return []FaultyPolicy{
		breaks("reserves too much", "limit reached", policies.Delay, func(v *view.View, r scheduler.Round, d *scheduler.Decisions) {
			for b := range v.Ready() {
				launched := slices.ContainsFunc(d.Launch, func(l scheduler.Launch) bool { return l.Bundle == b.ID })
				if where, ok := v.FitIfEmpty(b); ok && b.State == view.Ready && b.ReservedUntil == 0 && !launched {
					d.Reserve = append(d.Reserve, scheduler.Reserve{Bundle: b.ID, Launchers: where, Until: r.Now.Add(time.Second)})
				}
			}
		}),
		breaks("reserves in the past", "would end at", policies.Reserve, func(_ *view.View, r scheduler.Round, d *scheduler.Decisions) {
			for i := range d.Reserve {
				d.Reserve[i].Until = r.Now
			}
		}),
		breaks("reserves for half a bundle", "wrong shape", policies.Reserve, func(_ *view.View, _ scheduler.Round, d *scheduler.Decisions) {
			for i := range d.Reserve {
				d.Reserve[i].Launchers = append(d.Reserve[i].Launchers, d.Reserve[i].Launchers[0])
			}
		}),
		breaks("withdraws what it has not", "to withdraw", policies.Delay, func(v *view.View, _ scheduler.Round, d *scheduler.Decisions) {
			for b := range v.Ready() {
				d.Reserve = append(d.Reserve, scheduler.Reserve{Bundle: b.ID})
				return
			}
		}),
	}
}

// suspenders break rules of suspension.
func suspenders() []FaultyPolicy {
	return []FaultyPolicy{
		{"suspends what forbids it", func() scheduler.TaskScheduler { return &blind{TaskScheduler: policies.Suspend(), stages: true} }, "forbids to suspend it", true},
		{"suspends too much", func() scheduler.TaskScheduler { return &blind{TaskScheduler: policies.Suspend(), limits: true} }, "limit reached", true},
		breaks("resumes what runs", "not suspended", policies.Suspend, func(v *view.View, _ scheduler.Round, d *scheduler.Decisions) {
			for _, j := range v.Jobs() {
				for _, a := range j.Attempts() {
					if a.State == view.Running {
						d.Resume = append(d.Resume, scheduler.Resume{Attempt: a.ID})
						return
					}
				}
			}
		}),
		breaks("gives much grace", "a grace of", policies.Gang, func(_ *view.View, _ scheduler.Round, d *scheduler.Decisions) {
			for i := range d.Preempt {
				d.Preempt[i].Grace = time.Hour
			}
		}),
	}
}

// launchers break rules of launches.
func launchers() []FaultyPolicy {
	elsewhere := func(may func(*view.Bundle, *view.Launcher) bool) func(*view.View, scheduler.Round, *scheduler.Decisions) {
		return func(v *view.View, _ scheduler.Round, d *scheduler.Decisions) {
			for i := range d.Launch {
				b := v.Bundle(d.Launch[i].Bundle)
				for _, l := range v.Launchers() {
					if may(b, l) {
						d.Launch[i].Launchers = slices.Repeat([]scheduler.LauncherID{l.ID}, len(b.Groups))
					}
				}
			}
		}
	}
	return []FaultyPolicy{
		breaks("launches where it is closed", "launcher unavailable", policies.Delay, elsewhere(func(_ *view.Bundle, l *view.Launcher) bool { return l.Closed() })),
		breaks("launches where it failed", "launcher unavailable", policies.Delay, elsewhere(func(b *view.Bundle, l *view.Launcher) bool { return slices.Contains(b.Avoid, l.ID) })),
	}
}

// answerers break rules of answers that are no decisions.
func answerers() []FaultyPolicy {
	none := func(*view.View, scheduler.Round, *scheduler.Decisions) {}
	return []FaultyPolicy{
		breaks("gives a checkpoint unasked", "a checkpoint without the ability", policies.Delay, func(_ *view.View, _ scheduler.Round, d *scheduler.Decisions) {
			d.Checkpoint = &scheduler.Checkpoint{Version: 1, Data: []byte("x")}
		}),
		breaks("refuses without a reason", "refused without a reason", policies.Admit, func(_ *view.View, _ scheduler.Round, d *scheduler.Decisions) {
			for i := range d.Refuse {
				d.Refuse[i].Reason = ""
			}
		}),
		breaks("answers nobody", "which nobody waits for", policies.Pages, func(_ *view.View, _ scheduler.Round, d *scheduler.Decisions) {
			for i := range d.Answers {
				d.Answers[i].Request += 1000
			}
		}),
		breaks("answers with no status", "it is an HTTP status", policies.Pages, func(_ *view.View, _ scheduler.Round, d *scheduler.Decisions) {
			for i := range d.Answers {
				d.Answers[i].Status = 0
			}
		}),
		breaks("judges no settings", "was neither accepted nor rejected", policies.Delay, func(_ *view.View, _ scheduler.Round, d *scheduler.Decisions) { d.Settings = nil }),
		breaks("judges other settings", "which was not asked for", policies.Delay, func(_ *view.View, _ scheduler.Round, d *scheduler.Decisions) {
			for i := range d.Settings {
				d.Settings[i].Version += 1000
			}
		}),
		breaks("accepts wrong settings", "accepted true, want false", policies.Delay, func(_ *view.View, _ scheduler.Round, d *scheduler.Decisions) {
			for i := range d.Settings {
				d.Settings[i].Problems = nil
			}
		}),
		breaks("says why the ended wait", "which is not live", policies.Delay, func(_ *view.View, r scheduler.Round, d *scheduler.Decisions) {
			for _, e := range r.Events {
				if f, is := e.(scheduler.JobFinished); is {
					d.Waiting = append(d.Waiting, scheduler.Waiting{Job: f.Job, Reason: scheduler.WaitTurn, Detail: "later"})
				}
			}
		}),
		{"queues the ended", func() scheduler.TaskScheduler {
			return &queuer{seer: breaks("", "", policies.Delay, none).New().(*seer)}
		}, "which is not live", true},
		breaks("is woken all the time", "asks to be woken", policies.Delay, func(v *view.View, r scheduler.Round, d *scheduler.Decisions) {
			d.WakeAt = r.Now.Add(100 * time.Microsecond)
		}),
	}
}

// queuer shows each job that it ever knew in its queue.
type queuer struct {
	*seer
	all []scheduler.Queued
}

// AssignTasks notes the jobs.
func (q *queuer) AssignTasks(r scheduler.Round) (scheduler.Decisions, error) {
	for _, e := range r.Events {
		if s, is := e.(scheduler.JobSubmitted); is {
			q.all = append(q.all, scheduler.Queued{Job: s.Job.ID})
		}
	}
	return q.seer.AssignTasks(r)
}

// Status shows them all.
func (q *queuer) Status() (scheduler.Status, error) { return scheduler.Status{Queue: q.all}, nil }

// blind hides from a policy which stages can't be suspended, or how much may be.
type blind struct {
	scheduler.TaskScheduler
	stages, limits bool
}

// Start hides it.
func (b *blind) Start(c scheduler.Config, s scheduler.Snapshot, e scheduler.Environment) (scheduler.Description, error) {
	s.Events = b.hide(s.Events)
	if b.limits {
		e.Limits.SuspendedMax, e.Limits.SuspendedPercent = math.MaxInt32, math.MaxInt32
	}
	return b.TaskScheduler.Start(c, s, e)
}

// AssignTasks hides it.
func (b *blind) AssignTasks(r scheduler.Round) (scheduler.Decisions, error) {
	r.Events = b.hide(r.Events)
	return b.TaskScheduler.AssignTasks(r)
}

func (b *blind) hide(events []scheduler.Event) []scheduler.Event {
	if !b.stages {
		return events
	}
	events = slices.Clone(events)
	for i, e := range events {
		if s, is := e.(scheduler.JobSubmitted); is {
			s.Job.Stages = slices.Clone(s.Job.Stages)
			for n := range s.Job.Stages {
				s.Job.Stages[n].NoSuspend = false
			}
			events[i] = s
		}
	}
	return events
}
