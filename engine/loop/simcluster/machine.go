package simcluster

import (
	"time"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Machine describes a launcher's resources and speed. Zero fields cost no time. A change while the
// launcher runs counts from the next use.
type Machine struct {
	Name, Host, Rack string
	Slots            []*wire.Slots         // by kind, each kind once
	Memory           int64                 // bytes that attempts may hold together
	Swap             int64                 // bytes that suspended attempts may hold in addition
	Resources        []*wire.ResourceCount // countable, in order of kind
	CanSuspend       bool                  // else the launcher reports that it can't

	Latency   time.Duration // of each message, either way
	Heartbeat time.Duration // reports are sent with the next one; 0: each is sent at once
	FirstBeat time.Duration // when the first heartbeat is: not all machines beat at once

	Start         time.Duration // from the command until the program runs
	Stop          time.Duration // until a stopped attempt is gone, after its grace
	Suspend       Cost          // until a suspended attempt has left its slots
	Resume        Cost          // until a resumed one goes on
	ProgressEvery time.Duration // how often attempts report progress; 0: never

	// Slow is how many times longer every step of attempts takes here; 0 is 1.
	Slow float64
	// Locality is how many times longer work takes, by the locality level of its stored input; 0 is
	// 1. For a group with several inputs each counts by its bytes.
	Locality [scheduler.LocalityLevels]float64
}

// Cost is a time that grows with an attempt's memory.
type Cost struct{ Fixed, PerGiB time.Duration }

// Of returns the cost of so many bytes.
func (c Cost) Of(bytes int64) time.Duration {
	return c.Fixed + time.Duration(float64(c.PerGiB)*(float64(bytes)/(1<<30)))
}

// Hooks change a launcher's behaviour for a client. Each may be nil.
type Hooks struct {
	// Send takes a report to the manager; nil: it arrives after the machine's latency.
	Send func(*wire.Report)
	// Takes is how long a step takes, given its usual time. a is nil for Dropping.
	Takes func(a *Attempt, s Step, usual time.Duration) time.Duration
	// Refuses returns why an attempt can't be started; "": it can. A refused attempt stays refused.
	Refuses func(*wire.StartAttempt) string
	// KeepsRunning returns why a running attempt can't be suspended; "": it can.
	KeepsRunning func(*Attempt) string
	// Balks returns why a suspended attempt can't resume; "": it can.
	Balks func(*Attempt) string
	// Ends returns the end of an attempt whose work is done and that may commit; nil: as
	// Attempt.End has it. If it returns nil the attempt goes on, and must be finished later by
	// Attempt.Finish.
	Ends func(*Attempt) *wire.AttemptEnded
}

// Step is an action that takes time.
type Step int

// The steps of an attempt, and at the end one of a launcher.
const (
	Starting   Step = iota // from the command until the program runs
	Reading                // from when all its input can be read until it is read
	Working                // from when it has its input until its work is done
	Telling                // until its next progress report; 0: none
	Searching              // for unreadable input, until it reports it
	Taking                 // news of its input, until it confirms that
	Committing             // from the grant of its commit to its end
	Stopping               // from the command to its end; 0: it is gone at once
	Suspending             // from the command until its slots are free
	Resuming               // from the command until it goes on
	Dropping               // of everything that a launcher has of a job
)

// usual is how long a step takes without hooks.
func (a *Attempt) usual(s Step) time.Duration {
	m := &a.On.Machine
	switch s {
	case Starting:
		return m.Start
	case Working:
		return a.length()
	case Telling:
		return m.ProgressEvery
	case Stopping:
		return a.grace + m.Stop
	case Suspending:
		return m.Suspend.Of(a.Start.Memory)
	case Resuming:
		return m.Resume.Of(a.Start.Memory)
	}
	return 0
}

// takes is how long a step takes.
func (a *Attempt) takes(s Step) time.Duration {
	d := a.usual(s)
	if a.On.Takes != nil {
		return a.On.Takes(a, s, d)
	}
	return d
}
