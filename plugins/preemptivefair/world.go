package preemptivefair

import (
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/preemption"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/queueorder"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// world holds what shares are computed from. The events of each round update it, so that
// unchanged jobs cost a round nothing.
type world struct {
	view    *view.View
	kinds   []scheduler.SlotKind // that jobs want, in order
	total   map[scheduler.SlotKind]int
	jobs    map[scheduler.SlotKind]int // that have work of the kind
	users   map[scheduler.SlotKind]int // jobs with a stage that needs the kind
	known   map[scheduler.JobID]*job
	waiting []*job // jobs with something to launch, in order of submission
	uneven  []*job // those of them whose ready bundles are not all small, likewise
	touched []*job // jobs with events since the last rest, in any order

	queues  map[scheduler.SlotKind]*queue  // the requests of a kind
	changed []*job                         // jobs whose requests the last assignment changed, in any order
	renewed []*job                         // jobs whose requests this assignment made anew, in any order
	shares  map[scheduler.SlotKind]float64 // of a job, as of the last reasons
	plain   bool                           // the last reasons were of the job alone: see assignment.plain

	stopping preemption.Leaving                // the attempts that are being stopped
	leaving  preemption.Slots[scheduler.JobID] // their slots, by job
	coming   preemption.Slots[scheduler.JobID] // the same, by the job they are stopped for
}

// job is the policy's record of a live job.
type job struct {
	*view.Job
	kinds   []scheduler.SlotKind // of its stages, in their order
	of      []account            // by kind
	waits   bool                 // it is in world.waiting
	small   bool                 // each of its ready bundles needs a single slot
	uneven  bool                 // it is in world.uneven
	touched bool
	changed bool // it is in world.changed
	renewed bool // it is in world.renewed

	requests []*request // by kind, of the last assignment; nil where it wants nothing
}

// account is what a job holds and wants of a kind. It changes only with events of the job, so
// that a round need not recompute unchanged jobs.
type account struct {
	counts bool // it has work of the kind
	held   int  // slots
	ready  int  // slots of all groups that may be launched
	first  int  // its bundles whose first group needs the kind
}

// newWorld builds the world from the whole view.
func newWorld(v *view.View) *world {
	w := &world{
		view: v, jobs: map[scheduler.SlotKind]int{}, users: map[scheduler.SlotKind]int{}, known: map[scheduler.JobID]*job{},
		queues: map[scheduler.SlotKind]*queue{}, shares: map[scheduler.SlotKind]float64{},
	}
	w.total = v.Capacity.OpenSlots()
	for _, j := range v.Jobs() {
		w.touch(j)
	}
	w.updateTouched()
	return w
}

// update processes the events of a round that the view has applied.
func (w *world) update(events []scheduler.Event) {
	for _, e := range events {
		switch e := e.(type) {
		case scheduler.JobSubmitted:
			w.touch(w.view.Job(e.Job.ID))
		case scheduler.JobFinished:
			w.drop(e.Job)
		case scheduler.StageGrown:
			if e.Kind != "" {
				w.drop(e.Job) // it shares other kinds
			}
			w.touch(w.view.Job(e.Job))
		case scheduler.BundleReady:
			w.touch(w.view.Job(e.Job))
		case scheduler.BundleWithdrawn:
			w.touch(w.view.Job(e.Job))
		case scheduler.BundleReopened:
			w.touch(w.view.Job(e.Job))
		case scheduler.BundleGivenUp:
			w.touch(w.view.Job(e.Job))
		case scheduler.SpeculationOffered:
			w.touch(w.view.Job(e.Job))
		case scheduler.SpeculationWithdrawn:
			w.touch(w.view.Job(e.Job))
		case scheduler.AttemptTookSlots:
			w.touchAttempt(e.Attempt)
		case scheduler.AttemptSuspended:
			w.touchAttempt(e.Attempt)
		case scheduler.SuspensionFailed:
			w.touchAttempt(e.Attempt)
		case scheduler.AttemptResumed:
			w.touchAttempt(e.Attempt)
		case scheduler.Outcome:
			if b := w.view.Bundle(e.Launch.Bundle); b != nil && e.Kind == scheduler.DecisionLaunch {
				w.touch(b.Job)
			}
			for _, id := range e.Preempt.Victims { // the offer to launch a victim a second time has ended
				w.touchAttempt(id)
			}
		}
	}
	for _, e := range w.view.Ended() {
		if j := e.Job(); w.view.Job(j.ID()) == j {
			w.touch(j)
		}
	}
	if w.view.LaunchersChanged() {
		w.total = w.view.Capacity.OpenSlots()
	}
	w.updateTouched()
}

func (w *world) touchAttempt(id scheduler.AttemptID) {
	if a := w.view.Attempt(id); a != nil {
		w.touch(a.Job())
	}
}

// touch marks a job to be updated; nil is one that ended in the round of its submission.
func (w *world) touch(j *view.Job) {
	if j == nil {
		return
	}
	s := w.known[j.ID()]
	if s == nil {
		s = &job{Job: j, kinds: j.Kinds()}
		s.of, s.requests = make([]account, len(s.kinds)), make([]*request, len(s.kinds))
		w.known[j.ID()] = s
		for _, kind := range s.kinds {
			if w.users[kind]++; w.users[kind] == 1 {
				i, _ := slices.BinarySearch(w.kinds, kind)
				w.kinds = slices.Insert(w.kinds, i, kind)
				w.queues[kind] = newQueue()
			}
		}
	}
	if !s.touched {
		s.touched = true
		w.touched = append(w.touched, s)
	}
}

// drop forgets a job that ended.
func (w *world) drop(id scheduler.JobID) {
	s := w.known[id]
	if s == nil {
		return
	}
	delete(w.known, id)
	w.setWaits(s, false)
	w.setUneven(s, false)
	for i, kind := range s.kinds {
		if s.of[i].counts {
			w.jobs[kind]--
		}
		if w.users[kind]--; w.users[kind] == 0 {
			at, _ := slices.BinarySearch(w.kinds, kind)
			w.kinds = slices.Delete(w.kinds, at, at+1)
			delete(w.users, kind)
			delete(w.jobs, kind)
			delete(w.queues, kind)
			delete(w.shares, kind)
		}
	}
	if s.touched {
		w.touched = slices.DeleteFunc(w.touched, func(x *job) bool { return x == s })
	}
}

// rest ends a round.
func (w *world) rest() {
	for _, s := range w.touched {
		s.touched = false
	}
	w.touched = w.touched[:0]
}

// updateTouched updates the touched jobs.
func (w *world) updateTouched() {
	for _, s := range w.touched {
		slots := 0
		for i, kind := range s.kinds {
			now := account{held: s.Held(kind), ready: s.LaunchableSlots(kind), first: s.LaunchableFirst(kind)}
			now.counts = s.WaitingSlots(kind)+now.held > 0
			switch {
			case now.counts && !s.of[i].counts:
				w.jobs[kind]++
			case !now.counts && s.of[i].counts:
				w.jobs[kind]--
			}
			s.of[i] = now
			slots += now.ready
		}
		s.small = s.GangCount() == 0 && slots == s.LaunchableCount()
		w.setWaits(s, s.LaunchableCount() > 0)
		w.setUneven(s, s.waits && !s.small)
	}
}

// setWaits adds a job to the waiting jobs, or removes it.
func (w *world) setWaits(s *job, waits bool) {
	if s.waits == waits {
		return
	}
	s.waits = waits
	w.waiting = toggle(w.waiting, s)
	for i := range s.requests {
		w.withdraw(s, i)
	}
}

// setUneven adds a job to those whose ready bundles are not all small, or removes it.
func (w *world) setUneven(s *job, uneven bool) {
	if s.uneven != uneven {
		s.uneven = uneven
		w.uneven = toggle(w.uneven, s)
	}
}

// toggle adds a job to a list in order of submission, or removes it.
func toggle(list []*job, s *job) []*job {
	i, found := slices.BinarySearchFunc(list, s, bySubmission)
	if found {
		return slices.Delete(list, i, i+1)
	}
	return slices.Insert(list, i, s)
}

// withdraw removes a job's request of its i-th kind.
func (w *world) withdraw(s *job, i int) {
	if c := s.requests[i]; c != nil {
		w.queues[s.kinds[i]].leave(c)
		s.requests[i] = nil
	}
}

// change notes that a round changes a job's requests: they are made anew in the next.
func (w *world) change(s *job) {
	if !s.changed {
		s.changed = true
		w.changed = append(w.changed, s)
	}
}

func bySubmission(a, b *job) int { return queueorder.BySubmission(a.Job, b.Job) }

// part updates which attempts are being stopped.
func (w *world) part(all preemption.Leaving) {
	w.stopping, w.leaving, w.coming = all, nil, nil
	for _, l := range all {
		if a := w.view.Attempt(l.Attempt); a != nil {
			w.leaving.Add(a.Job().ID(), a.Need.Kind, a.Need.Slots)
			w.coming.Add(l.For, a.Need.Kind, a.Need.Slots)
		}
	}
}

// slots returns the number of slots of a kind on launchers where work may start.
func (w *world) slots(kind scheduler.SlotKind) int { return w.total[kind] }

// sharers returns how many jobs share a kind.
func (w *world) sharers(kind scheduler.SlotKind) int { return w.jobs[kind] }

// share returns a job's share of a kind, in slots.
func (w *world) share(kind scheduler.SlotKind) float64 {
	return float64(w.total[kind]) / float64(max(w.jobs[kind], 1))
}

// held returns the slots a job holds and is not about to lose.
func (w *world) held(j *view.Job, kind scheduler.SlotKind) int {
	return j.Held(kind) - w.leaving[j.ID()][kind]
}
