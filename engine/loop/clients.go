package loop

import (
	"errors"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Clients submit jobs and wait for their ends, as programs do. They use the caller numbers from 1
// on, so other callers of the core take large ones. Loop is to be set before the first job.
type Clients struct {
	Loop *Loop
	// Ended is called at each job's end, with its status then.
	Ended func(id scheduler.JobID, s *wire.JobStatus) error

	last    uint64                // client's number
	waiting map[uint64]submission // for the core's answer, by client
	live    map[scheduler.JobID]bool
}

type submission struct {
	spec  *wire.JobSpec
	known func(scheduler.JobID)
}

// Submit submits a job now. known is called with its id before the core has the job; it may be nil.
func (c *Clients) Submit(spec *wire.JobSpec, known func(scheduler.JobID)) {
	if c.waiting == nil {
		c.waiting, c.live = map[uint64]submission{}, map[scheduler.JobID]bool{}
	}
	c.last++
	c.waiting[c.last] = submission{spec, known}
	c.Loop.Push(wire.NewInput(&wire.Prepare{Client: c.last}))
}

// Act carries out the actions that are for clients. It is false for others. The error is Ended's,
// or that the core refused a job.
func (c *Clients) Act(a core.Action) (mine bool, err error) {
	switch a := a.(type) {
	case core.Reply:
		if a.Client > c.last {
			return false, nil
		}
		return true, c.replied(a)
	case core.JobsChanged:
		return true, c.changed(a.Ended)
	}
	return false, nil
}

func (c *Clients) replied(r core.Reply) error {
	s, asked := c.waiting[r.Client]
	delete(c.waiting, r.Client)
	switch {
	case r.Failure != nil:
		return errors.New(r.Failure.Message)
	case asked: // its id is reserved; the submission follows
		c.live[r.Job] = true
		if s.known != nil {
			s.known(r.Job)
		}
		c.Loop.Push(wire.NewInput(&wire.Submit{Client: r.Client, Job: uint64(r.Job), Spec: s.spec}))
	}
	return nil
}

func (c *Clients) changed(ended []scheduler.JobID) (err error) {
	for _, id := range ended {
		if s, ok := c.Loop.Core.JobStatus(id, false); ok && c.live[id] {
			delete(c.live, id)
			err = errors.Join(err, c.Ended(id, s))
		}
	}
	return err
}
