package dynamicpriority

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/account"
	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/page"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/gangs"
)

// explainWaits returns why jobs wait, if that changed, in order of job.
func (d *assignment) explainWaits() []scheduler.Waiting {
	var changed []scheduler.Waiting
	say := func(j *job, reason scheduler.WaitReason, kind scheduler.SlotKind) {
		if j.reported != reason {
			j.reported = reason
			changed = append(changed, scheduler.Waiting{Job: j.ID(), Reason: reason, Detail: d.detail(j, reason, kind)})
		}
	}
	for _, j := range d.world.waiting {
		reason, kind := d.why(j)
		say(j, reason, kind)
	}
	for _, j := range d.world.touched {
		if !j.waits {
			say(j, scheduler.WaitNone, "")
		}
	}
	slices.SortFunc(changed, func(a, b scheduler.Waiting) int { return cmp.Compare(a.Job, b.Job) })
	return changed
}

// why returns why a job waits after the round's decisions, and for which kind of slots.
func (d *assignment) why(j *job) (scheduler.WaitReason, scheduler.SlotKind) {
	if !d.ledger.Known() {
		return scheduler.WaitBudget, ""
	}
	kind, waits := d.next(j)
	if !waits {
		return scheduler.WaitNone, ""
	}
	quota, held := d.quota(j.queue, kind), d.holds(j.queue, kind)
	switch {
	case j.taking || d.coming[j.queue][kind] > 0:
		return scheduler.WaitPreempting, kind
	case d.keptFor != nil && d.keptFor.Job != j.Job && d.kept.Slots(kind) > 0, j.queue.saving:
		return scheduler.WaitTurn, kind
	case j.unfit != nil && d.view.Capacity.FreeSlots(kind) > 0:
		return j.unfit.Unfit(), kind
	case held < quota:
		return scheduler.WaitBelowShare, kind
	case quota > 0:
		return scheduler.WaitAtLimit, kind
	case broke(j.queue):
		return scheduler.WaitBudget, kind
	}
	return scheduler.WaitTurn, kind
}

// next returns the kind of slots that a job waits for first, if it has bundles that are not
// launched.
func (d *assignment) next(j *job) (scheduler.SlotKind, bool) {
	if j.LaunchableCount() <= j.launched {
		return "", false
	}
	if j.unfit != nil {
		return j.unfit.Groups[0].Kind, true
	}
	for i := range j.Info.Stages {
		if kind := j.Info.Stages[i].Kind; j.LaunchableFirst(kind) > 0 && (j.launched == 0 || d.first(j, kind) != nil) {
			return kind, true
		}
	}
	return "", false
}

// broke reports whether a queue's bid exceeds its budget.
func broke(q *queue) bool {
	has := q.account.Queue
	return has != nil && has.Budget < max(has.Spending, 1)
}

// detail explains a wait reason in numbers.
func (d *assignment) detail(j *job, reason scheduler.WaitReason, kind scheduler.SlotKind) string {
	if reason == scheduler.WaitNone {
		return ""
	}
	if !d.ledger.Known() {
		if d.store.failure != "" {
			return "it waits for budgets: " + scheduler.Printable(d.store.failure)
		}
		return "it waits for budgets: their store has not told them yet"
	}
	has := fmt.Sprintf("its queue holds %d of a quota of %d %s slots", d.holds(j.queue, kind), d.quota(j.queue, kind), kind)
	switch {
	case reason == scheduler.WaitPreempting:
		has = "slots are being taken back for it; " + has
	case d.keptFor != nil && d.keptFor.Job != j.Job && d.kept.Slots(kind) > 0:
		has = fmt.Sprintf("free slots are collected for %v of %s; %s", d.keptFor.ID, d.keptFor.Job.ID(), has)
	case j.queue.saving:
		has = "its queue keeps its quota for a bundle that needs more of it at once; " + has
	case j.unfit != nil && d.view.Capacity.FreeSlots(kind) > 0:
		return gangs.Describe(&d.view, j.unfit)
	}
	return has + "; " + d.bid(j.queue.name)
}

