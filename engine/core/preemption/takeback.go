package preemption

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hamadryad/hamadryad/engine/core/bundles"
	"github.com/hamadryad/hamadryad/engine/core/course"
	"github.com/hamadryad/hamadryad/engine/core/life"
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
	runs := pr.youngestWaiting(j)
	if j.Phase() != life.JobRunning || len(runs) == 0 {
		return
	}
	pr.orders.WatchWaiting(j)
	var wanted []bool
	tried := 0
	for b := range j.AllReady() {
		waited := pr.step.Now.Sub(max(b.Since, j.LastLaunch))
		if waited < pr.step.Set.TakeBackAfter {
			continue
		}
		if wanted == nil {
			wanted = j.HeldUpBy(runs)
		}
		if !wanted[b.Index] {
			continue
		}
		if pr.capacity.BeingFreed(b.ID()) || !pr.bundles.Fits(b, nil, nil) && pr.takeFor(b, runs) {
			return
		}
		if waited >= passedOver*pr.step.Set.TakeBackAfter {
			pr.takeRun(runs[0], b)
			return
		}
		if tried++; tried == bundles.BundlesTried {
			break
		}
	}
	pr.takeForSuspended(j, runs, wanted)
}

// passedOver is how many times takeBackAfter work that readers wait for may be
// passed over though it has room, or would not have it with all of them gone:
// then the youngest is stopped all the same. A policy may be collecting the very
// slots that it waits on for another job, or two jobs' readers stand in each
// other's way.
const passedOver = 6

// takeFor stops as many of the waiting, the youngest first, as make room; false
// when all of them do not.
func (pr *Preemption) takeFor(b *life.Bundle, runs []*life.Run) bool {
	for n := range runs {
		if pr.bundles.Fits(b, nil, freedBy(runs[:n+1], false)) {
			pr.takeRuns(b, runs[:n+1])
			return true
		}
	}
	return false
}

// takeForSuspended stops waiting readers that hold the slots which work of their
// job, suspended and waited for, needs to go on. Nothing is kept for it: whoever
// resumes sees that there is room.
func (pr *Preemption) takeForSuspended(j *life.Job, runs []*life.Run, wanted []bool) {
	for s := range pr.life.Suspended.All() {
		if s.Bundle.Job != j || s.Bundle.Last() || s.Stopped() != 0 || pr.step.Now.Sub(max(s.Suspended(), j.LastLaunch)) < pr.step.Set.TakeBackAfter {
			continue
		}
		if wanted == nil {
			wanted = j.HeldUpBy(runs)
		}
		if !wanted[s.Bundle.Index] {
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
func inTheWay(s *life.Run, runs []*life.Run) (victims []*life.Run) {
	type place struct {
		launcher *life.Launcher
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
			if p := (place{a.Launcher, a.Kind}); a.HasSlots && a.Phase() != course.Ended && lacks[p] > 0 {
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
func (pr *Preemption) youngestWaiting(j *life.Job) []*life.Run {
	var runs []*life.Run
	for _, a := range j.Attempts.Sorted() {
		if a.Reads.Misses() > 0 && a.Run.Stopped() == 0 && !a.Run.Granted() && !slices.Contains(runs, a.Run) && j.Inputs.Waits(&a.Reads) {
			runs = append(runs, a.Run)
		}
	}
	slices.SortFunc(runs, func(x, y *life.Run) int { return cmp.Compare(y.ID, x.ID) })
	return runs
}

func (pr *Preemption) takeRuns(b *life.Bundle, runs []*life.Run) {
	k := pr.reserve(b.Job.ID, b.ID(), 0)
	for _, r := range runs {
		for _, a := range r.Attempts {
			if a.Phase() != course.Ended {
				pr.capacity.AddVictim(k, &a.Holding)
			}
		}
		pr.takeRun(r, b)
	}
}

// takeRun stops a reader for a bundle that it waits for.
func (pr *Preemption) takeRun(r *life.Run, b *life.Bundle) {
	j := b.Job
	pr.step.Stats.TakenBack++
	pr.life.NoteJob(j, fmt.Sprintf("%s was taken back: %s, which it waits for, found no slot", j.Describe(r.Bundle, 0), j.Describe(b, 0)))
	j.Inputs.SetLate(&r.Bundle.Gate, r.Bundle.AllNodes())
	pr.orders.StopRun(r, scheduler.Preempted, "taken back: what it waits for found no slot", 0, j.ID)
}
