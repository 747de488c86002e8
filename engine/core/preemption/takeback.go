package preemption

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/engine/core/bundles"
	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/core/internal/state/phase"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// TakeBack frees slots for a bundle that early readers of its job wait for and
// that has found none: the youngest of those that wait are stopped until it
// fits, and what they free is kept for it. They start again when their inputs
// are complete, so that they can't take the slots from the next such bundle. A
// job that got slots a short while ago is left alone: its turn comes again.
func (pr *Preemption) TakeBack(id scheduler.JobID) {
	j := pr.life.Jobs.Get(id)
	if j == nil {
		return
	}
	j.Watched = false
	if j.Phase() != state.JobRunning || !anyWaits(j) {
		return
	}
	pr.orders.WatchWaiting(j)
	if pr.step.Now.Sub(j.LastLaunch) < pr.step.Set.TakeBackAfter {
		return // nothing of it has waited for long enough
	}
	runs := youngestWaiting(j)
	held := state.HeldUp{Job: j, By: runs}
	if helps := (helped{pr: pr, runs: runs}); helps.any(j) && pr.takeForReady(runs, &held, &helps) {
		return
	}
	pr.takeForSuspended(runs, &held)
}

// takeForReady looks for the first ready bundle that the readers wait for and that could
// run without some of them, and does what TakeBack says; true ends the look.
func (pr *Preemption) takeForReady(runs []*state.Run, held *state.HeldUp, helps *helped) bool {
	j, tried := held.Job, 0
	for b := range j.AllReady() {
		waited := pr.step.Now.Sub(max(b.Since, j.LastLaunch))
		if waited < pr.step.Set.TakeBackAfter {
			continue
		}
		if helps.bundle(b) {
			if !held.Has(b) {
				continue
			}
			if pr.capacity.BeingFreed(b.ID()) {
				return true
			}
			fits := pr.bundles.Fits(b, nil, nil)
			if tried == 0 {
				pr.noteRoom(j, fits)
			}
			if !fits && pr.takeFor(b, runs) {
				return true
			}
			if waited >= passedOver*pr.step.Set.TakeBackAfter && (!fits || pr.roomyFor(j) >= (passedOver-1)*pr.step.Set.TakeBackAfter) {
				pr.takeRun(runs[0], b)
				return true
			}
		} else if tried == 0 {
			pr.noteRoom(j, false)
		}
		if tried++; tried == bundles.BundlesTried {
			break
		}
	}
	return false
}

// noteRoom notes whether work that readers wait for has room now. Between two launches on a busy
// cluster it may have some for a moment, and others' work comes first.
func (pr *Preemption) noteRoom(j *state.Job, room bool) {
	switch {
	case !room:
		j.Roomy = 0
	case j.Roomy == 0:
		j.Roomy = pr.step.Now
	}
}

// roomyFor is for how long it has had room at each look.
func (pr *Preemption) roomyFor(j *state.Job) time.Duration {
	if j.Roomy == 0 {
		return 0
	}
	return pr.step.Now.Sub(j.Roomy)
}

// passedOver is how many times takeBackAfter work that readers wait for may be
// passed over though it has room all the time, or would not have it with all of them gone:
// then the youngest is stopped all the same. A policy may be collecting the very
// slots that it waits on for another job, or two jobs' readers stand in each
// other's way.
const passedOver = 6

// takeFor stops as many of the waiting, the youngest first, as make room; false
// when all of them do not.
func (pr *Preemption) takeFor(b *state.Bundle, runs []*state.Run) bool {
	if !pr.bundles.Fits(b, nil, freedBy(runs, false)) {
		return false
	}
	for n := range runs {
		if pr.bundles.Fits(b, nil, freedBy(runs[:n+1], false)) {
			pr.takeRuns(b, runs[:n+1])
			return true
		}
	}
	return false
}

// helped says for whom it could do something that readers are stopped.
type helped struct {
	pr    *Preemption
	runs  []*state.Run // the readers
	kinds map[string]bool
}

// any says whether a walk over what is ready could come to anything. It could not where
// stopping readers could help all that is ready, and no reader waits for any of it: as when
// all writers run, and more readers are ready. That is so of a job for most of its time, and
// it may have thousands of readers.
func (h *helped) any(j *state.Job) bool {
	before := j.StagesBefore(h.runs)
	for i := range before {
		if j.Stages[i].Ready() && (before[i] || !h.kind(j.Kind(i))) {
			return true
		}
	}
	return false
}

// bundle says whether it could for a bundle: for one of the kinds of slot that it needs.
func (h *helped) bundle(b *state.Bundle) bool {
	for i := range b.Width() {
		if h.kind(b.Demand(i).Kind) {
			return true
		}
	}
	return false
}

