package faultypolicies

import (
	"slices"

	"github.com/hamadryad/hamadryad/policytest/policies"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// SuspendsAnywhere suspends attempts on launchers that can't suspend, too.
func SuspendsAnywhere() scheduler.TaskScheduler { return anywhere{policies.Suspend()} }

type anywhere struct{ scheduler.TaskScheduler }

// Start hides from the policy which launchers can't suspend.
func (a anywhere) Start(c scheduler.Config, s scheduler.Snapshot, e scheduler.Environment) (scheduler.Description, error) {
	s.Events = suspending(s.Events)
	return a.TaskScheduler.Start(c, s, e)
}

// AssignTasks hides the same.
func (a anywhere) AssignTasks(r scheduler.Round) (scheduler.Decisions, error) {
	r.Events = suspending(r.Events)
	return a.TaskScheduler.AssignTasks(r)
}

// suspending returns events in which each launcher can suspend.
func suspending(events []scheduler.Event) []scheduler.Event {
	events = slices.Clone(events)
	for i, e := range events {
		if l, joined := e.(scheduler.LauncherJoined); joined {
			l.NoSuspend = false
			events[i] = l
		}
	}
	return events
}
