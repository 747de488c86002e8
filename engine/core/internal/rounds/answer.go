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

// Answer applies a policy's decisions; each gets an outcome.
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

// Expect passes the decoded decisions of an answer to the next step. The core becomes their
// owner.
func (rs *Rounds) Expect(of *wire.PolicyAnswer, d scheduler.Decisions) {
	rs.answer = expectedAnswer{of, d}
}

// decode reads decisions and checks them against the limits.
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
	if n := len(d.Refuse) + len(d.Admit) + len(d.Preempt) + len(d.Resume) + len(d.Reserve) + len(d.Speculate) + len(d.Launch); n > l.Decisions {
		return d, fmt.Errorf("its answer has %d decisions, at most %d are allowed", n, l.Decisions)
	}
	if k := d.Checkpoint; k != nil {
		if err := rs.policy.CheckCheckpoint(*k, l.CheckpointBytes); err != nil {
			return d, err
		}
	}
	return d, nil
}

// ApplyAnswer applies the current answer, or as much of it as the step's budget allows.
func (rs *Rounds) ApplyAnswer() {
	d := rs.policy.PendingAnswer()
	if !rs.apply(d) {
		return
	}
	rs.policy.AnswerApplied()
	rs.applyRest(d.Decisions())
	rs.cutOver()
}

// apply applies decisions in the order of the contract, and returns false if some are left.
// Starting or preempting an attempt sends the policy no event by itself, so an outcome precedes its
// consequences.
func (rs *Rounds) apply(d *policystate.PendingAnswer) bool {
	list := d.Decisions()
	return applyEach(rs, d, scheduler.DecisionRefuse, list.Refuse, rs.applyRefuse) &&
		applyEach(rs, d, scheduler.DecisionAdmit, list.Admit, rs.applyAdmit) &&
		applyEach(rs, d, scheduler.DecisionPreempt, list.Preempt, rs.applyPreempt) &&
		applyEach(rs, d, scheduler.DecisionResume, list.Resume, rs.applyResume) &&
		applyEach(rs, d, scheduler.DecisionLaunch, list.Launch, rs.applyLaunch) &&
		applyEach(rs, d, scheduler.DecisionReserve, list.Reserve, rs.applyReserve) &&
		applyEach(rs, d, scheduler.DecisionSpeculate, list.Speculate, rs.applySpeculate)
}

// applyEach applies the remaining decisions of a kind, as many as the step's budget allows.
func applyEach[D any](rs *Rounds, d *policystate.PendingAnswer, kind scheduler.DecisionKind, list []D, apply func(list []D, i int)) bool {
	for i := d.Applied(kind); i < len(list); i++ {
		if !rs.step.ConsumeBudget(step.WorkDecide) {
			return false
		}
		apply(list, i)
		d.CountApplied(kind)
	}
	return true
}

func (rs *Rounds) applyRefuse(list []scheduler.Refuse, i int) {
	reason, why := rs.admission.Refuse(list[i])
	o := rs.outcome(scheduler.DecisionRefuse, i, reason, why)
	o.Refuse = list[i]
	rs.policy.Notify(o)
}

func (rs *Rounds) applyAdmit(list []scheduler.Admit, i int) {
	reason, why := rs.admission.Admit(list[i])
	o := rs.outcome(scheduler.DecisionAdmit, i, reason, why)
	o.Admit = list[i]
	rs.policy.Notify(o)
}

func (rs *Rounds) applyPreempt(list []scheduler.Preempt, i int) {
	known := rs.knownToNext(list[i].Victims)
	reason, why := rs.Preemption.Preempt(list[i])
	o := rs.outcome(scheduler.DecisionPreempt, i, reason, why)
	o.Preempt = list[i]
	rs.policy.Notify(o)
	if o.Accepted && len(known) > 0 {
		o.Preempt.Victims = known
		rs.policy.NotifyNext(o)
	}
}

func (rs *Rounds) applyResume(list []scheduler.Resume, i int) {
	ids, reason, why := rs.attempts.Resume(list[i])
	o := rs.outcome(scheduler.DecisionResume, i, reason, why)
	o.Attempts, o.Resume = ids, list[i]
	rs.policy.Notify(o)
	if known := rs.knownToNext(ids); o.Accepted && len(known) > 0 {
		o.Attempts = known
		rs.policy.NotifyNext(o)
	}
}