// kind says whether it could for who needs a kind of slot. Where the readers hold none of
// it, and all are taken by work that goes on, it could not: such slots come free by
// themselves, and whose turn it is then is for the policy to say. Where some are free, memory may be what
// lacks, or the policy waits for what the readers hold; and where only readers hold them, they may
// stand in the way of each other.
func (h *helped) kind(kind string) bool {
	answer, known := h.kinds[kind]
	if !known {
		free, _ := h.pr.capacity.Count(kind)
		answer = free > 0 || slices.ContainsFunc(h.runs, func(r *state.Run) bool {
			return slices.ContainsFunc(r.Attempts, func(a *state.Attempt) bool { return a.Kind == kind })
		}) || !h.pr.goesOn(kind)
		if h.kinds == nil {
			h.kinds = map[string]bool{}
		}
		h.kinds[kind] = answer
	}
	return answer
}

// goesOn says whether slots of a kind are held by work that does not wait for others' output.
func (pr *Preemption) goesOn(kind string) bool {
	for _, id := range pr.life.Launchers.IDs() {
		for _, a := range pr.life.Launchers.Get(id).Attempts {
			if a.Kind == kind && a.HasSlots && a.Phase() != phase.Ended && !waitsForWriters(a) {
				return true
			}
		}
	}
	return false
}

// waitsForWriters says of an attempt that it waits for sources to be made.
func waitsForWriters(a *state.Attempt) bool {
	return a.Reads.Misses() > 0 && a.Run.Bundle.Job.Inputs.Waits(&a.Reads)
}

// takeForSuspended stops waiting readers that hold the slots which work of their
// job, suspended and waited for, needs to go on. Nothing is kept for it: whoever
// resumes sees that there is room.
func (pr *Preemption) takeForSuspended(runs []*state.Run, held *state.HeldUp) {
	j := held.Job
	for s := range pr.life.Suspended.All() {
		if s.Bundle.Job != j || s.Bundle.Last() || s.Stopped() != 0 || pr.step.Now.Sub(max(s.Suspended(), j.LastLaunch)) < pr.step.Set.TakeBackAfter {
			continue
		}
		if !held.Has(s.Bundle) {
			continue
		}
		if victims := inTheWay(s, runs); len(victims) > 0 {
			for _, r := range victims {
				pr.takeRun(r, s.Bundle)
			}
			return
		}
	}
}

// inTheWay lists the runs, in their order, whose end gives a suspended one the
// slots that it lacks; none if it lacks none, or all of them do not give enough.
func inTheWay(s *state.Run, runs []*state.Run) (victims []*state.Run) {
	type place struct {
		launcher *state.Launcher
		kind     string
	}
	var places []place
	lacks := map[place]int{}
	for _, a := range s.Attempts {
		if a.Waits() {
			p := place{a.Launcher, a.Kind}
			if _, there := lacks[p]; !there {
				places = append(places, p)
				lacks[p] = -a.Launcher.Free().Of(a.Kind) - a.Launcher.ReservedAlone(s.Bundle.ID(), a.Kind) - a.Launcher.Stopping(a.Kind)
			}
			lacks[p] += a.Slots
		}
	}
	for _, r := range runs {
		helps := false
		for _, a := range r.Attempts {
			if p := (place{a.Launcher, a.Kind}); a.HasSlots && a.Phase() != phase.Ended && lacks[p] > 0 {
				lacks[p] -= a.Slots
				helps = true
			}
		}
		if helps {
			victims = append(victims, r)
		}
	}
	if slices.ContainsFunc(places, func(p place) bool { return lacks[p] > 0 }) {
		return nil
	}
	return victims
}

// youngestWaiting lists the running bundle attempts of a job that wait for sources
// to be made, the last started first.
func youngestWaiting(j *state.Job) []*state.Run {
	var runs []*state.Run
	for _, a := range j.Attempts.Sorted() {
		if waits(a) && (len(a.Run.Attempts) == 1 || !slices.Contains(runs, a.Run)) {
			runs = append(runs, a.Run)
		}
	}
	slices.SortFunc(runs, func(x, y *state.Run) int { return cmp.Compare(y.ID, x.ID) })
	return runs
}

// anyWaits says whether there are any.
func anyWaits(j *state.Job) bool { return slices.ContainsFunc(j.Attempts.Sorted(), waits) }

// waits says of an attempt that it waits for sources to be made, and may be stopped.
func waits(a *state.Attempt) bool {
	return a.Run.Stopped() == 0 && !a.Run.Granted() && waitsForWriters(a)
}

func (pr *Preemption) takeRuns(b *state.Bundle, runs []*state.Run) {
	k := pr.reserve(b.Job.ID, b.ID(), 0)
	for _, r := range runs {
		for _, a := range r.Attempts {
			if a.Phase() != phase.Ended {
				pr.capacity.AddVictim(k, &a.Allocation)
			}
		}
		pr.takeRun(r, b)
	}
}

// takeRun stops a reader for a bundle that it waits for.
func (pr *Preemption) takeRun(r *state.Run, b *state.Bundle) {
	j := b.Job
	pr.step.Stats.TakenBack++
	pr.life.NoteJob(j, fmt.Sprintf("%s was taken back: %s, which it waits for, found no slot", j.Describe(r.Bundle, 0), j.Describe(b, 0)))
	j.Inputs.SetLate(&r.Bundle.Gate, r.Bundle.AllNodes())
	pr.orders.StopRun(r, scheduler.Preempted, "taken back: what it waits for found no slot", 0, j.ID)
}
