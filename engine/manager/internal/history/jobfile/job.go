package jobfile

import (
	"math/bits"
	"time"

	"github.com/hamadryad/hamadryad/engine/core/changes"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Job is what a file holds of a job. One that lives has parts of it in several places, and so may
// lack any of them.
type Job struct {
	ID       scheduler.JobID
	Record   uint64          // of the event log: the one in which it ended; 0: it has not
	Status   *wire.JobStatus // as it ended, without attempts; nil: it has not
	Graph    *wire.Graph     // without inputs and edges; nil: not here
	Course   Course
	Attempts []changes.Attempt // that are kept, in order of id
}

// Course is how it came to its end.
type Course struct {
	Admitted     scheduler.Time `json:"admitted,omitempty"` // 0: it never was
	Settings     uint64         `json:"settings,omitempty"` // version of the settings when it was seen first; 0: not known
	Waits        []Wait         `json:"waits,omitempty"`    // in order of time
	WaitsDropped int            `json:"waitsDropped,omitempty"`
	// Attempts counts all that ended, also those that are not kept.
	Attempts uint64 `json:"attempts,omitempty"`
	// Stages counts them by the number of their stage.
	Stages []Aggregate `json:"stages,omitempty"`
	// Missed is how many rows of it could not be kept, because history could not be written;
	// Lacks says the same in words where it is not known how many.
	Missed uint64   `json:"missed,omitempty"`
	Lacks  []string `json:"lacks,omitempty"`
}

// Wait is a reason why a job waited, from a time on. An empty one says that it waited no more.
type Wait struct {
	At     scheduler.Time `json:"at"`
	Reason string         `json:"reason"`
}

// Aggregate is what attempts of a stage are together.
type Aggregate struct {
	Outcomes [scheduler.Killed + 1]uint64    `json:"outcomes"` // attempts, by scheduler.AttemptOutcome
	Running  time.Duration                   `json:"running"`  // of all together
	Longest  time.Duration                   `json:"longest"`
	Read     [scheduler.LocalityLevels]int64 `json:"read"` // bytes, by locality
	Written  int64                           `json:"written"`
	// Took counts them by their running time: Took[i] are those below 2^i ms, and not below
	// 2^(i-1) ms. It is as long as is needed.
	Took []uint64 `json:"took,omitempty"`
}

// tookMax is the number of the last count of Took: 12 days and more.
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

// Join counts what another one counts.
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

// Count counts an attempt of its stage, up to stagesMax of them.
func (c *Course) Count(a *changes.Attempt) {
	if s := c.stage(int(a.Stage)); s != nil {
		s.Add(a)
	}
	c.Attempts++
}

// Join takes in what another part of the job's course says. Which of the two came first, its
// caller knows: Waits are in the order of the calls.
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

// stagesMax bounds the stages that are counted, far above what a graph may have.
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
