package fifo

import (
	"fmt"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/gangs"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// Explain says why a job waits and where it stands in the queue. It is as of the
// last round.
func (p *Policy) Explain(id scheduler.JobID) (scheduler.Explanation, error) {
	j := p.view.Job(id)
	if j == nil {
		return scheduler.Explanation{}, fmt.Errorf("%w: %s", scheduler.ErrUnknownJob, id)
	}
	x := scheduler.Explanation{Reason: p.reasons[id], Place: placeIn(p.queue, j)}
	// Rounds wait during this call, and a job may have a million bundles: they are not walked.
	waiting, first := j.ReadyCount(), p.firstReady(j)
	x.Detail = fmt.Sprintf("number %d of %d in the queue (priority %s), %d bundles ready, %d attempts live",
		x.Place, len(p.queue), j.Info.Priority, waiting, len(j.Attempts()))
	if first != nil {
		x.Detail += "; " + gangs.Describe(&p.view, first)
		if open := slices.ContainsFunc(p.view.Launchers(), func(l *view.Launcher) bool { return !l.Closed() }); open && !p.view.FitEver(first) {
			x.Detail += "; it would not fit if nothing ran: add launchers, or ask for less"
		}
	}
	x.Detail += p.placer.Over()
	x.AddFact("queue", len(p.queue))
	x.AddFact("ready", waiting)
	x.AddFact("live", len(j.Attempts()))
	return x, nil
}

// firstReady returns the first bundle of a job that the last round left, or nil.
func (p *Policy) firstReady(j *view.Job) *view.Bundle {
	for b := range p.view.ReadyOf(j) {
		return b
	}
	return nil
}

// Status shows the single pool, and the queue.
func (p *Policy) Status() (scheduler.Status, error) {
	pool := scheduler.PoolStatus{Name: "fifo", Weight: 1, Jobs: len(p.queue)}
	queue := []scheduler.Queued{}
	for place, j := range p.queue {
		if j.ReadyCount() > 0 && len(queue) < scheduler.QueueMax {
			queue = append(queue, scheduler.Queued{
				Job: j.ID(), Why: fmt.Sprintf("priority %s, then submission; %d jobs that live come before it", j.Info.Priority, place),
			})
		}
		for i, s := range j.Info.Stages {
			pool.Demand += s.Slots * (j.Counts[i].Waiting + j.Counts[i].Running)
		}
		for _, h := range j.HeldSlots() {
			pool.Running += h.Count
		}
	}
	slots := 0
	for _, l := range p.view.Launchers() {
		for _, s := range l.Slots {
			slots += s.Count
		}
	}
	pool.FairShare = float64(min(pool.Demand, slots))
	s := scheduler.Status{Queue: queue, Pools: []scheduler.PoolStatus{pool}, Facts: p.placer.Facts(&p.options.Locality)}
	s.AddFact("collect-after", p.options.CollectAfter)
	return s, nil
}
