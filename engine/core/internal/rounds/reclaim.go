package rounds

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hamadryad/hamadryad/engine/core/internal/lifecycle"
	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/core/internal/state/phase"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// ReclaimEarlyReaders frees slots for a bundle without slots that early readers of its job wait
// for. It stops the youngest of the waiting readers until the bundle fits, and reserves their slots
// for it. A stopped reader starts again when all of its inputs are complete, so it can't take the
// slots of the next such bundle. A job with a recent launch is skipped until the next check.
func (pr *Preemption) ReclaimEarlyReaders(id scheduler.JobID) {
	j := pr.state.Jobs.Get(id)
	if j == nil {
		return
	}
	j.Waits.WatchDone()
	if j.Phase() != state.JobRunning || !anyWaits(j) {
		return
	}
	pr.dispatch.WatchWaiting(j)
	if pr.step.Now.Sub(j.LastLaunch()) < pr.step.Set.ReclaimAfter {
		return // none of its bundles has waited long enough
	}
	runs := youngestWaiting(j)
	held := state.BlockedUpstream{Job: j, Readers: runs}
	if helps := (reclaimHelps{pr: pr, runs: runs}); helps.any(j) && pr.reclaimForReady(runs, &held, &helps) {
		return
	}
	pr.reclaimForSuspended(runs, &held)
}

// reclaimForReady finds the first ready bundle that the readers wait for and that could run without
// some of them, and stops these. True ends the check.
func (pr *Preemption) reclaimForReady(runs []*state.BundleAttempt, held *state.BlockedUpstream, helps *reclaimHelps) bool {
	j, tried := held.Job, 0
	for b := range j.Ready.All() {
		waited := pr.step.Now.Sub(max(b.Since(), j.LastLaunch()))
		if waited < pr.step.Set.ReclaimAfter {
			continue
		}
		if helps.bundle(b) {
			if !held.Has(b) {
				continue
			}
			if pr.resources.Reservations.BeingFreed(b.ID()) {
				return true
			}
			fits := pr.wouldFitWithout(b, nil)
			if tried == 0 {
				j.Waits.NoteRoom(fits, pr.step.Now)
			}
			if !fits && pr.reclaimFor(b, runs) {
				return true
			}
			if waited >= passedOver*pr.step.Set.ReclaimAfter && (!fits || j.Waits.HadRoomFor(pr.step.Now) >= (passedOver-1)*pr.step.Set.ReclaimAfter) {
				pr.reclaim(runs[0], b)
				return true
			}
		} else if tried == 0 {
			j.Waits.NoteRoom(false, pr.step.Now)
		}
		if tried++; tried == lifecycle.BundlesTried {
			break
		}
	}
	return false
}

// passedOver is how many times reclaimAfter a bundle that readers wait for may stay unlaunched,
// while it has room at each check, or would lack it even without all readers. Then the youngest
// reader is stopped all the same. A policy may be collecting the very slots for another job, or
// readers of two jobs may block each other.
const passedOver = 6

// reclaimFor stops as many of the waiting readers, the youngest first, as make room. It returns
// false when even all of them do not.
func (pr *Preemption) reclaimFor(b *state.Bundle, runs []*state.BundleAttempt) bool {
	if !pr.wouldFitWithout(b, runs) {
		return false
	}
	for n := range runs {
		if pr.wouldFitWithout(b, runs[:n+1]) {
			pr.reclaimAll(b, runs[:n+1])
			return true
		}
	}
	return false
}

// wouldFitWithout reports whether a bundle of the readers' job would have room, and be within its user's
// limit, if these readers were stopped.
func (pr *Preemption) wouldFitWithout(b *state.Bundle, runs []*state.BundleAttempt) bool {
	return b.WithinUserLimit(usersFreed(b.Job.User(), runs, false)) && pr.bundles.Fits(b, nil, freedBy(runs, false))
}

// reclaimHelps computes the bundles for which stopping readers could help. A bundle whose user is at
// the limit is always one of them.
type reclaimHelps struct {
	pr    *Preemption
	runs  []*state.BundleAttempt // the readers
	kinds map[string]bool
}

// any reports whether a walk over the ready bundles could find one. It could not when no reader
// waits for any of them and stopping readers could help all of them, as when all writers run and
// only readers are ready. A job is in that state for most of its time, and may have thousands of
// readers.
func (h *reclaimHelps) any(j *state.Job) bool {
	before := (&state.BlockedUpstream{Job: j, Readers: h.runs}).Stages()
	for i := range before {
		if j.Stages[i].Ready() && (before[i] || j.User().Limited() || !h.kind(j.Stages[i].Kind())) {
			return true
		}
	}
	return false
}

// bundle reports whether stopping readers could help a bundle: by one of the slot kinds that it
// needs.
func (h *reclaimHelps) bundle(b *state.Bundle) bool {
	if !b.WithinUserLimit(scheduler.Usage{}) {
		return true
	}
	for i := range b.Width() {
		if h.kind(b.Request(i).Kind) {
			return true
		}
	}
	return false
}

