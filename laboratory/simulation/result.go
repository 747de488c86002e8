package simulation

import (
	"time"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Result is what became of a workload. Times count from the beginning of the workload.
type Result struct {
	Jobs []Job // in the order of the workload's
	// Ended is when the last job did.
	Ended time.Duration
	// Slots are those of the cluster, by kind.
	Slots map[scheduler.SlotKind]int
	// Core is what the manager's core counted.
	Core core.Stats
	// Steps are those of the core, and Rounds the policy's.
	Steps, Rounds uint64
}

// Job is what became of a job.
type Job struct {
	Submitted, Ended time.Duration
	State            wire.JobState
	Failure          string // why it failed; "" when it did not
	Stages           []Stage
}

// Stage is what became of a stage's attempts.
type Stage struct {
	Kind scheduler.SlotKind
	// Began is when the first attempt did, and Ended when the last one finished.
	Began, Ended time.Duration
	Attempts     int
	Preempted    int // attempts that were taken off for others
	Killed       int // attempts that were not needed any more: another one at the task had finished, or the job was over
	Suspended    int // attempts that were suspended, once or more often
	Lost         int // attempts that failed, or went with a launcher or a peer
	// Busy is the slot time of all attempts while they held their slots; of it Wasted went to attempts that did not finish.
	Busy, Wasted time.Duration
	// Near counts finished attempts that have stored input by the level at which it was.
	Near [scheduler.LocalityLevels]int
}

// Sojourn is how long the job took from its submission to its end.
func (j *Job) Sojourn() time.Duration { return j.Ended - j.Submitted }
