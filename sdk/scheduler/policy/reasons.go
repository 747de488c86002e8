package policy

import (
	"cmp"
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

// record is what the package keeps of a job's reasons. Passes are counted by driver.passes.
type record struct {
	job   *view.Job
	asked uint64 // the last pass that asked for the job
	// set is the last pass that set a reason, and reason is that one.
	set    uint64
	reason reason
	// inForce is the reason that the manager has; it has one if told is set.
	inForce reason
	told    bool
}

// record returns the record of a live job.
func (d *driver[O, S]) record(j *view.Job) *record {
	r := d.jobs[j.ID()]
	if r == nil {
		r = &record{job: j}
		d.jobs[j.ID()] = r
		at, _ := d.place(j.ID())
		d.records = slices.Insert(d.records, at, r)
	}
	return r
}

// place returns where the record of a job is among those of all jobs, or belongs.
func (d *driver[O, S]) place(id scheduler.JobID) (int, bool) {
	if n := len(d.records); n == 0 || d.records[n-1].job.ID() < id { // usually the job is new
		return n, false
	}
	return slices.BinarySearchFunc(d.records, id, func(r *record, id scheduler.JobID) int { return cmp.Compare(r.job.ID(), id) })
}

// drop drops the record of a job that ended.
func (d *driver[O, S]) drop(id scheduler.JobID) {
	if r := d.jobs[id]; r != nil {
		d.withdraw(r)
		delete(d.jobs, id)
		at, _ := d.place(id)
		d.records = slices.Delete(d.records, at, at+1)
	}
}

// setReason sets why a job waits after this pass.
func (d *driver[O, S]) setReason(j *view.Job, why reason) {
	r := d.record(j)
	r.set, r.reason = d.passes, why
}

// putInForce notes that the manager has a reason, and withdraw that it has none.
func (d *driver[O, S]) putInForce(r *record, why reason) {
	if r.inForce = why; !r.told {
		r.told = true
		d.told++
	}
}

func (d *driver[O, S]) withdraw(r *record) {
	if r.inForce = (reason{}); r.told {
		r.told = false
		d.told--
	}
}

// Waits says why a job waits after this pass, with numbers and names for people. Without it the package finds a
// reason: slots that are coming, a delay of LaunchNear, other jobs' turn, a gang that does not fit, or no free slot.
// A policy that keeps free slots from a job on purpose says so here, with scheduler.WaitHeld, WaitAtLimit or
// WaitBudget.
func (p *Pass[O, S]) Waits(j *view.Job, why scheduler.WaitReason, format string, args ...any) {
	p.driver.setReason(j, reason{why: why, detail: fmt.Sprintf(format, args...)})
}

// Report tells the manager why a job waits, or WaitNone if it does not, when that is not what it was told last. Only
// then detail is called, for numbers and names for people. It may be nil for WaitNone. It is for a policy with
// Policy.Reports.
func (p *Pass[O, S]) Report(j *view.Job, why scheduler.WaitReason, detail func() string) {
	d := p.driver
	r := d.record(j)
	if r.inForce.why == why {
		return
	}
	w := scheduler.Waiting{Job: j.ID(), Reason: why}
	if d.withdraw(r); why != scheduler.WaitNone {
		d.putInForce(r, reason{why: why})
		w.Detail = detail()
	}
	p.decisions.Waiting = append(p.decisions.Waiting, w)
}

// giveReasons tells the manager of reasons that changed. It is called in each pass, for all jobs, so it touches no
// bundle where the job itself has the answer, and writes no text that nobody asked for.
func (p *Pass[O, S]) giveReasons() {
	d := p.driver
	free := freeSlots{of: &d.view.Capacity}
	d.order, d.another = p.order[:0], d.order
	for _, r := range p.order {
		p.giveReason(r, &free)
	}
	next := 0                         // of the records, which are in the order of the view's jobs
	for _, j := range d.view.Jobs() { // those that the pass did not ask for come last
		if j.ReadyCount() == 0 {
			continue
		}
		for next < len(d.records) && d.records[next].job.ID() < j.ID() {
			next++
		}
		if next == len(d.records) || d.records[next].job != j {
			d.record(j) // puts it there
		}
		if r := d.records[next]; r.asked != d.passes {
			r.asked = d.passes
			p.giveReason(r, &free)
		}
	}
	if d.told == len(d.order) {
		return
	}
	for _, j := range d.view.Jobs() {
		if r := d.jobs[j.ID()]; r != nil && r.told && p.left(j) == nil {
			d.withdraw(r)
			p.decisions.Waiting = append(p.decisions.Waiting, scheduler.Waiting{Job: j.ID(), Reason: scheduler.WaitNone})
		}
	}
}

// giveReason records why a job waits after this pass, and tells the manager if that changed. For a job that does not
// wait it does nothing.
func (p *Pass[O, S]) giveReason(r *record, free *freeSlots) {
	d := p.driver
	b := p.left(r.job)
	if b == nil {
		return
	}
	now := p.reasonOf(r, b, len(d.order), free)
	if r.inForce.why != now.why {
		p.decisions.Waiting = append(p.decisions.Waiting, scheduler.Waiting{Job: r.job.ID(), Reason: now.why, Detail: now.text()})
	}
	d.putInForce(r, now)
	d.order = append(d.order, r)
}

// freeSlots is how many slots of kinds are free at the end of a pass. Jobs mostly ask for one kind.
type freeSlots struct {
	of   *view.Capacity
	kind scheduler.SlotKind // that was asked for last; "": none was
	free int
}

func (f *freeSlots) count(kind scheduler.SlotKind) int {
	if kind != f.kind || kind == "" {
		f.kind, f.free = kind, f.of.FreeSlots(kind)
	}
	return f.free
}

// none reports whether no slot is free that a bundle of the job needs. It looks at the job's stages, as their groups
// need the same.
func (f *freeSlots) none(j *view.Job) bool {
	for i := range j.Info.Stages {
		if s := &j.Info.Stages[i]; s.Slots <= 0 || f.count(s.Kind) > 0 {
			return false
		}
	}
	return true
}

// enough reports whether as many slots are free as each group of a job's bundle needs.
func (f *freeSlots) enough(j *view.Job, b *view.Bundle) bool {
	return !f.none(j) && !slices.ContainsFunc(b.Groups, func(g scheduler.Group) bool { return f.count(g.Kind) < g.Slots })
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
func (p *Pass[O, S]) reasonOf(r *record, b *view.Bundle, place int, free *freeSlots) reason {
	if r.set == p.driver.passes {
		return r.reason
	}
	if limit := r.job.AtUserLimit(); limit != "" {
		return reason{why: scheduler.WaitAtLimit, detail: limit}
	}
	switch {
	case p.Coming(r.job):
		return reason{why: scheduler.WaitPreempting, detail: "slots are being taken back for it"}
	case free.enough(r.job, b):
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
	known := d.jobs[j.ID()] // nil before the first pass
	var r reason
	if known != nil {
		r = known.inForce
	}
	if limit := j.AtUserLimit(); limit != "" {
		r = reason{why: scheduler.WaitAtLimit, detail: limit}
	}
	x := scheduler.Explanation{Reason: r.why, Detail: scheduler.Printable(r.text()), Place: slices.Index(d.order, known) + 1}
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
	x.AddFact("waiting jobs", d.told)
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
	for _, r := range d.order[:min(len(d.order), scheduler.QueueMax)] {
		why := scheduler.Printable(r.inForce.text())
		if len(why) > scheduler.WhyBytesMax {
			why = why[:scheduler.WhyBytesMax]
		}
		s.Queue = append(s.Queue, scheduler.Queued{Job: r.job.ID(), Why: why})
	}
	return s
}