// kind reports whether stopping readers could help work that needs a kind of slots. It could not
// when readers hold none of the kind and work that makes progress holds all: such slots become free
// without it, and the policy assigns them. When some slots are free, memory may be missing, or the
// policy waits for what readers hold. When only readers hold slots of the kind, they may block each
// other.
func (h *reclaimHelps) kind(kind string) bool {
	answer, known := h.kinds[kind]
	if !known {
		free, _ := h.pr.resources.Launchers.Count(kind)
		answer = free > 0 || slices.ContainsFunc(h.runs, func(r *state.BundleAttempt) bool {
			return slices.ContainsFunc(r.Attempts, func(a *state.Attempt) bool { return a.Kind == kind })
		}) || !h.pr.heldByProgress(kind)
		if h.kinds == nil {
			h.kinds = map[string]bool{}
		}
		h.kinds[kind] = answer
	}
	return answer
}

// heldByProgress reports whether work that waits for no other attempt's output holds slots of a
// kind.
func (pr *Preemption) heldByProgress(kind string) bool {
	for _, id := range pr.state.Launchers.IDs() {
		for _, a := range pr.state.Launchers.Get(id).Attempts() {
			if a.Kind == kind && a.HasSlots && a.Phase() != phase.Ended && !waitsForWriters(a) {
				return true
			}
		}
	}
	return false
}

// waitsForWriters reports whether an attempt waits for sources that are not written yet.
func waitsForWriters(a *state.Attempt) bool {
	return a.Reads.Misses() > 0 && a.BundleAttempt.Bundle.Job.Inputs.Waits(&a.Reads)
}

// reclaimForSuspended stops waiting readers that hold the slots which suspended work of their job
// needs, if they wait for that work. Nothing is reserved for it: the next resumption finds the
// room.
func (pr *Preemption) reclaimForSuspended(runs []*state.BundleAttempt, held *state.BlockedUpstream) {
	j := held.Job
	for s := range pr.state.Suspended.All() {
		if s.Bundle.Job != j || s.Bundle.Last() || s.Stopped() != 0 || pr.step.Now.Sub(max(s.Suspended(), j.LastLaunch())) < pr.step.Set.ReclaimAfter {
			continue
		}
		if !held.Has(s.Bundle) {
			continue
		}
		victims := inTheWay(s, runs)
		if len(victims) == 0 {
			victims = overLimit(s, runs)
		}
		if len(victims) > 0 {
			for _, r := range victims {
				pr.reclaim(r, s.Bundle)
			}
			return
		}
	}
}

// inTheWay lists the bundle attempts, in their order, whose end frees the slots that a suspended
// one lacks. It lists none when nothing is lacking, or when even all of them do not free enough.
func inTheWay(s *state.BundleAttempt, runs []*state.BundleAttempt) (victims []*state.BundleAttempt) {
	type place struct {
		launcher *state.Launcher
		kind     string
	}
	var places []place
	lacks := map[place]int{}
	for _, a := range s.Attempts {
		if a.WaitsForResume() {
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

// overLimit lists the first of the readers without which the limit of their user allows a suspended
// bundle attempt of their job. It lists none when it is allowed with all of them, or with none.
func overLimit(s *state.BundleAttempt, runs []*state.BundleAttempt) []*state.BundleAttempt {
	user, need := s.Bundle.Job.User(), s.TakesToResume()
	for n := range len(runs) + 1 {
		if user.Allows(need, usersFreed(user, runs[:n], false)) {
			return runs[:n]
		}
	}
	return nil
}

// youngestWaiting lists a job's bundle attempts that wait for unwritten sources, the last
// started first.
func youngestWaiting(j *state.Job) []*state.BundleAttempt {
	var runs []*state.BundleAttempt
	for _, a := range j.Attempts().Sorted() {
		if waits(a) && (len(a.BundleAttempt.Attempts) == 1 || !slices.Contains(runs, a.BundleAttempt)) {
			runs = append(runs, a.BundleAttempt)
		}
	}
	slices.SortFunc(runs, func(x, y *state.BundleAttempt) int { return cmp.Compare(y.ID, x.ID) })
	return runs
}

// anyWaits reports whether there are any.
func anyWaits(j *state.Job) bool { return slices.ContainsFunc(j.Attempts().Sorted(), waits) }

// waits reports whether an attempt waits for sources to be written, and may be stopped.
func waits(a *state.Attempt) bool {
	return a.BundleAttempt.Stopped() == 0 && !a.BundleAttempt.Granted() && waitsForWriters(a)
}

func (pr *Preemption) reclaimAll(b *state.Bundle, runs []*state.BundleAttempt) {
	k := pr.reserve(b.Job.ID, b.ID(), 0)
	for _, r := range runs {
		for _, a := range r.Attempts {
			if a.Phase() != phase.Ended {
				pr.resources.Reservations.AddVictim(k, &a.Allocation)
				pr.dispatch.WithdrawAhead(a.Launcher, "what is free there is reserved")
			}
		}
		pr.reclaim(r, b)
	}
}

// reclaim stops a reader for a bundle that it waits for.
func (pr *Preemption) reclaim(r *state.BundleAttempt, b *state.Bundle) {
	j := b.Job
	pr.step.Stats.Reclaimed++
	pr.state.NoteJob(j, fmt.Sprintf("%s was taken back: %s, which it waits for, found no slot", j.Describe(r.Bundle, 0), j.Describe(b, 0)))
	j.Inputs.SetLate(&r.Bundle.Gate, r.Bundle.AllNodes())
	pr.dispatch.StopBundleAttempt(r, scheduler.Preempted, "taken back: what it waits for found no slot", j.ID)
}
