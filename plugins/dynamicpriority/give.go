package dynamicpriority

import (
	"cmp"
	"iter"
	"maps"
	"math"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/gangs"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/heap"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/locality"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/locality/placement"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/preemption"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

const (
	// jobsMax bounds how many jobs of a queue are searched for work near its input. Then the first
	// job's work is launched anywhere.
	jobsMax = 64
)

// assignment is the work of one round.
type assignment struct {
	*Policy
	launches []scheduler.Launch
	preempts []scheduler.Preempt

	leaving preemption.Slots[*queue] // of attempts that are being stopped
	coming  preemption.Slots[*queue] // the same, by the queue that gains them

	// Slots collected for bundles; the view does not have them any more.
	kept      gangs.Holdback
	keptFor   *view.Bundle
	overdueAt scheduler.Time // when the next large bundle will be overdue; 0: none will

	lacking       []scheduler.SlotKind // kinds of which a queue lacks slots that could be preempted
	protectedTill scheduler.Time       // when the first protected attempt may be preempted; 0: none is protected
}

// claim is a queue below its quota of a kind.
type claim struct {
	*queue
	held, quota int
	want        int // slots of its ready bundles
	upTo        int // what it may hold within its quota
}

// assign decides one round.
func (d *assignment) assign() {
	d.part()
	d.world.unmark()
	if !d.ledger.Known() {
		return
	}
	kinds := slices.Sorted(maps.Keys(d.world.kinds))
	for _, kind := range kinds {
		d.quotas(kind)
	}
	if d.view.Capacity.AnyReserved() || slices.ContainsFunc(kinds, func(k scheduler.SlotKind) bool { return d.view.Capacity.FreeSlots(k) > 0 }) {
		d.leftover()
	}
	d.placer.Place(&d.options.Locality, placement.Round{View: &d.view}, d.launches)
	d.kept.Release(&d.view)
	if d.options.KillInterval > 0 {
		for _, kind := range kinds {
			d.preemptForQuotas(kind)
		}
	}
}

// part counts the attempts that are being stopped.
func (d *assignment) part() {
	for _, l := range d.memory.Leaving {
		if h, is := d.world.held[l.Attempt]; is {
			d.leaving.Add(h.job.queue, h.kind, h.slots)
			if j := d.world.jobs[l.For]; j != nil {
				d.coming.Add(j.queue, h.kind, h.slots)
			}
		}
	}
}

// holds returns how many slots of a kind a queue has, including this round's launches and without
// those that it is about to lose.
func (d *assignment) holds(q *queue, kind scheduler.SlotKind) int {
	held := q.account.Held(kind)
	if len(q.given) > 0 {
		held += q.given[kind]
	}
	if len(d.leaving) > 0 {
		held -= d.leaving[q][kind]
	}
	return held
}

func (d *assignment) quota(q *queue, kind scheduler.SlotKind) int { return q.account.Quota(kind) }

// below lists the queues below their quotas of a kind that have ready work of that kind, the one
// furthest below first.
func (d *assignment) below(kind scheduler.SlotKind) []*claim {
	var all []*claim
	d.world.lists++
	for _, j := range d.world.waiting {
		q := j.queue
		if q.seen == d.world.lists {
			continue
		}
		q.seen = d.world.lists
		quota := d.quota(q, kind)
		if quota == 0 {
			continue
		}
		held := d.holds(q, kind)
		if held >= quota {
			continue
		}
		s := &claim{queue: q, quota: quota, held: held}
		for _, j := range q.waiting {
			s.want += j.LaunchableSlots(kind)
		}
		if s.want > 0 {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, furthest)
	return all
}

// furthest orders claims by the held fraction of the quota, then by name.
func furthest(a, b *claim) int {
	return cmp.Or(cmp.Compare(a.held*b.quota, b.held*a.quota), cmp.Compare(a.name, b.name))
}

// quotas launches work on slots of a kind up to the quotas.
func (d *assignment) quotas(kind scheduler.SlotKind) {
	free := d.view.Capacity.FreeSlots(kind)
	if free == 0 && !d.view.Capacity.AnyReserved() {
		return
	}
	all := d.below(kind)
	d.share(all, free)
	for _, s := range all {
		d.fill(s.queue, kind, s.upTo)
	}
	for _, s := range all { // slots that other queues could not use, or that are reserved for it
		if d.view.Capacity.FreeSlots(kind) == 0 && !d.view.Capacity.AnyReserved() {
			return
		}
		d.fill(s.queue, kind, s.quota)
	}
}

// share sets how many slots each queue is to hold, as if the free slots were given one by one to
// the queue furthest below its quota.
func (d *assignment) share(all []*claim, free int) {
	lack := 0
	for _, s := range all {
		s.upTo = min(s.quota, s.held+s.want)
		lack += s.upTo - s.held
	}
	if lack <= free {
		return
	}
	for _, s := range all {
		s.want, s.upTo = s.upTo, s.held
	}
	queue := heap.Heap[*claim]{Items: slices.Clone(all), Before: furthestBelow}
	for ; free > 0 && len(queue.Items) > 0; free-- {
		top := queue.Items[0]
		if top.upTo++; top.upTo == top.want {
			queue.Remove(0)
		} else {
			queue.Fix(0)
		}
	}
}

// furthestBelow is furthest by what claims are to hold.
func furthestBelow(a, b *claim) bool {
	return cmp.Or(cmp.Compare(a.upTo*b.quota, b.upTo*a.quota), cmp.Compare(a.name, b.name)) < 0
}

// reserved returns how many slots of a kind are reserved for a queue's jobs.
func (d *assignment) reserved(q *queue, kind scheduler.SlotKind) (sum int) {
	if !d.view.Capacity.AnyReserved() {
		return 0
	}
	for _, j := range q.jobs {
		sum += d.view.Capacity.ReservedSlots(j.ID(), kind)
	}
	return sum
}

// leftover gives the remaining slots to any job that can use them, in order. Queues that save their
// quotas for large bundles come last; slots are collected for these bundles first.
func (d *assignment) leftover() {
	saving := false
	for _, j := range d.world.waiting {
		saving = saving || j.queue.saving
		if !j.queue.saving {
			d.rest(j)
		}
	}
	if !saving {
		return
	}
	keeping := slices.DeleteFunc(slices.Clone(d.world.waiting), func(j *job) bool { return !j.queue.saving })
	for _, j := range keeping {
		for b := range d.overdue(j) {
			d.try(b, math.MaxInt)
		}
	}
	for _, j := range keeping {
		d.rest(j)
	}
}

// rest launches all of a job's work that fits.
func (d *assignment) rest(j *job) {
	for i := range j.Info.Stages {
		kind := j.Info.Stages[i].Kind
		if d.open(j, kind) && j.LaunchableFirst(kind) > 0 {
			d.gang(j, kind, math.MaxInt)
			d.near(j, kind, math.MaxInt)
			d.anywhere(j, kind, math.MaxInt)
		}
	}
}

// overdue walks the first bundle of each kind for which a job has waited long.
func (d *assignment) overdue(j *job) iter.Seq[*view.Bundle] {
	return func(yield func(*view.Bundle) bool) {
		for _, kind := range j.Kinds() {
			b := d.first(j, kind)
			if b != nil && gangs.Large(b) && gangs.Overdue(&d.view, b, d.options.CollectAfter) && !yield(b) {
				return
			}
		}
	}
}

// open reports whether a job could get a slot of a kind.
func (d *assignment) open(j *job, kind scheduler.SlotKind) bool {
	return d.view.Capacity.FreeSlots(kind) > 0 || d.view.Capacity.Reserved(j.ID())
}

// fill launches work of a queue until it holds upTo slots of a kind: overdue work first, then
// gangs, work near its input, and the rest.
func (d *assignment) fill(q *queue, kind scheduler.SlotKind, upTo int) {
	done := func(j *job) bool { return d.holds(q, kind) >= upTo || q.saving || !d.open(j, kind) }
	passes := []func(*job){
		func(j *job) {
			if d.served(j) {
				return
			}
			if b := d.first(j, kind); b != nil && gangs.Overdue(&d.view, b, d.options.CollectAfter) {
				d.try(b, d.quota(q, kind)) // slots become free one by one, so wide work would starve
			}
		},
		func(j *job) { d.gang(j, kind, upTo) },
		func(j *job) { d.near(j, kind, upTo) },
		func(j *job) { d.anywhere(j, kind, upTo) },
	}
	for i, pass := range passes {
		for n, j := range q.waiting {
			if i == 2 && n == jobsMax || q.saving || d.holds(q, kind) >= upTo {
				break
			}
			if !done(j) && j.LaunchableFirst(kind) > 0 {
				pass(j)
			}
		}
	}
}

// served reports whether a job got a slot so recently that none of its bundles is overdue. This
// costs less than checking a bundle.
func (d *assignment) served(j *job) bool {
	live := j.Attempts()
	return len(live) > 0 && d.view.Now().Sub(live[len(live)-1].AssignedAt) < d.options.CollectAfter
}

// first returns a job's first ready bundle of a kind, or nil.
func (d *assignment) first(j *job, kind scheduler.SlotKind) *view.Bundle {
	for b := range j.Launchable(kind, 0).All() {
		return b
	}
	return nil
}

// pass launches work of a job while its queue may have more, up to upTo slots.
func (d *assignment) pass(j *job, kind scheduler.SlotKind, upTo int) *locality.Pass {
	p := &locality.Pass{View: &d.view, Job: j.Job, Kind: kind, Seconds: true}
	p.Full = func() bool {
		return d.holds(j.queue, kind) >= upTo || upTo != math.MaxInt && j.queue.saving || !p.Open()
	}
	p.May = func(b *view.Bundle) bool { return b.Groups[0].Kind == kind && d.may(j, b, upTo) }
	p.Launch = func(b *view.Bundle, where []scheduler.LauncherID) { d.launch(j, b, where) }
	return p
}

func (d *assignment) gang(j *job, kind scheduler.SlotKind, upTo int) {
	if j.GangCount() > 0 {
		d.pass(j, kind, upTo).Each(j.LaunchableGangs().All(), d.fit)
	}
}

// near launches work on launchers that hold its input, then in racks that do.
func (d *assignment) near(j *job, kind scheduler.SlotKind, upTo int) {
	if j.Located() && !d.options.Locality.Blind() {
		d.pass(j, kind, upTo).Near(scheduler.RackLocal)
	}
}

// anywhere launches the rest wherever there is room. Gangs were tried before.
func (d *assignment) anywhere(j *job, kind scheduler.SlotKind, upTo int) {
	single := func(yield func(*view.Bundle) bool) {
		for b := range j.Launchable(kind, 0).All() {
			if len(b.Groups) == 1 && !yield(b) {
				return
			}
		}
	}
	d.pass(j, kind, upTo).Each(single, d.fit)
}

// fit finds a place for a bundle, or records that there is none.
func (d *assignment) fit(b *view.Bundle) ([]scheduler.LauncherID, bool) {
	where, ok := d.options.Locality.Fit(&d.view, b)
	if !ok {
		d.misses(d.jobOf(b), b)
	}
	return where, ok
}

// try launches a bundle wherever it fits.
func (d *assignment) try(b *view.Bundle, upTo int) {
	j := d.jobOf(b)
	if !d.may(j, b, upTo) {
		return
	}
	if where, ok := d.fit(b); ok {
		d.launch(j, b, where)
	}
}

func (d *assignment) jobOf(b *view.Bundle) *job { return d.world.jobs[b.Job.ID()] }

func (d *assignment) launch(j *job, b *view.Bundle, where []scheduler.LauncherID) {
	d.launches = append(d.launches, d.view.Launch(b, where))
	d.world.mark(j).launched++
	for i := range b.Groups {
		j.queue.given[b.Groups[i].Kind] += b.Groups[i].Slots
	}
}

// may reports whether a bundle may start while its queue may have upTo slots of the kind of its
// first group. It may within the quota of each kind that it needs, or if the queue holds no slot of
// that kind. If an overdue bundle may not, its queue holds back smaller ones.
func (d *assignment) may(j *job, b *view.Bundle, upTo int) bool {
	for _, n := range gangs.Needs(b) {
		most, held := upTo, d.holds(j.queue, n.Kind)
		if upTo != math.MaxInt && n.Kind != b.Groups[0].Kind {
			most = d.quota(j.queue, n.Kind)
		}
		if held > 0 && n.Count > most-held {
			if upTo == d.quota(j.queue, b.Groups[0].Kind) && gangs.Overdue(&d.view, b, d.options.CollectAfter) && d.kept.WouldFit(&d.view, b) {
				d.world.mark(j).queue.saving = true
			}
			return false
		}
	}
	return true
}

// misses records that a bundle does not fit. If it is overdue, slots are collected for it.
func (d *assignment) misses(j *job, b *view.Bundle) {
	if j.unfit == nil {
		d.world.mark(j).unfit = b
	}
	if b.SpeculationOffered || d.options.CollectAfter == 0 || d.kept.Has(b) {
		return
	}
	at := gangs.PassedSince(b).Add(d.options.CollectAfter)
	if at > d.view.Now() {
		if gangs.Large(b) && (d.overdueAt == 0 || at < d.overdueAt) {
			d.overdueAt = at
		}
		return
	}
	if d.kept.WouldFit(&d.view, b) {
		d.keptFor = b
		d.kept.HoldFor(&d.view, b, d.options.CollectAfter)
	}
}
