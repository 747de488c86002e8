package policies

import (
	"fmt"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// Gang kills single-group work of jobs later in line for a gang that has waited too long (setting
// wait; default 2 s) for all its slots at once.
func Gang() scheduler.TaskScheduler {
	p := &base{about: scheduler.Description{Name: "gang", Version: "1"}}
	var told scheduler.JobID // the job with the last sent reason
	p.loaded = func(scheduler.Snapshot) error { told = 0; return nil }
	p.decide = func(r scheduler.Round, d *scheduler.Decisions) {
		jobs := p.byPriority()
		p.fill(jobs, d)
		gang, place := p.waitingGang(jobs)
		told = p.reportWaiting(told, gang, d)
		if gang == nil {
			return
		}
		d.WakeAt = p.nextTick()
		if !woken(r) || p.Now().Sub(gang.Since) < p.wait || p.expecting(gang.Job.ID()) {
			return
		}
		if victims, where := p.victimsFor(gang, p.takeable(jobs[place+1:]), false); where != nil {
			d.Preempt = append(d.Preempt, scheduler.Preempt{
				Victims: victims, Mode: scheduler.PreemptKill, For: gang.Job.ID(), Bundle: gang.ID, Placement: where,
			})
		}
	}
	return p
}

// waitingGang finds the first gang that was not launched, and its job's index.
func (p *base) waitingGang(jobs []*view.Job) (*view.Bundle, int) {
	for i, j := range jobs {
		for b := range j.ReadyGangs() {
			return b, i
		}
	}
	return nil, 0
}

// reportWaiting reports the job that waits with a gang, when it has changed.
func (p *base) reportWaiting(told scheduler.JobID, gang *view.Bundle, d *scheduler.Decisions) scheduler.JobID {
	var job scheduler.JobID
	if gang != nil {
		job = gang.Job.ID()
	}
	if job == told {
		return told
	}
	if p.Job(told) != nil {
		d.Waiting = append(d.Waiting, scheduler.Waiting{Job: told, Reason: scheduler.WaitNone})
	}
	if job != 0 {
		d.Waiting = append(d.Waiting, scheduler.Waiting{
			Job: job, Reason: scheduler.WaitGang, Detail: fmt.Sprintf("its %v needs %d places at once", gang.ID, len(gang.Groups)),
		})
	}
	return job
}
