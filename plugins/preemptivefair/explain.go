package preemptivefair

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/gangs"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// waiting is why a job waits, and the request that waits. The zero value means that the job does
// not wait.
type waiting struct {
	reason  scheduler.WaitReason
	request *request
	kind    scheduler.SlotKind
}

// explainWaits reports why jobs wait, in order of job.
func (d *assignment) explainWaits(p *pass) {
	report := func(jobs []*job) {
		for _, j := range jobs {
			if j.waits && d.known[j.ID()] == j {
				w := d.why(j)
				p.Report(j.Job, w.reason, func() string { return d.detail(w) })
			}
		}
	}
	if before := d.world.plain; d.plain() && before && !p.OptionsChanged() {
		report(d.renewed)
		report(d.changed)
	} else {
		report(d.waiting)
	}
	for _, j := range d.touched {
		if !j.waits {
			p.Report(j.Job, scheduler.WaitNone, nil)
		}
	}
	slices.SortFunc(p.Decisions().Waiting, func(a, b scheduler.Waiting) int { return cmp.Compare(a.Job, b.Job) })
}

// plain finds out whether each job's reason follows from its own requests and an unchanged share:
// nothing is held or collected, and no slot stays free on purpose. While that is so from one round to
// the next, only jobs whose requests were made anew or changed can have another reason.
func (d *assignment) plain() bool {
	d.world.plain = len(d.collect) == 0
	same := true
	for _, kind := range d.kinds {
		d.world.plain = d.world.plain && (d.options.WorkConserving || d.view.Capacity.FreeSlots(kind) == 0)
		if of, share := d.shares[kind], d.share(kind); of != share {
			d.shares[kind], same = share, false
		}
	}
	return d.world.plain && same
}

// why says why a job waits after the round's decisions, judged by the first kind of slots that it
// lacks. A kind of which slots stay free on purpose comes before others.
func (d *assignment) why(j *job) waiting {
	var first waiting
	for _, kind := range d.kinds {
		c := d.requestOf(j, kind)
		if c == nil {
			continue
		}
		switch reason := d.reason(c, kind); {
		case reason == scheduler.WaitHeld, reason == scheduler.WaitAtLimit:
			return waiting{reason, c, kind}
		case first.reason == scheduler.WaitNone && reason != scheduler.WaitNone:
			first = waiting{reason, c, kind}
		}
	}
	return first
}

// reason says why a request's job waits.
func (d *assignment) reason(c *request, kind scheduler.SlotKind) scheduler.WaitReason {
	switch {
	case c.more == 0:
		return scheduler.WaitNone
	case c.kept != "", d.waitsBesideHeld(c, kind) != nil:
		return scheduler.WaitHeld
	case d.taking[c.job.ID()]:
		return scheduler.WaitPreempting
	case d.collectedFor(c, kind) != nil:
		return scheduler.WaitTurn
	case d.misfit(c, kind):
		return c.unfit.Unfit()
	case float64(c.held) < d.share(kind):
		return scheduler.WaitBelowShare
	case d.view.Capacity.FreeSlots(kind) > 0 && !d.options.WorkConserving:
		return scheduler.WaitAtLimit
	}
	return scheduler.WaitTurn
}

// waitsBesideHeld returns the bundle for which a request collects slots although it would fit,
// because free slots are held; nil: none.
func (d *assignment) waitsBesideHeld(c *request, kind scheduler.SlotKind) *view.Bundle {
	if d.besideHeld[kind] && (d.collectedFor(c, kind) != nil || d.misfit(c, kind)) {
		return d.collect[kind]
	}
	if c.unfit != nil {
		for i := range c.unfit.Groups {
			if k := c.unfit.Groups[i].Kind; d.besideHeld[k] && d.view.Capacity.FreeSlots(k) > 0 {
				return d.collect[k]
			}
		}
	}
	return nil
}

// collectedFor returns another job's bundle for which the free slots of a kind are collected;
// nil: none.
func (d *assignment) collectedFor(c *request, kind scheduler.SlotKind) *view.Bundle {
	b := d.collect[kind]
	if n := d.kept.Slots(kind); b == nil || n == 0 || n < d.view.Capacity.FreeSlots(kind) || b.Job == c.job.Job {
		return nil
	}
	return b
}

// misfit says whether a request has work that does not fit although slots are free.
func (d *assignment) misfit(c *request, kind scheduler.SlotKind) bool {
	return c.unfit != nil && d.view.Capacity.FreeSlots(kind) > 0
}

