package simulation

import (
	"time"

	"github.com/hamadryad/hamadryad/engine/loop/simcluster"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// holds records that an attempt holds its slots from now on, or no longer.
func (p *player) holds(a *simcluster.Attempt, holds bool) {
	r := p.jobs[a.Start.Job]
	if r == nil || a.Start.Finish != nil {
		return
	}
	p.moved = p.Now()
	if holds {
		p.held++
	} else {
		p.held--
	}
	p.meters[a.On].holds(p.since(p.Now()), a, holds)
	out := &p.result.Jobs[r.place].Stages[a.Start.Nodes[0].Stage]
	id := a.Start.Attempt
	if holds {
		if p.Now() == a.Began && a.Ended() == nil && r.busy[id] == 0 {
			if out.Attempts == 0 {
				out.Began = p.since(p.Now())
			}
			out.Attempts++
		}
		r.since[id] = p.Now()
	} else {
		r.busy[id] += p.Now().Sub(r.since[id])
		delete(r.since, id)
		if a.Suspended() && !r.suspended[id] {
			r.suspended[id] = true
			out.Suspended++
		}
	}
	if w := p.options.Watch; w != nil {
		w.Holds(p.since(p.Now()), r.place, a, holds)
	}
}

// count records an attempt's end. It holds its slots until just after that.
func (p *player) count(a *simcluster.Attempt, e *wire.AttemptEnded) {
	r := p.jobs[a.Start.Job]
	if r == nil || a.Start.Finish != nil {
		return
	}
	id := a.Start.Attempt
	out := &p.result.Jobs[r.place].Stages[a.Start.Nodes[0].Stage]
	busy := r.busy[id]
	if since, ok := r.since[id]; ok {
		busy += p.Now().Sub(since)
	}
	delete(r.busy, id)
	if r.near != nil {
		level, known := a.Near()
		r.near[id] = nearness{level, known}
	}
	slots := max(int64(a.Start.Slots), 1)
	out.Busy += busy * time.Duration(slots)
	n := a.Start.Nodes[0]
	switch {
	case e.End == wire.End_END_FINISHED:
		r.done[n.Stage][n.Index] = true
		out.Ended = p.since(p.Now())
		if level, ok := a.Near(); ok {
			out.Near[level]++
		}
		return
	case e.End != wire.End_END_STOPPED:
		out.Lost++
	case r.done[n.Stage][n.Index] || p.isOver(a.Start.Job):
		out.Killed++
	default:
		out.Preempted++
	}
	out.Wasted += busy * time.Duration(slots)
}

// isOver reports whether the core has given a job up, or ended it.
func (p *player) isOver(job uint64) bool {
	s, ok := p.Core.JobStatus(scheduler.JobID(job), false)
	return !ok || s.Failure != nil || s.Summary.State != wire.JobState_JOB_STATE_RUNNING
}

// lose counts an attempt that was lost with its launcher.
func (p *player) lose(a *simcluster.Attempt) {
	if a.Ended() == nil {
		p.count(a, &wire.AttemptEnded{End: wire.End_END_FAILED})
	}
}
