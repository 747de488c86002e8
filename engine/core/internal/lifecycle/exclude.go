package lifecycle

import (
	"fmt"

	"github.com/hamadryad/hamadryad/engine/core/internal/resources"
	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// RecordFailure records a failure of a bundle on a launcher. The bundle excludes the launcher from
// now on, its job after several failures, the site after several jobs. byProgram says that the
// program failed by itself. When one bundle's program does so on several launchers the fault is the
// job's, and none of the launchers is excluded for it.
func (bs *Bundles) RecordFailure(b *state.Bundle, l *state.Launcher, byProgram bool) {
	j := b.Job
	if byProgram && j.Exclusions.FailedByProgram(&b.Exclusions, l.ID) {
		bs.withdrawVotes(j)
	}
	if !bs.excludes(b, l, byProgram) {
		return
	}
	bs.state.NoteJob(j, fmt.Sprintf("launcher %s is avoided: %d attempts failed there", l.Name, bs.step.Set.ExcludeAfter))
	bs.reannounceAll(j)
	if !j.Exclusions.Own() {
		bs.voteAgainst(j, l)
	}
}

// excludes counts a failure of a bundle on a launcher, and reports whether its job excludes the
// launcher from now on.
func (bs *Bundles) excludes(b *state.Bundle, l *state.Launcher, byProgram bool) bool {
	j := b.Job
	if !j.IsElement(b) {
		return j.Exclusions.Failed(&b.Exclusions, l.ID, bs.step.Set.AvoidMax, bs.step.Set.ExcludeAfter)
	}
	own := j.Exclusions.Own()
	excludes := j.Exclusions.FailedElement(&b.Exclusions, l.ID, byProgram, bs.step.Set.AvoidMax, bs.step.Set.ExcludeAfter)
	if !own && j.Exclusions.Own() {
		bs.withdrawVotes(j)
	}
	return excludes
}

// Refusal is why a store of outputs refuses.
type Refusal = state.StoreRefusal

// RefusedStore records that the job's output store refused a launcher, and reports whether another
// launcher has to try: not when another has met the same error, or there is none. The whole job
// excludes this launcher. mount says that the reason may be a bad mount.
func (bs *Bundles) RefusedStore(b *state.Bundle, l *state.Launcher, why Refusal, mount bool) bool {
	j := b.Job
	if j.Exclusions.Refused(l.ID, why, mount) {
		bs.withdrawVotes(j)
		return false
	}
	other := bs.resources.Launchers.FitsEmpty(b, func(x *resources.Launcher) bool {
		return x.ID != l.ID && x.Usable() && !j.Exclusions.Excludes(x.ID) && !b.Exclusions.Excludes(x.ID)
	})
	if !other {
		return false
	}
	if j.Exclusions.Failed(&b.Exclusions, l.ID, bs.step.Set.AvoidMax, 1) {
		bs.state.NoteJob(j, fmt.Sprintf("launcher %s is avoided: the store of the outputs refuses there", l.Name))
		bs.reannounceAll(j)
	}
	return true
}

// StoreTook records that a bundle committed on a launcher, and whether it wrote files of the job's
// outputs. Launchers on which the store had refused the same bundle get a vote against them.
func (bs *Bundles) StoreTook(b *state.Bundle, on scheduler.LauncherID, files bool) {
	if b.Job.IsElement(b) {
		b.Job.Exclusions.ElementSucceeded(on)
	}
	for _, bad := range b.Job.Exclusions.Took(on, files) {
		if l := bs.state.Launchers.Get(bad); l != nil && l.Up && b.Exclusions.Excludes(bad) {
			bs.voteAgainst(b.Job, l)
		}
	}
}

// limits are the limits of the site's exclusions.
func (bs *Bundles) limits() resources.ExclusionLimits {
	return resources.ExclusionLimits{Jobs: bs.step.Set.ExcludeJobs, SharePercent: bs.step.Set.ExcludeSharePercent}
}

// withdrawVotes withdraws a job's votes against launchers.
func (bs *Bundles) withdrawVotes(j *state.Job) {
	for _, l := range bs.resources.Exclusions.WithdrawVotes(j.ID, bs.limits()) {
		bs.events.NotifyExclusion(bs.state.Launchers.Get(l.ID))
		bs.step.Log(step.Info, "a launcher is excluded no more: a job failed elsewhere, too", "launcher", l.Name, "job", j.ID.String())
	}
}

// voteAgainst adds a job's vote against a launcher. With enough votes the site excludes the
// launcher.
func (bs *Bundles) voteAgainst(j *state.Job, l *state.Launcher) {
	by := resources.Vote{Job: j.ID, User: j.Spec.GetPrincipal().GetName(), Program: j.Spec.GetProgram()}
	if bs.resources.Exclusions.VoteAgainst(&l.Launcher, by, bs.step.Now.Add(bs.step.Set.ExcludeFor), bs.limits()) {
		bs.noteExcluded(l)
	}
}

// Succeeded records a job's success: its attempts that failed on some launchers succeeded on
// others.
func (bs *Bundles) Succeeded(j *state.Job) {
	if !j.Exclusions.Some() {
		return
	}
	for _, l := range bs.resources.Exclusions.ConfirmVotes(j.ID, bs.step.Now.Add(bs.step.Set.ExcludeFor), bs.limits()) {
		bs.noteExcluded(bs.state.Launchers.Get(l.ID))
	}
}

func (bs *Bundles) noteExcluded(l *state.Launcher) {
	bs.events.NotifyExclusion(l)
	bs.step.Stats.Excluded++
	bs.dispatch.WithdrawAhead(l, "its launcher is avoided")
	bs.step.Log(step.Warn, "a launcher is avoided for a while: attempts of several jobs failed there", "launcher", l.Name, "for", bs.step.Set.ExcludeFor.String())
	bs.step.SetTimer(bs.step.Set.ExcludeFor, step.TimerReadmit, uint64(l.ID))
}

// reannounceAll offers a job's ready bundles and second attempts again, because the whole job excludes
// another launcher.
func (bs *Bundles) reannounceAll(j *state.Job) {
	for b := range j.Ready.All() {
		bs.reannounce(b)
	}
	bs.reannounceSeconds(j)
}

// reannounceSeconds offers a job's second attempts again, because the launchers that the job
// excludes have changed. Otherwise the policy repeats a launch that is always refused.
func (bs *Bundles) reannounceSeconds(j *state.Job) {
	if j.SpeculativeCount() == 0 {
		return
	}
	for _, a := range j.Attempts().Sorted() {
		if b := a.BundleAttempt.Bundle; b.SpeculationOffered() != 0 { // then it has one live attempt
			bs.events.WithdrawSpeculation(b)
			bs.events.OfferSpeculation(b)
		}
	}
}

// reannounce offers a ready bundle to the policy again, because the launchers that it excludes have
// changed.
func (bs *Bundles) reannounce(b *state.Bundle) {
	bs.relax(b)
	bs.announce(b)
}

func (bs *Bundles) announce(b *state.Bundle) {
	b.OfferAgain(bs.step.Now)
	bs.state.Changes.MarkJob(b.Job)
	bs.resources.Reservations.Withdraw(b.ID(), scheduler.ReservationNotReady)
	bs.events.Notify(b, scheduler.BundleWithdrawn{At: bs.step.Now, Job: b.Job.ID, Bundle: b.ID()})
	bs.events.AnnounceReady(b)
}

// relax makes a bundle exclude fewer launchers when it fits on no others.
func (bs *Bundles) relax(b *state.Bundle) {
	if !state.RelaxExclusions(&b.Job.Exclusions, &b.Exclusions, func() bool { return bs.fitsUnexcluded(b) }) {
		return
	}
	if b.Job.IsElement(b) {
		b.Job.Exclusions.ElementsAtFault()
	}
	for other := range b.Job.Ready.All() {
		if other != b {
			bs.announce(other) // the policy knows the job's earlier exclusions
		}
	}
	bs.reannounceSeconds(b.Job)
}

// fitsUnexcluded reports whether a bundle would fit on the launchers that it does not exclude, if
// they were empty. A gang may need a launcher on which it failed.
func (bs *Bundles) fitsUnexcluded(b *state.Bundle) bool {
	return bs.resources.Launchers.FitsEmpty(b, func(l *resources.Launcher) bool {
		return l.Usable() && !b.Job.Exclusions.Excludes(l.ID) && !b.Exclusions.Excludes(l.ID)
	})
}

// RelaxExclusions looks, after launchers joined or were lost, for ready bundles that now exclude
// all launchers that could hold them.
func (bs *Bundles) RelaxExclusions() {
	for j := range bs.state.Jobs.All() {
		if !j.Exclusions.Some() {
			continue
		}
		for b := range j.Ready.All() {
			if state.AnyExcluded(&j.Exclusions, &b.Exclusions) && !bs.fitsUnexcluded(b) {
				bs.reannounce(b)
			}
		}
	}
}
