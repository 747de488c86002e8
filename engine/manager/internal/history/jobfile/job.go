package jobfile

import (
	"math/bits"
	"time"

	"github.com/hamadryad/hamadryad/engine/core/changes"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Job is the content of a file. A chunk of a live job has some of it, so any field but ID may be empty.
type Job struct {
	ID       scheduler.JobID
	Record   uint64          // record of the event log in which it ended; 0: it is live
	Status   *wire.JobStatus // the last one, without attempts; nil: the job is live
	Graph    *wire.Graph     // without inputs and edges; nil: not here
	Course   Course
	Attempts []changes.Attempt // that are kept, in order of id
}

// Course has a job's waiting reasons, and counts of its attempts.
type Course struct {
	Admitted     scheduler.Time `json:"admitted,omitempty"` // 0: the job was never admitted
	Settings     uint64         `json:"settings,omitempty"` // version of the configuration at the job's first row; 0: unknown
	Waits        []Wait         `json:"waits,omitempty"`    // in order of time
	WaitsDropped int            `json:"waitsDropped,omitempty"`
	// Attempts counts all that ended, also those that are not kept.
	Attempts uint64 `json:"attempts,omitempty"`
	// Stages counts them by the number of their stage.
	Stages []Aggregate `json:"stages,omitempty"`
	// Missed counts rows that were dropped because history could not be written. Lacks says it in words, where the
	// number is unknown.
	Missed uint64   `json:"missed,omitempty"`
	Lacks  []string `json:"lacks,omitempty"`
}

// Wait is a reason why a job waits from a time on. An empty reason ends the wait.
type Wait struct {
	At     scheduler.Time `json:"at"`
	Reason string         `json:"reason"`
}

// Aggregate sums the attempts of a stage.
type Aggregate struct {
	Outcomes [scheduler.Killed + 1]uint64    `json:"outcomes"` // attempts, by scheduler.AttemptOutcome
	Running  time.Duration                   `json:"running"`  // sum of running times
	Longest  time.Duration                   `json:"longest"`
	Read     [scheduler.LocalityLevels]int64 `json:"read"` // bytes, by locality
	Written  int64                           `json:"written"`
	// Took counts attempts by running time: Took[i] has those from 2^(i-1) ms to below 2^i ms. It ends with the last
	// count that is not 0.
	Took []uint64 `json:"took,omitempty"`
}

// tookMax is the largest index of Took, for 6 days and more.
const tookMax = 30

// Add counts an attempt.
func (g *Aggregate) Add(a *changes.Attempt) {
	g.Outcomes[min(a.Outcome, scheduler.Killed)]++
	g.Running += a.Work.Running
	g.Longest = max(g.Longest, a.Work.Running)
	for i, n := range a.Work.Read {
		g.Read[i] += n
	}
	g.Written += a.Work.Written
	i := min(bits.Len64(uint64(max(a.Work.Running, 0)/time.Millisecond)), tookMax)
	for len(g.Took) <= i {
		g.Took = append(g.Took, 0)
	}
	g.Took[i]++
}

// Join adds the counts of another aggregate.
func (g *Aggregate) Join(o *Aggregate) {
	for i, n := range o.Outcomes {
		g.Outcomes[i] += n
	}
	g.Running += o.Running
	g.Longest = max(g.Longest, o.Longest)
	for i, n := range o.Read {
		g.Read[i] += n
	}
	g.Written += o.Written
	for len(g.Took) < len(o.Took) {
		g.Took = append(g.Took, 0)
	}
	for i, n := range o.Took {
		g.Took[i] += n
	}
}

// Count adds an attempt to the counts of its stage. Stages from stagesMax on have none.
func (c *Course) Count(a *changes.Attempt) {
	if s := c.stage(int(a.Stage)); s != nil {
		s.Add(a)
	}
	c.Attempts++
}

// Join adds the course of another chunk of the same job. Waits are appended, so call it in the order of time.
func (c *Course) Join(o *Course) {
	c.Admitted, c.Settings = max(c.Admitted, o.Admitted), max(c.Settings, o.Settings)
	c.Waits = append(c.Waits, o.Waits...)
	c.WaitsDropped += o.WaitsDropped
	c.Attempts += o.Attempts
	for i := range o.Stages {
		if s := c.stage(i); s != nil {
			s.Join(&o.Stages[i])
		}
	}
	c.Missed += o.Missed
	c.Lacks = append(c.Lacks, o.Lacks...)
}

// stagesMax bounds the stages that are counted. No graph may have as many.
const stagesMax = 1 << 16

func (c *Course) stage(i int) *Aggregate {
	if i < 0 || i >= stagesMax {
		return nil
	}
	for len(c.Stages) <= i {
		c.Stages = append(c.Stages, Aggregate{})
	}
	return &c.Stages[i]
}
