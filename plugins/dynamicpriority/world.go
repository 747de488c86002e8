package dynamicpriority

import (
	"cmp"
	"slices"

	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/account"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/queueorder"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// world has the live jobs of each queue, and the slots that they hold. It follows the events of
// rounds, so unchanged parts cost nothing.
type world struct {
	view   *view.View
	ledger *account.Ledger
	queues map[string]*queue // with live jobs
	jobs   map[scheduler.JobID]*job
	// waiting are the jobs with something to launch, in order of priority and submission.
	waiting []*job
	kinds   map[scheduler.SlotKind]int // how many waiting jobs have a stage that needs the kind
	held    map[scheduler.AttemptID]holding
	touched []*job
	marked  []*job // jobs on which the last assignment recorded something
	lists   uint64 // number of lists of claims made
}

// queue is an account with its live jobs.
type queue struct {
	name    string
	account *account.Account // stays while the queue has jobs
	jobs    []*job           // live, in any order
	waiting []*job           // with something to launch, in order

	given  map[scheduler.SlotKind]int // by the current assignment
	saving bool                       // the assignment keeps its quota for a large bundle
	seen   uint64                     // the last list of claims that examined it
}

// job is a live job.
type job struct {
	*view.Job
	queue    *queue
	priority scheduler.Priority   // at the time it was listed
	waits    bool                 // it is in the waiting lists
	counted  []scheduler.SlotKind // of its stages, by which world.kinds counts it while it waits
	touched  bool
	reported scheduler.WaitReason // as last reported to the manager

	// Of the current assignment.
	unfit    *view.Bundle // the first that did not fit
	taking   bool         // slots are being reclaimed for it
	launched int          // bundles
}

// holding is the slots of an attempt.
type holding struct {
	job   *job
	kind  scheduler.SlotKind
	slots int
}

func (w *world) start(v *view.View, l *account.Ledger) {
	*w = world{
		view: v, ledger: l, queues: map[string]*queue{}, jobs: map[scheduler.JobID]*job{}, held: map[scheduler.AttemptID]holding{},
		kinds: map[scheduler.SlotKind]int{},
	}
}

// rest ends a round.
func (w *world) rest() {
	for _, j := range w.touched {
		j.touched = false
	}
	w.touched = w.touched[:0]
}

// before orders jobs: by the priority at which they are listed, then time of submission, then id.
func before(a, b *job) int {
	return cmp.Or(cmp.Compare(b.priority, a.priority), queueorder.BySubmission(a.Job, b.Job))
}

// meet adds a job.
func (w *world) meet(v *view.Job) {
	q := w.queues[v.Info.User]
	if q == nil {
		q = &queue{name: v.Info.User, given: map[scheduler.SlotKind]int{}}
		w.queues[q.name] = q
	}
	j := &job{Job: v, queue: q, priority: v.Info.Priority}
	v.Owner = j
	w.jobs[v.ID()] = j
	q.jobs = append(q.jobs, j)
	w.ledger.JobCame(q.name)
	q.account = w.ledger.Account(q.name)
	w.touchJob(j)
}

// part removes a job that ended.
func (w *world) part(id scheduler.JobID) {
	j := w.jobs[id]
	if j == nil {
		return // it came and ended in one round
	}
	w.list(j, false)
	delete(w.jobs, id)
	w.touched = slices.DeleteFunc(w.touched, func(x *job) bool { return x == j })
	j.queue.jobs = slices.DeleteFunc(j.queue.jobs, func(x *job) bool { return x == j })
	if len(j.queue.jobs) == 0 {
		delete(w.queues, j.queue.name)
	}
	w.ledger.JobWent(j.queue.name)
}

// move lists a job by its new priority.
func (w *world) move(id scheduler.JobID) {
	j := w.jobs[id]
	if j == nil {
		return
	}
	w.list(j, false)
	j.priority = j.Info.Priority
	w.touchJob(j)
}

func (w *world) touch(id scheduler.JobID) {
	if j := w.jobs[id]; j != nil {
		w.touchJob(j)
	}
}

func (w *world) touchJob(j *job) {
	if !j.touched {
		j.touched = true
		w.touched = append(w.touched, j)
	}
}

// updateWaiting lists the touched jobs that have something to launch or to report.
func (w *world) updateWaiting() {
	for _, j := range w.touched {
		w.list(j, j.LaunchableCount() > 0)
	}
}

func (w *world) list(j *job, waits bool) {
	if j.waits == waits {
		return
	}
	j.waits = waits
	w.count(j)
	for _, list := range []*[]*job{&w.waiting, &j.queue.waiting} {
		i, found := slices.BinarySearchFunc(*list, j, before)
		if found {
			*list = slices.Delete(*list, i, i+1)
		} else {
			*list = slices.Insert(*list, i, j)
		}
	}
}

// count updates the counted kinds of slots of a job, if it waits.
func (w *world) count(j *job) {
	for _, kind := range j.counted {
		if w.kinds[kind]--; w.kinds[kind] == 0 {
			delete(w.kinds, kind)
		}
	}
	j.counted = j.counted[:0]
	for i := 0; j.waits && i < len(j.Info.Stages); i++ {
		kind := j.Info.Stages[i].Kind
		w.kinds[kind]++
		j.counted = append(j.counted, kind)
	}
}

// grow records that a stage of a job has more groups, or takes slots of another kind.
func (w *world) grow(id scheduler.JobID) {
	if j := w.jobs[id]; j != nil {
		w.count(j)
		w.touchJob(j)
	}
}

// hold counts an attempt's slots from a time on, unless it is counted already or has none.
func (w *world) hold(a *view.Attempt, at int64) {
	if _, is := w.held[a.ID]; is || a.Ahead || a.State == view.Suspended && !a.Resuming {
		return
	}
	w.take(a, at)
}

func (w *world) take(a *view.Attempt, at int64) {
	j, ok := a.Job().Owner.(*job)
	if !ok {
		return
	}
	h := holding{j, a.Need.Kind, a.Need.Slots}
	w.held[a.ID] = h
	w.ledger.Hold(j.queue.name, h.kind, h.slots, at)
}

// release stops counting an attempt's slots.
func (w *world) release(id scheduler.AttemptID, at int64) {
	h, is := w.held[id]
	if !is {
		return
	}
	delete(w.held, id)
	w.ledger.Hold(h.job.queue.name, h.kind, -h.slots, at)
	w.touch(h.job.ID())
}

// again counts the slots of a resumed attempt.
func (w *world) again(id scheduler.AttemptID, at int64) {
	if a := w.view.LiveOrEnded(id); a != nil && !a.Ahead {
		if _, is := w.held[id]; !is {
			w.take(a, at)
		}
	}
}

// outcome handles the outcome of a decision.
func (w *world) outcome(o scheduler.Outcome) {
	for _, id := range o.Attempts { // of an accepted launch or resumption
		w.again(id, int64(o.At))
	}
	if b := w.view.Bundle(o.Launch.Bundle); b != nil && o.Kind == scheduler.DecisionLaunch {
		w.touch(b.Job.ID())
	}
	for _, id := range o.Preempt.Victims { // a preemption ends the offer of a second attempt
		if a := w.view.Attempt(id); a != nil {
			w.touch(a.Job().ID())
		}
	}
}

// mark records that an assignment has data on a job, and returns the job.
func (w *world) mark(j *job) *job {
	w.marked = append(w.marked, j)
	return j
}

// unmark clears the last assignment's data.
func (w *world) unmark() {
	for _, j := range w.marked {
		j.unfit, j.taking, j.launched = nil, false, 0
		clear(j.queue.given)
		j.queue.saving = false
	}
	w.marked = w.marked[:0]
}

// countSlots counts the slots to divide, without those of closed launchers.
func (w *world) countSlots() map[string]int {
	all := w.view.Capacity.OpenSlots()
	for kind, n := range all {
		all[kind] = min(n, slotsMax)
	}
	return all
}

// slotsMax bounds the slots of a kind that are divided, so that products of slots, rates and times
// do not overflow.
const slotsMax = 1_000_000
