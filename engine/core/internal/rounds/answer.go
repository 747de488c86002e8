package rounds

import (
	"fmt"
	"slices"

	"github.com/hamadryad/hamadryad/engine/core/changes"
	"github.com/hamadryad/hamadryad/engine/core/internal/policystate"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/internal/prefetch"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire"
)

// Answer applies a policy's decisions, each of which gets its outcome.
func (rs *Rounds) Answer(m *wire.PolicyAnswer) {
	if !rs.policy.Answers(m.GetGeneration(), m.GetRound()) {
		return
	}
	d, err := rs.decode(m)
	if err != nil {
		rs.breach(err.Error())
		return
	}
	rs.policy.BeginAnswer(m.GetDecisions(), d)
	rs.ApplyAnswer()
}

// Expect has the next step take the decisions of an answer that it brings as they
// were read when it came. The core becomes their owner.
func (rs *Rounds) Expect(of *wire.PolicyAnswer, d scheduler.Decisions) {
	rs.answer = expectedAnswer{of, d}
}

// decode reads decisions and holds them against the limits.
func (rs *Rounds) decode(m *wire.PolicyAnswer) (scheduler.Decisions, error) {
	l, b := rs.step.Set.PolicyLimits, m.GetDecisions()
	if len(b) > l.AnswerBytes {
		return scheduler.Decisions{}, fmt.Errorf("its answer has %d bytes, at most %d are allowed", len(b), l.AnswerBytes)
	}
	var err error
	d := rs.answer.decisions
	if rs.answer.of != m {
		if d, err = schedwire.DecodeDecisions(b); err != nil {
			return d, fmt.Errorf("its answer can't be read: %w", err)
		}
	}
	if n := len(d.Refuse) + len(d.Admit) + len(d.Preempt) + len(d.Resume) + len(d.Launch); n > l.Decisions {
		return d, fmt.Errorf("its answer has %d decisions, at most %d are allowed", n, l.Decisions)
	}
	if k := d.Checkpoint; k != nil {
		if err := rs.policy.CheckCheckpoint(*k, l.CheckpointBytes); err != nil {
			return d, err
		}
	}
	return d, nil
}

// ApplyAnswer applies the answer at hand, or as much of it as the step may do.
func (rs *Rounds) ApplyAnswer() {
	d := rs.policy.PendingAnswer()
	if !rs.apply(d) {
		return
	}
	rs.policy.AnswerApplied()
	rs.applyRest(&d.Decisions)
	rs.cutOver()
}

// apply applies decisions in the order of the contract; false when some are left. To start
// or to stop something tells the policy nothing by itself, so an outcome comes before all
// that follows from it.
func (rs *Rounds) apply(d *policystate.PendingAnswer) bool {
	round, list := rs.policy.Asked(), &d.Decisions
	outcome := func(kind scheduler.DecisionKind, i int, reason scheduler.RefusalReason, detail string) scheduler.Outcome {
		accepted := reason == scheduler.NotRefused
		rs.step.Stats.Decision(kind, reason)
		if !accepted {
			rs.policy.Refused()
		}
		if rs.state.RecordsDecisions() {
			rs.note(list, changes.Decision{Round: round, Kind: kind, Reason: reason, Detail: detail}, i)
		}
		return scheduler.Outcome{At: rs.step.Now, Round: round, Kind: kind, Index: i, Accepted: accepted, Reason: reason, Detail: detail}
	}
	refuse, admit, preempt, resume, launch := &d.Done[0], &d.Done[1], &d.Done[2], &d.Done[3], &d.Done[4]
	for ; *refuse < len(list.Refuse) && rs.step.ConsumeBudget(step.WorkDecide); *refuse++ {
		reason, why := rs.admission.Refuse(list.Refuse[*refuse])
		rs.policy.Notify(outcome(scheduler.DecisionRefuse, *refuse, reason, why))
	}
	for ; *admit < len(list.Admit) && rs.step.ConsumeBudget(step.WorkDecide); *admit++ {
		reason, why := rs.admission.Admit(list.Admit[*admit])
		rs.policy.Notify(outcome(scheduler.DecisionAdmit, *admit, reason, why))
	}
	for ; *preempt < len(list.Preempt) && rs.step.ConsumeBudget(step.WorkDecide); *preempt++ {
		x := list.Preempt[*preempt]
		known := rs.knownToNext(x.Victims)
		reason, why := rs.Preemption.Preempt(x)
		o := outcome(scheduler.DecisionPreempt, *preempt, reason, why)
		o.Preempt = x
		rs.policy.Notify(o)
		if o.Accepted && len(known) > 0 {
			o.Preempt.Victims = known
			rs.policy.NotifyNext(o)
		}
	}
	for ; *resume < len(list.Resume) && rs.step.ConsumeBudget(step.WorkDecide); *resume++ {
		ids, reason, why := rs.attempts.Resume(list.Resume[*resume])
		o := outcome(scheduler.DecisionResume, *resume, reason, why)
		o.Attempts = ids
		rs.policy.Notify(o)
		if known := rs.knownToNext(ids); o.Accepted && len(known) > 0 {
			o.Attempts = known
			rs.policy.NotifyNext(o)
		}
	}
	for ; *launch < len(list.Launch) && rs.step.ConsumeBudget(step.WorkDecide); *launch++ {
		if next := prefetch.Next(list.Launch, *launch); next != nil {
			rs.state.PrefetchLaunches(next)
		}
		x := list.Launch[*launch]
		ids, reason, why := rs.attempts.Launch(x)
		o := outcome(scheduler.DecisionLaunch, *launch, reason, why)
		o.Attempts, o.Launch = ids, x
		rs.policy.Notify(o)
		if b := rs.state.Bundles.Get(x.Bundle); o.Accepted && rs.policy.NextKnows(b.Job.ID, b.Index) {
			rs.policy.NotifyNext(o)
		}
	}
	return *refuse == len(list.Refuse) && *admit == len(list.Admit) && *preempt == len(list.Preempt) && *resume == len(list.Resume) && *launch == len(list.Launch)
}

