package scheduler

// Speculate asks the manager to offer a second attempt of a running bundle. SpeculationOffered tells of the offer, and
// a later Launch takes it, on another launcher. The manager offers second attempts of stragglers by itself; this is for
// a policy that knows better what is slow.
//
// It is refused as UnknownID; as NotRunning unless the bundle's attempt runs or is suspended; as Unsupported for a
// bundle of several groups and for a job that forbids second attempts; as LimitReached where the bundle has a second
// attempt or an offer, and where its job has as many as Limits.SpeculationPercent allows; as Protected where the
// attempt commits; as NothingGained where it is being stopped, suspended or resumed, or waits for lost input. A manager
// whose Limits.SpeculationPercent is 0 does not know this decision, or its site allows none: do not send it.
type Speculate struct{ Bundle BundleID }

// SpeculationWithdrawn: an offer to launch a bundle a second time (SpeculationOffered) ends without a launch. It is
// sent when an attempt of the bundle ends, commits, resumes, is preempted or is stopped, and when its job is killed or
// fails. An earlier manager does not send it.
type SpeculationWithdrawn struct {
	At     Time
	Job    JobID
	Bundle BundleID
}

// When returns the event's time.
func (e SpeculationWithdrawn) When() Time { return e.At }

func (SpeculationWithdrawn) isEvent() {}