// detail gives the same reason in numbers.
func (d *assignment) detail(w waiting) string {
	c := w.request
	if c == nil {
		return ""
	}
	has := fmt.Sprintf("it has %d %s slots, its share is %.1f of %d", c.held, w.kind, d.share(w.kind), d.slots(w.kind))
	switch {
	case w.reason == scheduler.WaitPreempting:
		return "slots are being taken back for it: " + has
	case c.kept != "":
		return fmt.Sprintf("%d free %s slots are %s; %s", d.view.Capacity.FreeSlots(w.kind), w.kind, c.kept, has)
	case d.collectedFor(c, w.kind) != nil:
		b := d.collectedFor(c, w.kind)
		return fmt.Sprintf("%d free %s slots are collected for %v of %s; %s", d.kept.Slots(w.kind), w.kind, b.ID, b.Job.ID(), has)
	case w.reason == scheduler.WaitHeld:
		b := d.waitsBesideHeld(c, w.kind)
		return fmt.Sprintf("of the free slots some are held for %s, which is between its stages, and others are collected for %v of %s; %s", d.keepFor, b.ID, b.Job.ID(), has)
	case d.misfit(c, w.kind):
		return gangs.Describe(d.view, c.unfit)
	case w.reason == scheduler.WaitAtLimit:
		return "slots stay free because work-conserving is false: " + has
	}
	return has
}

// explain says why a job waits. It is as of the last round.
func explain(l look, j *view.Job) scheduler.Explanation {
	s, x := l.State(), scheduler.Explanation{}
	known := s.world.known[j.ID()]
	if d := s.last; d != nil {
		w := d.why(known)
		x.Reason, x.Detail = w.reason, d.detail(w)
		for _, kind := range d.kinds {
			if c := d.requestOf(known, kind); c != nil {
				x.Detail += d.exhausted(c, kind)
			}
		}
	}
	if x.Detail == "" {
		x.Detail = fmt.Sprintf("%d bundles are ready, %d attempts live", j.LaunchableCount(), len(j.Attempts()))
	}
	x.Detail += s.placer.Over()
	for _, property := range []string{"preempt", "preemptible"} {
		if said(&j.Info, property) == unclear {
			x.Detail += fmt.Sprintf("; its property %s is neither true nor false and does not count", property)
		}
	}
	n := s.memory.newcomer(j.ID())
	for _, kind := range known.kinds {
		x.AddFact("share "+kind, strconv.FormatFloat(s.world.share(kind), 'f', 1, 64))
		x.AddFact("held "+kind, s.world.held(j, kind))
		x.AddFact("ready "+kind, j.LaunchableSlots(kind))
		if d := n.due(kind); d != nil {
			x.AddFact("first share "+kind, d.First)
			x.AddFact("given of it "+kind, d.Given)
			x.AddFact("taken from others "+kind, d.Taken)
		}
	}
	return x
}

// status shows one pool for each kind of slot.
func status(l look) scheduler.Status {
	s, o := l.State(), l.Options()
	x := scheduler.Status{Facts: s.placer.Facts(&o.Locality)}
	for _, kind := range s.world.kinds {
		pool := scheduler.PoolStatus{Name: "preemptive-fair", Kind: kind, Weight: 1, FairShare: float64(s.world.slots(kind)), Jobs: s.world.sharers(kind)}
		for _, j := range l.View().Jobs() {
			pool.Running += j.Held(kind)
			pool.Demand += j.Held(kind) + j.WaitingSlots(kind)
		}
		x.Pools = append(x.Pools, pool)
		x.AddFact("share of a job "+kind, strconv.FormatFloat(s.world.share(kind), 'f', 1, 64))
	}
	x.Queue = s.last.order()
	x.AddFact("jobs below their first share", len(s.memory.Newcomers))
	x.AddFact("jobs between stages", len(s.memory.Between))
	x.AddFact("preemption", o.Preemption)
	x.AddFact("only-higher-priority", o.OnlyHigherPriority)
	x.AddFact("job-loses", o.JobLoses)
	x.AddFact("attempt-loses", o.AttemptLoses)
	x.AddFact("mode", o.Mode)
	x.AddFact("hold", o.Hold)
	x.AddFact("hold-max", o.HoldMax)
	x.AddFact("work-conserving", o.WorkConserving)
	x.AddFact("collect-after", o.CollectAfter)
	x.AddFact("times-max", o.TimesMax)
	return x
}