func (rs *Rounds) applySpeculate(list []scheduler.Speculate, i int) {
	reason, why := rs.speculation.Ask(list[i])
	o := rs.outcome(scheduler.DecisionSpeculate, i, reason, why)
	o.Speculate = list[i]
	rs.policy.Notify(o)
}

func (rs *Rounds) applyLaunch(list []scheduler.Launch, i int) {
	if next := prefetch.Next(list, i); next != nil {
		rs.state.PrefetchLaunches(next)
	}
	ids, reason, why := rs.attempts.Launch(list[i])
	o := rs.outcome(scheduler.DecisionLaunch, i, reason, why)
	o.Attempts, o.Launch = ids, list[i]
	if o.Accepted {
		rs.policy.Current().Launched()
	}
	rs.policy.Notify(o)
	if !o.Accepted {
		return
	}
	b := rs.state.Bundles.Get(list[i].Bundle)
	if rs.policy.NextKnows(b.Job.ID, b.Index) {
		rs.policy.NotifyNext(o)
	}
	if list[i].Ahead && !rs.state.Attempts.Get(ids[0]).HeldAhead() { // it found free slots
		rs.policy.NotifyBundle(b.Job.ID, b.Index, scheduler.AttemptTookSlots{At: rs.step.Now, Attempt: ids[0]})
	}
}

// outcome is the outcome of the i-th decision of a kind, counted and recorded.
func (rs *Rounds) outcome(kind scheduler.DecisionKind, i int, reason scheduler.RefusalReason, detail string) scheduler.Outcome {
	round := rs.policy.Asked()
	rs.step.Stats.Decision(kind, reason)
	if reason != scheduler.NotRefused {
		rs.policy.Current().Refused()
	}
	if rs.state.Changes.RecordsDecisions() {
		rs.recordDecision(changes.Decision{Round: round, Kind: kind, Reason: reason, Detail: detail}, i)
	}
	return scheduler.Outcome{At: rs.step.Now, Round: round, Kind: kind, Index: i, Accepted: reason == scheduler.NotRefused, Reason: reason, Detail: detail}
}

// recordDecision records the outcome of the i-th decision of its kind, for the change feed.
func (rs *Rounds) recordDecision(d changes.Decision, i int) {
	list := rs.policy.PendingAnswer().Decisions()
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
	case scheduler.DecisionReserve:
		rs.recordPlacement(&d, list.Reserve[i].Bundle, list.Reserve[i].Launchers)
	case scheduler.DecisionSpeculate:
		rs.recordPlacement(&d, list.Speculate[i].Bundle, nil)
	case scheduler.DecisionLaunch:
		rs.recordPlacement(&d, list.Launch[i].Bundle, list.Launch[i].Launchers)
	}
	rs.state.Changes.AddDecision(d)
}

// recordPlacement records the bundle and the launchers of a decision.
func (rs *Rounds) recordPlacement(d *changes.Decision, bundle scheduler.BundleID, on []scheduler.LauncherID) {
	d.Bundle, d.Count = bundle, len(on)
	if d.Count > 0 {
		d.Launcher = on[0]
	}
	if b := rs.state.Bundles.Get(bundle); b != nil {
		d.Job = b.Job.ID
	}
}

// jobAndLauncherOf returns an attempt's job and launcher; 0 for an unknown attempt.
func (rs *Rounds) jobAndLauncherOf(id scheduler.AttemptID) (scheduler.JobID, scheduler.LauncherID) {
	a := rs.state.Attempts.Get(id)
	if a == nil {
		return 0, 0
	}
	return a.BundleAttempt.Bundle.Job.ID, a.Launcher.ID
}

// knownToNext returns the attempts in a list that a starting generation knows: changes to the
// others are in its snapshot.
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
			rs.state.Changes.MarkJob(j)
		}
	}
	for _, n := range d.Notes {
		rs.policy.Note(rs.step, 0, n)
	}
	rs.policy.Current().WakeAt(d.WakeAt)
	if d.Checkpoint != nil && rs.policy.Has(scheduler.AbilityCheckpoint) {
		rs.policy.KeepCheckpoint(*d.Checkpoint)
	}
}

// expectedAnswer is an answer decoded in advance.
type expectedAnswer struct {
	of        *wire.PolicyAnswer
	decisions scheduler.Decisions
}

// DropExpected drops an expected answer that did not come in the step.
func (rs *Rounds) DropExpected() { rs.answer = expectedAnswer{} }
