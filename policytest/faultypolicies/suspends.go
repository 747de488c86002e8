package faultypolicies

import (
	"slices"

	"github.com/hamadryad/hamadryad/policytest/policies"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// SuspendsAnywhere suspends attempts on launchers that can't suspend, too.
func SuspendsAnywhere() scheduler.TaskScheduler {
	return hiding{policies.Suspend(), func(e scheduler.Event) scheduler.Event {
		if l, joined := e.(scheduler.LauncherJoined); joined {
			l.NoSuspend = false
			return l
		}
		return e
	}}
}

// IgnoresStops preempts attempts that the manager stops, too.
func IgnoresStops() scheduler.TaskScheduler {
	return hiding{policies.Suspend(), func(e scheduler.Event) scheduler.Event {
		if s, is := e.(scheduler.AttemptStopping); is {
			return scheduler.TimePassed{At: s.At}
		}
		return e
	}}
}

// ResumesWhatStops resumes suspended attempts that the manager stops, too.
func ResumesWhatStops() scheduler.TaskScheduler {
	suspended := map[scheduler.AttemptID]bool{}
	return hiding{policies.Suspend(), func(e scheduler.Event) scheduler.Event {
		switch e := e.(type) {
		case scheduler.AttemptSuspended:
			suspended[e.Attempt] = true
		case scheduler.AttemptResumed:
			delete(suspended, e.Attempt)
		case scheduler.AttemptStopping:
			if suspended[e.Attempt] {
				return scheduler.TimePassed{At: e.At}
			}
		}
		return e
	}}
}

// hiding is a policy that gets other events in place of some.
type hiding struct {
	scheduler.TaskScheduler
	instead func(scheduler.Event) scheduler.Event
}

// Start exchanges the events of the snapshot.
func (h hiding) Start(c scheduler.Config, s scheduler.Snapshot, e scheduler.Environment) (scheduler.Description, error) {
	s.Events = h.events(s.Events)
	return h.TaskScheduler.Start(c, s, e)
}

// AssignTasks exchanges those of the round.
func (h hiding) AssignTasks(r scheduler.Round) (scheduler.Decisions, error) {
	r.Events = h.events(r.Events)
	return h.TaskScheduler.AssignTasks(r)
}

func (h hiding) events(events []scheduler.Event) []scheduler.Event {
	events = slices.Clone(events)
	for i, e := range events {
		events[i] = h.instead(e)
	}
	return events
}
