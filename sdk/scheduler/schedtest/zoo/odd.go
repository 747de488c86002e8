package zoo

import (
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedtest/policies"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// Odd are policies that keep all rules, and waste what they have. The kit passes them
// with a warning, of which Caught is part.
func Odd() []Animal {
	plain := func(*view.View, scheduler.Round, *scheduler.Decisions) {}
	return []Animal{
		odd("never preempted", policies.Delay, 0, plain),
		odd("never used a reservation", policies.Gang, 0, func(v *view.View, _ scheduler.Round, d *scheduler.Decisions) {
			d.Launch = slices.DeleteFunc(d.Launch, func(l scheduler.Launch) bool { return v.Reserved(v.Bundle(l.Bundle).Job.ID()) })
		}),
		odd("never suspended anything", policies.Delay, scheduler.AbilityResume, plain),
		odd("and refused none", policies.Admit, 0, func(_ *view.View, _ scheduler.Round, d *scheduler.Decisions) {
			for _, x := range d.Refuse {
				d.Admit = append(d.Admit, scheduler.Admit{Job: x.Job})
			}
			d.Refuse = nil
		}),
		odd("and refused them all", policies.Admit, 0, func(_ *view.View, _ scheduler.Round, d *scheduler.Decisions) {
			for _, x := range d.Admit {
				d.Refuse = append(d.Refuse, scheduler.Refuse{Job: x.Job, Reason: "not today"})
			}
			d.Admit = nil
		}),
		odd("never gave a checkpoint", policies.Delay, scheduler.AbilityCheckpoint, plain),
		odd("with an error", policies.Pages, 0, func(_ *view.View, _ scheduler.Round, d *scheduler.Decisions) {
			for i := range d.Answers {
				d.Answers[i].Status = 404
			}
		}),
		odd("asks for progress every 0s", policies.Delay, scheduler.AbilityProgress, plain),
		odd("and did something at 0 of them", policies.Load, 0, func(v *view.View, r scheduler.Round, d *scheduler.Decisions) {
			if d.WakeAt = 0; len(v.Jobs()) > 0 {
				d.WakeAt = r.Now + 1000
			}
			if woken(r) {
				d.WakeAt = 0
			}
		}),
		odd("a time that had passed", policies.Load, 0, func(_ *view.View, r scheduler.Round, d *scheduler.Decisions) {
			if d.WakeAt = 0; !woken(r) {
				d.WakeAt = r.Now / 1e6 // in milliseconds
			}
		}),
		odd("never started a second attempt", policies.Load, 0, func(v *view.View, _ scheduler.Round, d *scheduler.Decisions) {
			d.Launch = slices.DeleteFunc(d.Launch, func(l scheduler.Launch) bool { return v.Bundle(l.Bundle).Twice })
		}),
		odd("nothing ran and work fitted", policies.Load, 0, func(v *view.View, r scheduler.Round, d *scheduler.Decisions) {
			const tick = scheduler.Time(90 * time.Second)
			if d.Waiting = nil; r.Now%tick != 0 {
				d.Launch = nil
			}
			if d.WakeAt = 0; len(v.Jobs()) > 0 {
				d.WakeAt = (r.Now/tick + 1) * tick
			}
		}),
	}
}

func woken(r scheduler.Round) bool {
	return slices.ContainsFunc(r.Events, func(e scheduler.Event) bool { _, is := e.(scheduler.TimePassed); return is })
}

// seer is a good policy whose answers are spoilt by who sees the world too.
type seer struct {
	scheduler.TaskScheduler
	view  view.View
	also  scheduler.Ability
	spoil func(*view.View, scheduler.Round, *scheduler.Decisions)
}

func odd(caught string, good func() scheduler.TaskScheduler, also scheduler.Ability, spoil func(*view.View, scheduler.Round, *scheduler.Decisions)) Animal {
	return Animal{caught, func() scheduler.TaskScheduler {
		return &seer{TaskScheduler: good(), also: also, spoil: spoil}
	}, caught, true}
}

// Start is the good policy's, with one ability more.
func (s *seer) Start(c scheduler.Config, w scheduler.Snapshot, e scheduler.Environment) (scheduler.Description, error) {
	d, err := s.TaskScheduler.Start(c, w, e)
	d.Abilities |= s.also
	if err == nil {
		err = s.view.Start(w)
	}
	return d, err
}

// AssignTasks is the good policy's, spoilt.
func (s *seer) AssignTasks(r scheduler.Round) (scheduler.Decisions, error) {
	if err := s.view.Apply(r); err != nil {
		return scheduler.Decisions{}, err
	}
	d, err := s.TaskScheduler.AssignTasks(r)
	s.spoil(&s.view, r, &d)
	return d, err
}