// note has it be told what became of the i-th decision of its kind.
func (rs *Rounds) note(list *scheduler.Decisions, d changes.Decision, i int) {
	if g := rs.policy.Current(); g != nil {
		d.Generation = g.Number
	}
	switch d.Kind {
	case scheduler.DecisionRefuse:
		d.Job = list.Refuse[i].Job
	case scheduler.DecisionAdmit:
		d.Job = list.Admit[i].Job
	case scheduler.DecisionPreempt:
		x := &list.Preempt[i]
		d.Job, d.Bundle, d.Count = x.For, x.Bundle, len(x.Victims)
		if d.Count > 0 {
			d.Attempt = x.Victims[0]
			d.From, d.Launcher = rs.jobAndLauncherOf(d.Attempt)
		}
	case scheduler.DecisionResume:
		d.Attempt = list.Resume[i].Attempt
		d.Job, d.Launcher = rs.jobAndLauncherOf(d.Attempt)
	case scheduler.DecisionLaunch:
		x := &list.Launch[i]
		d.Bundle, d.Count = x.Bundle, len(x.Launchers)
		if d.Count > 0 {
			d.Launcher = x.Launchers[0]
		}
		if b := rs.state.Bundles.Get(x.Bundle); b != nil {
			d.Job = b.Job.ID
		}
	}
	rs.state.NoteDecision(d)
}

// jobAndLauncherOf tells an attempt's job and launcher.
func (rs *Rounds) jobAndLauncherOf(id scheduler.AttemptID) (scheduler.JobID, scheduler.LauncherID) {
	a := rs.state.Attempts.Get(id)
	if a == nil {
		return 0, 0
	}
	return a.BundleAttempt.Bundle.Job.ID, a.Launcher.ID
}

// knownToNext returns those of some attempts that a generation that is being started knows:
// what happens to the others it sees when its snapshot comes to them.
func (rs *Rounds) knownToNext(list []scheduler.AttemptID) []scheduler.AttemptID {
	if rs.policy.Building() == nil {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), func(id scheduler.AttemptID) bool {
		a := rs.state.Attempts.Get(id)
		return a == nil || !rs.policy.NextKnows(a.BundleAttempt.Bundle.Job.ID, a.BundleAttempt.Bundle.Index)
	})
}

func (rs *Rounds) applyRest(d *scheduler.Decisions) {
	for i := range d.Answers {
		rs.policy.Requests.Answer(rs.step, &d.Answers[i])
	}
	for _, v := range d.Settings {
		rs.settingsVerdict(v)
	}
	for _, w := range d.Waiting {
		if j := rs.state.Jobs.Get(w.Job); j != nil {
			w.Detail = rs.step.Shorten(w.Detail)
			j.Waits.NotePolicy(w)
			rs.state.MarkDirty(j)
		}
	}
	for _, n := range d.Notes {
		rs.policy.Note(rs.step, 0, n)
	}
	rs.policy.WakeAt(d.WakeAt)
	if d.Checkpoint != nil && rs.policy.Has(scheduler.AbilityCheckpoint) {
		rs.policy.KeepCheckpoint(*d.Checkpoint)
	}
}

// expectedAnswer is what was read in an answer already.
type expectedAnswer struct {
	of        *wire.PolicyAnswer
	decisions scheduler.Decisions
}

// DropExpected drops what was expected and did not come in the step.
func (rs *Rounds) DropExpected() { rs.answer = expectedAnswer{} }
