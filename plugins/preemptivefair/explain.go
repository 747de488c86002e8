package preemptivefair

import (
	"fmt"
	"strconv"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// tell says why jobs wait, where that changed.
func (p *Policy) tell(d *dealing) []scheduler.Waiting {
	now := map[scheduler.JobID]waiting{}
	for _, kind := range d.kinds {
		for _, c := range d.claims[kind] {
			if w := d.why(c, kind); w.reason != scheduler.WaitNone && now[c.job.ID()].reason == scheduler.WaitNone {
				now[c.job.ID()] = w
			}
		}
	}
	var changed []scheduler.Waiting
	for _, j := range p.view.Jobs() {
		if w := now[j.ID()]; p.reasons[j.ID()].reason != w.reason {
			changed = append(changed, scheduler.Waiting{Job: j.ID(), Reason: w.reason, Detail: w.detail})
		}
	}
	p.reasons = now
	return changed
}

// why says why a claim's job waits, after the round's decisions.
func (d *dealing) why(c *claim, kind scheduler.SlotKind) waiting {
	var first *view.Bundle
	for b := range d.view.ReadyOfKind(c.job, kind, 0) {
		first = b
		break
	}
	free, share := d.view.FreeSlots(kind), d.share(kind)
	has := fmt.Sprintf("it has %d %s slots, its share is %.1f of %d", c.held, kind, share, d.slots(kind))
	switch {
	case first == nil:
		return waiting{}
	case d.taking[c.job.ID()]:
		return waiting{scheduler.WaitPreempting, "slots are being taken back for it: " + has}
	case c.kept != "":
		return waiting{scheduler.WaitTurn, fmt.Sprintf("%d free %s slots are %s; %s", free, kind, c.kept, has)}
	case c.unfit != nil && free > 0:
		return d.unfit(c.unfit, kind)
	case float64(c.held) < share:
		return waiting{scheduler.WaitBelowShare, has}
	case free > 0 && !d.options.WorkConserving:
		return waiting{scheduler.WaitAtLimit, "slots stay free because work-conserving is false: " + has}
	}
	return waiting{scheduler.WaitTurn, has}
}

// unfit says why a bundle does not fit although slots are free.
func (d *dealing) unfit(b *view.Bundle, kind scheduler.SlotKind) waiting {
	slots, memory := 0, int64(0)
	for i := range b.Groups {
		slots += b.Groups[i].Slots
		memory += b.Groups[i].Memory
	}
	detail := fmt.Sprintf("bundle %d needs %d slots and %d MiB of memory for its %d groups; %d %s slots are free",
		b.ID, slots, memory>>20, len(b.Groups), d.view.FreeSlots(kind), kind)
	if n := len(b.Avoid); n > 0 {
		detail += fmt.Sprintf("; %d launchers are excluded for it", n)
	}
	return waiting{b.Unfit(), detail}
}

// Explain says why a job waits. It is as of the last round.
func (p *Policy) Explain(id scheduler.JobID) (scheduler.Explanation, error) {
	j := p.view.Job(id)
	if j == nil {
		return scheduler.Explanation{}, fmt.Errorf("%w: %s", scheduler.ErrUnknownJob, id)
	}
	w := p.reasons[id]
	x := scheduler.Explanation{Reason: w.reason, Detail: w.detail}
	if x.Detail == "" {
		x.Detail = fmt.Sprintf("%d bundles are ready, %d attempts live", j.ReadyCount(), len(j.Attempts()))
	}
	for _, property := range []string{"preempt", "preemptible"} {
		if said(&j.Info, property) == unclear {
			x.Detail += fmt.Sprintf("; its property %s is neither true nor false and does not count", property)
		}
	}
	fact := func(name string, value any) {
		x.Facts = append(x.Facts, scheduler.Property{Name: name, Value: fmt.Sprint(value)})
	}
	n := p.memory.newcomer(id)
	for _, kind := range kindsOf(j) {
		fact("share "+kind, strconv.FormatFloat(p.world.share(kind), 'f', 1, 64))
		fact("held "+kind, p.world.held(j, kind))
		fact("ready "+kind, j.ReadySlots(kind))
		if d := n.due(kind); d != nil {
			fact("first share "+kind, d.First)
			fact("given of it "+kind, d.Given)
			fact("taken from others "+kind, d.Taken)
		}
	}
	return x, nil
}

// Status shows one pool for each kind of slot.
func (p *Policy) Status() (scheduler.Status, error) {
	var s scheduler.Status
	for _, kind := range p.world.kinds {
		pool := scheduler.PoolStatus{Name: "preemptive-fair", Kind: kind, Weight: 1, FairShare: float64(p.world.slots(kind)), Jobs: p.world.claimants(kind)}
		for _, j := range p.view.Jobs() {
			pool.Running += j.Held(kind)
			pool.Demand += j.Held(kind) + wants(j, kind)
		}
		s.Pools = append(s.Pools, pool)
		s.Facts = append(s.Facts, scheduler.Property{Name: "share of a job " + kind, Value: strconv.FormatFloat(p.world.share(kind), 'f', 1, 64)})
	}
	fact := func(name string, value any) {
		s.Facts = append(s.Facts, scheduler.Property{Name: name, Value: fmt.Sprint(value)})
	}
	fact("jobs below their first share", len(p.memory.Newcomers))
	fact("jobs between stages", len(p.memory.Between))
	o := p.options
	fact("preemption", o.Preemption)
	fact("only-higher-priority", o.OnlyHigherPriority)
	fact("job-loses", o.JobLoses)
	fact("attempt-loses", o.AttemptLoses)
	fact("mode", o.Mode)
	fact("hold", o.Hold)
	fact("hold-max", o.HoldMax)
	fact("work-conserving", o.WorkConserving)
	fact("collect-after", o.CollectAfter)
	fact("times-max", o.TimesMax)
	return s, nil
}
