package scheduler

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
