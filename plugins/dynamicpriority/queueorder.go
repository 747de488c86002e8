package dynamicpriority

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/page"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/gangs"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/heap"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/queueorder"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// waits lists the jobs that the last round left waiting, as if slots of each kind became free one
// by one; nil before the first round. Queues get slots up to their quotas, then jobs get the rest
// in order. Room on launchers and locality are ignored.
func (p *Policy) waits() []scheduler.Queued {
	if p.last == nil {
		return nil
	}
	var l queueorder.List
	for _, kind := range slices.Sorted(maps.Keys(p.world.kinds)) {
		l.BeginKind()
		if p.ledger.Known() {
			p.last.withinQuotas(kind, &l)
		}
		for _, j := range p.world.waiting {
			if l.Count() < scheduler.QueueMax && !l.Has(j.ID()) && !j.queue.saving && p.last.first(j, kind) != nil {
				l.Add(j.ID(), p.last.compared(j, kind)+fmt.Sprintf("; what others leave goes by priority, %s, and submission", j.Info.Priority))
			}
		}
	}
	l.BeginUnserved()
	for _, j := range p.world.waiting {
		if kind, waits := p.last.next(j); waits && !l.Knows(j.ID()) && !l.Full() {
			l.Add(j.ID(), p.last.compared(j, kind)+", and keeps it for a bundle that needs more at once")
		}
	}
	return l.Queue()
}

// turn is a queue below its quota, with its jobs in the order in which it starts their work.
type turn struct {
	*claim
	overdue []*job // each starts one bundle before all others
	jobs    []*job
}

// withinQuotas simulates starts within quotas: the queue furthest below its quota gets the next
// slot.
func (d *assignment) withinQuotas(kind scheduler.SlotKind, l *queueorder.List) {
	queue := heap.Heap[*claim]{Items: d.below(kind), Before: furthestBelow}
	line, work := map[*claim]*turn{}, map[*job]*view.Walk{}
	for _, s := range queue.Items {
		s.want, s.upTo = min(s.quota, s.held+s.want), s.held
		line[s] = d.line(s, kind)
	}
	for starts := 0; starts < queueorder.StartsMax && len(queue.Items) > 0; starts++ {
		s := queue.Items[0]
		j, slots := line[s].next(kind, work)
		if j != nil && !l.Has(j.ID()) {
			l.Add(j.ID(), d.compared(j, kind))
		}
		if s.upTo += slots; j == nil || s.upTo >= s.want {
			queue.Remove(0)
		} else {
			queue.Fix(0)
		}
	}
}

// line returns a queue with its jobs in order of their turns.
func (d *assignment) line(s *claim, kind scheduler.SlotKind) *turn {
	t := &turn{claim: s, jobs: s.waiting}
	for _, j := range s.waiting {
		if b := d.first(j, kind); b != nil && !d.served(j) && gangs.Overdue(&d.view, b, d.options.CollectAfter) {
			t.overdue = append(t.overdue, j)
		}
	}
	return t
}

// next returns the job whose work the queue starts next within its quota, and how many slots that
// takes; nil if no work may start. Work that needs more than the rest of the quota is skipped.
func (t *turn) next(kind scheduler.SlotKind, work map[*job]*view.Walk) (*job, int) {
	for len(t.overdue)+len(t.jobs) > 0 {
		list := &t.overdue
		if len(t.overdue) == 0 {
			list = &t.jobs
		}
		j := (*list)[0]
		if work[j] == nil {
			w := j.Launchable(kind, 0)
			work[j] = &w
		}
		b := work[j].Next()
		if b == nil || list == &t.overdue {
			*list = (*list)[1:]
		}
		if b == nil {
			continue
		}
		if slots := gangs.Slots(b, kind); t.upTo == 0 || slots <= t.quota-t.upTo {
			return j, slots
		}
	}
	return nil, 0
}

// compared describes what determines a job's position.
func (d *assignment) compared(j *job, kind scheduler.SlotKind) string {
	if !d.ledger.Known() {
		return "budgets are not known yet"
	}
	share := page.Number("0.0")
	if a := d.ledger.Account(j.queue.name); a != nil {
		share = page.Share(a.Rate, d.ledger.Price())
	}
	return scheduler.Printable(fmt.Sprintf("queue %.64s holds %d of its quota of %d %s slots, at a share of %s of the price", j.queue.name, d.holds(j.queue, kind), d.quota(j.queue, kind), kind, share))
}
