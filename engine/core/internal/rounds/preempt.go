package rounds

import (
	"fmt"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/engine/core/internal/lifecycle"
	"github.com/hamadryad/hamadryad/engine/core/internal/resources"
	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/core/internal/state/phase"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Preempt preempts one set of victims for a beneficiary, or refuses the whole set.
func (pr *Preemption) Preempt(d scheduler.Preempt) (scheduler.RefusalReason, string) {
	runs, reason, why := pr.victims(d)
	if reason != scheduler.NotRefused {
		return reason, why
	}
	j := pr.state.Jobs.Get(d.For)
	if j == nil || !j.KnownToPolicy() {
		return scheduler.UnknownID, fmt.Sprintf("%s is not there", d.For)
	}
	if d.Mode == scheduler.PreemptSuspend {
		if why := pr.tooMany(runs); why != "" {
			return scheduler.LimitReached, why
		}
	}
	if reason, why := pr.wouldFit(d, j, runs); reason != scheduler.NotRefused {
		return reason, why
	}
	grace := time.Duration(0)
	if d.Mode == scheduler.PreemptSoft {
		grace = min(max(d.Grace, 0), pr.step.Set.PolicyLimits.GraceMax)
	}
	k := pr.reserve(j.ID, d.Bundle, grace)
	for _, r := range runs {
		pr.preemptBundleAttempt(r, k, d.Mode == scheduler.PreemptSuspend, grace)
		if r.Suspended() != 0 && r.Bundle.SuspendedAttempt() == nil {
			pr.resources.Reservations.ReleaseForBundle(r.Bundle.ID()) // it is not resumed
		}
	}
	pr.resources.Reservations.ReleaseIfEmpty(k)
	return scheduler.NotRefused, ""
}

// reserve makes a reservation that lasts for reserveMax after its victims' grace.
func (pr *Preemption) reserve(j scheduler.JobID, b scheduler.BundleID, grace time.Duration) *resources.Reservation {
	id, lasts := pr.ids.NextReservation(), grace+pr.step.Set.ReserveMax
	pr.step.SetTimer(lasts, step.TimerReservation, id)
	return pr.resources.Reservations.Reserve(resources.Reservation{ID: id, Job: j, Bundle: b, Expires: pr.step.Now.Add(lasts)})
}

// ReservationExpired releases resources that were reserved for too long.
func (pr *Preemption) ReservationExpired(id uint64) {
	if pr.resources.Reservations.Expire(id, pr.step.Now) {
		pr.step.Stats.ReservationsExpired++
	}
}

func (pr *Preemption) preemptBundleAttempt(r *state.BundleAttempt, k *resources.Reservation, suspend bool, grace time.Duration) {
	b := r.Bundle
	b.MarkPreempted()
	pr.events.WithdrawSpeculation(b)
	pr.events.Protect(b)
	pr.step.Stats.Preempted++
	for _, a := range r.Attempts {
		if a.Phase() != phase.Ended && (a.HasSlots || !suspend) {
			pr.resources.Reservations.AddVictim(k, &a.Allocation)
			pr.dispatch.WithdrawAhead(a.Launcher, "an attempt there is preempted")
		}
	}
	if suspend {
		r.NoteSuspendRequested(pr.step.Now, k.Job)
		pr.attempts.SuspendBundleAttempt(r)
		return
	}
	pr.dispatch.PreemptBundleAttempt(r, grace, k.Job)
}

// victims finds the bundle attempts of a preemption's victims: a victim stands for its whole
// bundle.
func (pr *Preemption) victims(d scheduler.Preempt) ([]*state.BundleAttempt, scheduler.RefusalReason, string) {
	if len(d.Victims) == 0 {
		return nil, scheduler.WrongShape, "no victim was named"
	}
	if d.Mode < scheduler.PreemptKill || d.Mode > scheduler.PreemptSuspend {
		return nil, scheduler.Unsupported, fmt.Sprintf("mode %d is unknown", d.Mode)
	}
	var runs []*state.BundleAttempt
	for _, id := range d.Victims {
		a := pr.state.Attempts.Get(id)
		if a == nil || a.BundleAttempt.Bundle.Last() {
			return nil, scheduler.UnknownID, fmt.Sprintf("attempt-%d is not there", id)
		}
		if slices.Contains(runs, a.BundleAttempt) {
			continue
		}
		if reason, why := pr.mayPreempt(a.BundleAttempt, d.Mode == scheduler.PreemptSuspend); reason != scheduler.NotRefused {
			return nil, reason, why
		}
		runs = append(runs, a.BundleAttempt)
	}
	return runs, scheduler.NotRefused, ""
}

func (pr *Preemption) mayPreempt(r *state.BundleAttempt, suspend bool) (scheduler.RefusalReason, string) {
	if r.Granted() || pr.step.Now < r.Bundle.Protection.Until() {
		return scheduler.Protected, fmt.Sprintf("%v commits, or was preempted a short while ago", r.Bundle.ID())
	}
	for _, a := range r.Attempts {
		switch {
		case a.Phase() == phase.Ended:
		case a.Stop() != nil || a.Suspending() || a.Resuming() || r.Stopped() != 0:
			return scheduler.NotRunning, fmt.Sprintf("attempt-%d is being stopped, suspended or resumed", a.ID)
		case suspend && a.Phase() != phase.Running:
			return scheduler.NotRunning, fmt.Sprintf("attempt-%d does not run", a.ID)
		case suspend && r.Bundle.Job.Stages[a.Stage].NoSuspend():
			return scheduler.Unsupported, fmt.Sprintf("attempt-%d holds something outside: its program forbids to suspend it", a.ID)
		case suspend && !a.Launcher.CanSuspend:
			return scheduler.Unsupported, fmt.Sprintf("launcher %d (%s) can't suspend", a.Launcher.ID, a.Launcher.Name)
		}
	}
	return scheduler.NotRefused, ""
}

// tooMany names a launcher on which these suspensions would exceed the bounds; "" when there is
// none.
func (pr *Preemption) tooMany(runs []*state.BundleAttempt) string {
	var on []*state.Launcher
	victims := map[*state.Launcher][]*state.Attempt{}
	for _, r := range runs {
		for _, a := range r.Attempts {
			if a.Phase() == phase.Ended {
				continue
			}
			if victims[a.Launcher] == nil {
				on = append(on, a.Launcher)
			}
			victims[a.Launcher] = append(victims[a.Launcher], a)
		}
	}
	limits := pr.step.Set.Limits()
	for _, l := range on {
		n, held := l.SuspendedMemory()
		for _, a := range l.Attempts() {
			if a.Suspending() {
				n, held = n+1, held+a.Memory
			}
		}
		for _, a := range victims[l] {
			n, held = n+1, held+a.Memory
		}
		if !limits.MaySuspend(n, held, l.Memory(), l.Swap()) {
			return fmt.Sprintf("launcher %d (%s) would have %d attempts suspended, which hold %s; it may have %d, and they %d%% of its memory and swap",
				l.ID, l.Name, n, resources.Size(held), limits.SuspendedMax, limits.SuspendedPercent)
		}
	}
	return ""
}

// wouldFit checks that free, reserved and freed resources together fit the beneficiary. That is
// the named bundle, ready or suspended, or one of the job's ready bundles.
func (pr *Preemption) wouldFit(d scheduler.Preempt, j *state.Job, runs []*state.BundleAttempt) (scheduler.RefusalReason, string) {
	freed, users := freedBy(runs, d.Mode == scheduler.PreemptSuspend), usersFreed(j.User(), runs, d.Mode == scheduler.PreemptSuspend)
	if d.Bundle == 0 {
		return pr.anyWouldFit(j, freed, users)
	}
	b := pr.state.Bundles.Get(d.Bundle)
	if b == nil || b.Job != j {
		return scheduler.UnknownID, fmt.Sprintf("%s has no %v", j.ID, d.Bundle)
	}
	if r := b.SuspendedAttempt(); r != nil {
		return pr.wouldResume(d, r, runs, freed, users)
	}
	if b.Phase() != state.BundleReady {
		return scheduler.NotReady, fmt.Sprintf("%v is %s", b.ID(), b.Phase())
	}
	if d.Placement != nil && len(d.Placement) != b.Width() {
		return scheduler.WrongShape, fmt.Sprintf("%v has %d groups and %d launchers were named", b.ID(), b.Width(), len(d.Placement))
	}
	var where []*resources.Launcher
	for _, id := range d.Placement {
		l := pr.state.Launchers.Get(id)
		if l == nil {
			return scheduler.UnknownID, fmt.Sprintf("launcher %d is not there", id)
		}
		where = append(where, &l.Launcher)
	}
	if !pr.bundles.Fits(b, where, freed) {
		return scheduler.NothingGained, fmt.Sprintf("%v would not fit", b.ID())
	}
	if !b.WithinUserLimit(users) {
		return scheduler.UserAtLimit, j.User().Refusal(b.Usage())
	}
	return scheduler.NotRefused, ""
}

// anyWouldFit is wouldFit for any ready bundle of a job.
func (pr *Preemption) anyWouldFit(j *state.Job, freed resources.Freed, users scheduler.Usage) (scheduler.RefusalReason, string) {
	reason, why, tried := scheduler.NothingGained, fmt.Sprintf("no ready bundle of %s would fit", j.ID), 0
	for b := range j.Ready.All() {
		if pr.bundles.Fits(b, nil, freed) {
			if b.WithinUserLimit(users) {
				return scheduler.NotRefused, ""
			}
			reason, why = scheduler.UserAtLimit, j.User().Refusal(b.Usage())
		}
		if tried++; tried == lifecycle.BundlesTried {
			break
		}
	}
	return reason, why
}

// usersFreed sums what stopping or suspending bundle attempts would free for a user's limit.
func usersFreed(user *state.User, runs []*state.BundleAttempt, suspend bool) (sum scheduler.Usage) {
	for _, r := range runs {
		sum = sum.Plus(r.Frees(user, suspend))
	}
	return sum
}

// wouldResume checks that a suspended bundle could be resumed on its launchers.
func (pr *Preemption) wouldResume(d scheduler.Preempt, r *state.BundleAttempt, runs []*state.BundleAttempt, freed resources.Freed, users scheduler.Usage) (scheduler.RefusalReason, string) {
	id := r.Bundle.ID()
	if d.Placement != nil {
		return scheduler.WrongShape, fmt.Sprintf("%v goes on where it is suspended, and launchers were named for it", id)
	}
	if _, held := r.Waiting(); slices.Contains(runs, r) || !pr.resources.Launchers.FitsForResume(id, held, freed) {
		return scheduler.NothingGained, fmt.Sprintf("%v could not be resumed", id)
	}
	if user, need := r.Bundle.Job.User(), r.TakesToResume(); !user.Allows(need, users) {
		return scheduler.UserAtLimit, user.Refusal(need)
	}
	return scheduler.NotRefused, ""
}

// freedBy sums what stopping or suspending bundle attempts would free, by launcher.
func freedBy(runs []*state.BundleAttempt, suspend bool) resources.Freed {
	freed := resources.Freed{}
	for _, r := range runs {
		for _, a := range r.Attempts {
			if a.Phase() != phase.Ended {
				freed.Add(&a.Launcher.Launcher, &a.Allocation, suspend)
			}
		}
	}
	return freed
}