// bid describes a queue's bid and budget.
func (p *Policy) bid(name string) string {
	q, a := p.ledger.Queue(name), p.ledger.Account(name)
	switch {
	case q == nil || a == nil:
		return "its user has no queue and runs on what others leave"
	case q.Spending == 0:
		return fmt.Sprintf("it bids nothing and runs on what others leave: set a spending rate (the price is %s)", p.ledger.Price())
	case q.Budget < q.Spending:
		return fmt.Sprintf("its budget of %s does not cover its bid of %s: it runs on what others leave", q.Budget, q.Spending)
	case a.Rate == 0:
		return fmt.Sprintf("its bid of %s counts from the next interval on, which begins every %s", q.Spending, p.ledger.Length())
	}
	return fmt.Sprintf("it pays %s of a price of %s, a share of %s; its budget is %s", a.Rate, p.ledger.Price(), page.Share(a.Rate, p.ledger.Price()), q.Budget)
}

// Explain returns why a job waits, as of the last round.
func (p *Policy) Explain(id scheduler.JobID) (scheduler.Explanation, error) {
	j := p.world.jobs[id]
	if j == nil {
		return scheduler.Explanation{}, fmt.Errorf("%w: %s", scheduler.ErrUnknownJob, id)
	}
	x := scheduler.Explanation{Place: p.place(j)}
	if p.last != nil {
		reason, kind := p.last.why(j)
		x.Reason, x.Detail = reason, p.last.detail(j, reason, kind)
	}
	if x.Detail == "" {
		x.Detail = fmt.Sprintf("%d bundles are ready, %d attempts live; %s", j.LaunchableCount(), len(j.Attempts()), p.bid(j.queue.name))
	}
	x.Detail += p.placer.Over()
	x.AddFact("queue", j.queue.name)
	if q := p.ledger.Queue(j.queue.name); q != nil {
		x.AddFact("budget", q.Budget)
		x.AddFact("spending", q.Spending)
	}
	if a := p.ledger.Account(j.queue.name); a != nil {
		x.AddFact("rate in force", a.Rate)
		x.AddFact("share", page.Share(a.Rate, p.ledger.Price()))
		for _, u := range a.Uses {
			x.AddFact("quota "+u.Kind, u.Quota)
			x.AddFact("held "+u.Kind, u.Held)
		}
	}
	x.AddFact("price", p.ledger.Price())
	return x, nil
}

// place returns a job's position among the waiting jobs of its queue, 0 if it does not wait.
func (p *Policy) place(j *job) int {
	if !j.waits {
		return 0
	}
	i, _ := slices.BinarySearchFunc(j.queue.waiting, j, before)
	return i + 1
}

// statusPoolsMax bounds the pools that a status shows.
const statusPoolsMax = 2000

// Status returns the queues that have jobs.
func (p *Policy) Status() (scheduler.Status, error) {
	s := scheduler.Status{Queue: p.waits(), Facts: p.placer.Facts(&p.options.Locality)}
	for _, a := range p.ledger.Accounts() {
		if a.Jobs > 0 && len(s.Pools) < statusPoolsMax {
			s.Pools = append(s.Pools, p.pools(a)...)
		}
	}
	s.AddFact("price", p.ledger.Price())
	s.AddFact("queues with jobs", len(p.world.queues))
	s.AddFact("alloc-interval", p.options.AllocInterval)
	s.AddFact("kill-interval", p.options.KillInterval)
	s.AddFact("collect-after", p.options.CollectAfter)
	s.AddFact("changes that the store has not acknowledged", p.ledger.Open())
	switch {
	case p.store.failure != "":
		s.AddFact("store", p.store.failure)
	case !p.ledger.Known():
		s.AddFact("store", "has not told budgets yet: nothing is launched")
	}
	return s, nil
}

// pools returns a queue's numbers, one for each kind of slots.
func (p *Policy) pools(a *account.Account) []scheduler.PoolStatus {
	name := scheduler.Printable(a.Name)
	if len(name) > scheduler.TextBytesMax {
		return nil
	}
	weight, _ := strconv.ParseFloat(a.Rate.String(), 64)
	kinds := map[scheduler.SlotKind]int{} // waiting slots
	for _, u := range a.Uses {
		kinds[u.Kind] = 0
	}
	for _, j := range p.world.queues[a.Name].jobs {
		for _, kind := range j.Kinds() {
			kinds[kind] += j.WaitingSlots(kind)
		}
	}
	var all []scheduler.PoolStatus
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		u := a.Use(kind)
		all = append(all, scheduler.PoolStatus{
			Name: name, Kind: kind, Weight: weight, FairShare: float64(u.Quota), Demand: u.Held + kinds[kind], Running: u.Held, Jobs: a.Jobs,
		})
	}
	return all
}
