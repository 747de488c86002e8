package policy

import (
	"fmt"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/gangs"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// reason is why a job waits.
type reason struct {
	why    scheduler.WaitReason
	detail string
	before int // for WaitTurn without a detail: jobs that come first
}

// text is the detail for people. Most reasons are never shown.
func (r *reason) text() string {
	if r.before > 0 {
		return fmt.Sprintf("%d jobs come first", r.before)
	}
	return r.detail
}

// Waits says why a job waits after this pass, with numbers and names for people. Without it the package finds a
// reason: slots that are coming, a delay of LaunchNear, other jobs' turn, a gang that does not fit, or no free slot.
// A policy that keeps free slots from a job on purpose says so here, with scheduler.WaitHeld, WaitAtLimit or
// WaitBudget.
func (p *Pass[O, S]) Waits(j *view.Job, why scheduler.WaitReason, format string, args ...any) {
	p.reasons[j.ID()] = reason{why: why, detail: fmt.Sprintf(format, args...)}
}

// Report tells the manager why a job waits, or WaitNone if it does not, when that is not what it was told last. Only
// then detail is called, for numbers and names for people. It may be nil for WaitNone. It is for a policy with
// Policy.Reports.
func (p *Pass[O, S]) Report(j *view.Job, why scheduler.WaitReason, detail func() string) {
	told, id := p.driver.reasons, j.ID()
	if told[id].why == why {
		return
	}
	w := scheduler.Waiting{Job: id, Reason: why}
	if delete(told, id); why != scheduler.WaitNone {
		told[id], w.Detail = reason{why: why}, detail()
	}
	p.decisions.Waiting = append(p.decisions.Waiting, w)
}

// giveReasons tells the manager of reasons that changed. It is called in each pass, for all jobs: it finds each job's
// first bundle once, and writes no text that nobody asked for.
func (p *Pass[O, S]) giveReasons() {
	d := p.driver
	for _, j := range d.view.Jobs() {
		p.ask(j) // those that the pass did not ask for come last
	}
	d.order = p.order[:0]
	for _, id := range p.order {
		b := p.left(d.view.Job(id))
		if b == nil {
			continue
		}
		now := p.reasonOf(b, len(d.order))
		if d.reasons[id].why != now.why {
			p.decisions.Waiting = append(p.decisions.Waiting, scheduler.Waiting{Job: id, Reason: now.why, Detail: now.text()})
		}
		d.reasons[id] = now
		d.order = append(d.order, id)
	}
	if len(d.reasons) == len(d.order) {
		return
	}
	for _, j := range d.view.Jobs() {
		if _, told := d.reasons[j.ID()]; told && p.left(j) == nil {
			delete(d.reasons, j.ID())
			p.decisions.Waiting = append(p.decisions.Waiting, scheduler.Waiting{Job: j.ID(), Reason: scheduler.WaitNone})
		}
	}
}

// left returns the first ready bundle of a job that the pass did not launch, or nil.
func (p *Pass[O, S]) left(j *view.Job) *view.Bundle {
	if j.ReadyCount() == 0 {
		return nil
	}
	if b := j.FirstReady(); b != nil {
		return b
	}
	if len(p.decisions.Preempt) > 0 { // the bundle that slots are taken back for is left out of walks
		for _, x := range p.decisions.Preempt {
			if x.For == j.ID() {
				return p.driver.view.Bundle(x.Bundle)
			}
		}
	}
	return nil
}

// reasonOf returns why a job waits whose first ready bundle is left.
func (p *Pass[O, S]) reasonOf(b *view.Bundle, place int) reason {
	if r, given := p.reasons[b.Job.ID()]; given {
		return r
	}
	if limit := b.Job.AtUserLimit(); limit != "" {
		return reason{why: scheduler.WaitAtLimit, detail: limit}
	}
	free := !slices.ContainsFunc(b.Groups, func(g scheduler.Group) bool { return p.driver.view.Capacity.FreeSlots(g.Kind) < g.Slots })
	switch {
	case p.Coming(b.Job):
		return reason{why: scheduler.WaitPreempting, detail: "slots are being taken back for it"}
	case free:
		return reason{why: b.Unfit(), detail: p.driver.view.Obstacles(b)}
	case place > 0:
		return reason{why: scheduler.WaitTurn, before: place}
	}
	return reason{why: scheduler.WaitNoCapacity, detail: "it is next; no slot that it needs is free"}
}

// Explain returns why a job waits as of the last pass, with its place among the jobs that wait. With Policy.Reports it
// has the reason that was reported, what the job's first ready bundle needs, and no place.
func (l Look[O, S]) Explain(j *view.Job) scheduler.Explanation {
	d := l.driver
	r := d.reasons[j.ID()]
	if limit := j.AtUserLimit(); limit != "" {
		r = reason{why: scheduler.WaitAtLimit, detail: limit}
	}
	x := scheduler.Explanation{Reason: r.why, Detail: scheduler.Printable(r.text()), Place: slices.Index(d.order, j.ID()) + 1}
	brief := x.Detail == ""
	if brief {
		x.Detail = fmt.Sprintf("%d bundles ready, %d attempts live", j.ReadyCount(), len(j.Attempts()))
	}
	for b := range j.Ready() { // the first alone: a job may have a million
		if brief {
			x.Detail += "; " + gangs.Describe(&d.view, b)
		}
		open := slices.ContainsFunc(d.view.Launchers(), func(on *view.Launcher) bool { return !on.Closed() })
		if _, fits := d.view.FitIfEmpty(b); open && !fits {
			x.Detail += "; it would not fit if nothing ran: add launchers, or ask for less"
		}
		break
	}
	x.AddFact("waiting jobs", len(d.reasons))
	x.AddFact("ready", j.ReadyCount())
	x.AddFact("live", len(j.Attempts()))
	return x
}

// Status returns one pool of all jobs, and those that wait in the order of the last pass.
func (l Look[O, S]) Status() scheduler.Status {
	d := l.driver
	pool := scheduler.PoolStatus{Name: d.policy.Name, Weight: 1, Jobs: len(d.view.Jobs())}
	for _, j := range d.view.Jobs() {
		for i, s := range j.Info.Stages {
			pool.Demand += s.Slots * (j.Counts[i].Waiting + j.Counts[i].Running)
		}
		for _, h := range j.HeldSlots() {
			pool.Running += h.Count
		}
	}
	slots := 0
	for _, on := range d.view.Launchers() {
		for _, s := range on.Slots {
			slots += s.Count
		}
	}
	pool.FairShare = float64(min(pool.Demand, slots))
	s := scheduler.Status{Pools: []scheduler.PoolStatus{pool}, Queue: []scheduler.Queued{}}
	for _, id := range d.order[:min(len(d.order), scheduler.QueueMax)] {
		r := d.reasons[id]
		why := scheduler.Printable(r.text())
		if len(why) > scheduler.WhyBytesMax {
			why = why[:scheduler.WhyBytesMax]
		}
		s.Queue = append(s.Queue, scheduler.Queued{Job: id, Why: why})
	}
	return s
}
