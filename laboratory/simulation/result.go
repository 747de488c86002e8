package simulation

import (
	"time"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Result is the result of a workload. Times count from the beginning of the workload.
type Result struct {
	Jobs []Job // in the order of the workload's
	// Ended is when the last job did.
	Ended time.Duration
	// Slots are the cluster's slots, by kind.
	Slots map[scheduler.SlotKind]int
	// Uses are the uses of the launchers, in the order of the cluster's machines.
	Uses []Use
	// Core is the statistics of the manager's core.
	Core core.Stats
	// Steps are the core's steps, and Rounds the policy's rounds.
	Steps, Rounds uint64
}

// Job is the result of a job.
type Job struct {
	Submitted, Ended time.Duration
	// Least is a lower bound of the job's time alone on the cluster; 0: it has no work, or it does
	// not fit. No straggler, failure, transfer or distance is in it, and no start of a program.
	Least   time.Duration
	State   wire.JobState
	Failure string // why it failed; "" when it did not
	Stages  []Stage
}

// Stage is the result of a stage's attempts.
type Stage struct {
	Kind scheduler.SlotKind
	// Began is the start of the first attempt, and Ended the end of the last finished one.
	Began, Ended time.Duration
	Attempts     int
	Preempted    int // attempts that were preempted
	Killed       int // attempts no longer needed: another at the task had finished, or the job had ended
	Suspended    int // attempts that were suspended at least once
	Lost         int // attempts that failed, or were lost with a launcher or a peer
	// Busy is the time in which attempts held slots; Wasted is the part of unfinished attempts.
	Busy, Wasted time.Duration
	// Near counts finished attempts with stored input by its locality level.
	Near [scheduler.LocalityLevels]int
}

// Sojourn is how long the job took from its submission to its end.
func (j *Job) Sojourn() time.Duration { return j.Ended - j.Submitted }
