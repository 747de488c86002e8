package fifo

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/gangs"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// describe says what a bundle needs and what there is of it.
func describe(v *view.View, b *view.Bundle) string {
	var parts []string
	for _, n := range gangs.Needs(b) {
		parts = append(parts, fmt.Sprintf("%d %s slots (%d free)", n.Count, n.Kind, v.FreeSlots(n.Kind)))
	}
	var memory int64
	for _, g := range b.Groups {
		memory += g.Memory
	}
	text := fmt.Sprintf("%v needs %s", b.ID, strings.Join(parts, " and "))
	if memory > 0 {
		text += fmt.Sprintf(" with %d MiB of memory", memory>>20)
	}
	if len(b.Groups) > 1 {
		text += fmt.Sprintf(" for its %d groups at once", len(b.Groups))
	}
	return text + v.Obstacles(b)
}

// Explain says why a job waits and where it stands in the queue. It is as of the
// last round.
func (p *Policy) Explain(id scheduler.JobID) (scheduler.Explanation, error) {
	j := p.view.Job(id)
	if j == nil {
		return scheduler.Explanation{}, fmt.Errorf("%w: %s", scheduler.ErrUnknownJob, id)
	}
	x := scheduler.Explanation{Reason: p.reasons[id], Place: placeIn(p.queue, j)}
	// Rounds wait meanwhile, and a job may have a million bundles: they are not walked.
	waiting, first := j.ReadyCount(), p.firstReady(j)
	x.Detail = fmt.Sprintf("number %d of %d in the queue (priority %s), %d bundles ready, %d attempts live",
		x.Place, len(p.queue), j.Info.Priority, waiting, len(j.Attempts()))
	if first != nil {
		x.Detail += "; " + describe(&p.view, first)
		if open := slices.ContainsFunc(p.view.Launchers(), func(l *view.Launcher) bool { return !l.Closed() }); open && !p.view.FitEver(first) {
			x.Detail += "; it would not fit if nothing ran: add launchers, or ask for less"
		}
	}
	x.Detail += p.placer.Over()
	x.Facts = []scheduler.Property{
		{Name: "queue", Value: strconv.Itoa(len(p.queue))},
		{Name: "ready", Value: strconv.Itoa(waiting)},
		{Name: "live", Value: strconv.Itoa(len(j.Attempts()))},
	}
	return x, nil
}

// firstReady is the first bundle of a job that the last round left, or nil.
func (p *Policy) firstReady(j *view.Job) *view.Bundle {
	for b := range p.view.ReadyOf(j) {
		return b
	}
	return nil
}

// Status shows the one pool there is, and the queue.
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
	return scheduler.Status{
		Queue: queue,
		Pools: []scheduler.PoolStatus{pool},
		Facts: append(p.placer.Facts(&p.options.Locality), scheduler.Property{Name: "collect-after", Value: p.options.CollectAfter.String()}),
	}, nil
}
