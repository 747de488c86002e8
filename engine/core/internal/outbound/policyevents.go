package outbound

import (
	"slices"

	"github.com/hamadryad/hamadryad/engine/core/internal/policystate"
	"github.com/hamadryad/hamadryad/engine/core/internal/resources"
	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// PolicyEvents notifies the policy of changes to jobs, bundles, attempts and launchers: event by
// event or, for a starting policy, by a snapshot of the whole state.
type PolicyEvents struct {
	step      *step.Step
	policy    *policystate.Session
	resources *resources.Resources
	state     *state.Cluster
}

// Notify sends an event about a bundle to the policy, and to a starting one unless its snapshot
// will include it. Policies do not see a job's last bundle.
func (ev *PolicyEvents) Notify(b *state.Bundle, e scheduler.Event) {
	if !b.Last() {
		ev.policy.NotifyBundle(b.Job.ID, b.Index, e)
	}
}

// AnnounceReady notifies the policy that a bundle is ready. A later snapshot repeats the sizes and
// places of its input: an earlier policy is not told when they change.
func (ev *PolicyEvents) AnnounceReady(b *state.Bundle) {
	b.Announce(nil)
	e := ev.ReadyEvent(b)
	b.Announce(e.Groups)
	ev.Notify(b, e)
}

// ReadyEvent returns the event that a bundle is ready.
func (ev *PolicyEvents) ReadyEvent(b *state.Bundle) scheduler.BundleReady {
	return scheduler.BundleReady{At: b.Since(), Job: b.Job.ID, Bundle: b.ID(), Groups: ev.GroupsFor(b, true), Avoid: excludedFor(b)}
}

// GroupsFor returns the policy's data on a bundle's groups. Places of their input are left out
// where they no longer matter.
func (ev *PolicyEvents) GroupsFor(b *state.Bundle, places bool) []scheduler.Group {
	groups := make([]scheduler.Group, b.Width())
	for i := range groups {
		d := b.Request(i)
		groups[i] = scheduler.Group{Stage: scheduler.StageID(b.StageOf(i)), Kind: d.Kind, Slots: d.Slots, Memory: d.Memory, Resources: d.Resources}
		if places {
			groups[i].InputBytes, groups[i].Places = b.Job.Inputs.Size(b.Nodes(i), state.Hosts{Cluster: ev.state}, b.Job)
			groups[i] = b.AsAnnounced(i, groups[i])
		}
	}
	return groups
}

// NotifyUserLimit notifies the policy of the limit of a job's user.
func (ev *PolicyEvents) NotifyUserLimit(j *state.Job) {
	ev.policy.NotifyJob(j.ID, userLimitEvent(j, ev.step.Now))
}

func userLimitEvent(j *state.Job, at scheduler.Time) scheduler.UserLimitSet {
	return scheduler.UserLimitSet{At: at, User: j.User().Name, Limit: j.User().Limit}
}

// NotifyStage notifies the policy that a stage takes slots of another kind, or has more groups.
func (ev *PolicyEvents) NotifyStage(j *state.Job, stage int) {
	s := &j.Stages[stage]
	ev.policy.NotifyJob(j.ID, scheduler.StageGrown{At: ev.step.Now, Job: j.ID, Stage: scheduler.StageID(stage), Groups: s.Groups(), Kind: s.Kind()})
}

// Protect protects a bundle from preemption for Settings.ProtectFor, and notifies the policy.
func (ev *PolicyEvents) Protect(b *state.Bundle) {
	b.Protection.ProtectUntil(ev.step.Now.Add(ev.step.Set.ProtectFor))
	ev.Notify(b, ev.protectedEvent(b))
}

func (ev *PolicyEvents) protectedEvent(b *state.Bundle) scheduler.BundleProtected {
	return scheduler.BundleProtected{At: ev.step.Now, Job: b.Job.ID, Bundle: b.ID(), Until: b.Protection.Until()}
}

// NotifyReserved notifies the policy of its reservation for a bundle.
func (ev *PolicyEvents) NotifyReserved(b *state.Bundle, r *resources.Reservation) {
	ev.Notify(b, reservedEvent(b, r))
}

func reservedEvent(b *state.Bundle, r *resources.Reservation) scheduler.BundleReserved {
	return scheduler.BundleReserved{At: r.Since, Job: b.Job.ID, Bundle: b.ID(), Launchers: slices.Clone(r.Where), Until: r.Expires}
}

// SpeculationEvent returns the offer of a running bundle for a speculative attempt.
func (ev *PolicyEvents) SpeculationEvent(b *state.Bundle) scheduler.SpeculationOffered {
	return scheduler.SpeculationOffered{At: b.SpeculationOffered(), Job: b.Job.ID, Bundle: b.ID(), Groups: ev.GroupsFor(b, true), Avoid: state.Avoided(b)}
}

// OfferSpeculation offers a running bundle for a speculative attempt, and notifies the policy.
func (ev *PolicyEvents) OfferSpeculation(b *state.Bundle) {
	b.SetSpeculationOffered(ev.step.Now)
	ev.Notify(b, ev.SpeculationEvent(b))
	ev.state.Changes.MarkJob(b.Job)
}

// WithdrawSpeculation ends the offer of a speculative attempt, if there is one, and notifies the policy.
func (ev *PolicyEvents) WithdrawSpeculation(b *state.Bundle) {
	if b.SpeculationOffered() != 0 {
		b.SetSpeculationOffered(0)
		ev.Notify(b, scheduler.SpeculationWithdrawn{At: ev.step.Now, Job: b.Job.ID, Bundle: b.ID()})
	}
}

// NotifyResuming notifies the policy that the manager resumes attempts of a bundle by itself.
func (ev *PolicyEvents) NotifyResuming(b *state.Bundle, ids []scheduler.AttemptID) {
	ev.Notify(b, resumption(ev.step.Now, ids))
}

// resumption is the outcome of an accepted resumption that is no answer to a decision of the policy.
func resumption(at scheduler.Time, ids []scheduler.AttemptID) scheduler.Outcome {
	return scheduler.Outcome{At: at, Kind: scheduler.DecisionResume, Accepted: true, Attempts: ids, Resume: scheduler.Resume{Attempt: ids[0]}}
}

// NotifyExclusion notifies the policy whether the site excludes a launcher.
func (ev *PolicyEvents) NotifyExclusion(l *state.Launcher) {
	ev.policy.NotifyLauncher(l.ID, scheduler.LauncherExcluded{At: ev.step.Now, Launcher: l.ID, Excluded: l.Excluded})
}

// WorkOf returns the policy's data on an attempt's work. The running time is the core's own, since
// the policy saw the same.
func (ev *PolicyEvents) WorkOf(a *state.Attempt, m *wire.Work) scheduler.Work {
	w := scheduler.Work{Running: a.Running(ev.step.Now), ToRead: max(m.GetToRead(), 0), Written: max(m.GetWritten(), 0)}
	for i, n := range m.GetRead() {
		if i < len(w.Read) {
			w.Read[i] = max(n, 0)
		}
	}
	return w
}

// excludedFor lists the launchers that a bundle excludes, ascending.
func excludedFor(b *state.Bundle) []scheduler.LauncherID {
	return state.Excluded(&b.Job.Exclusions, &b.Exclusions)
}
