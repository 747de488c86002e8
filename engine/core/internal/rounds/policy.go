package rounds

import (
	"fmt"
	"time"

	"github.com/hamadryad/hamadryad/engine/core/internal/policystate"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Start begins a snapshot for a new generation, while the current one decides: see
// PolicyEvents.BuildSnapshot.
func (rs *Rounds) Start(m *wire.PolicyStart) {
	if given := rs.policy.BeginGeneration(m.GetGeneration(), m.GetPolicy(), m.GetFallback()); given != 0 {
		rs.step.Emit(step.PolicyGone{Generation: given})
	}
}

// Started makes a generation take over between two rounds.
func (rs *Rounds) Started(m *wire.PolicyStarted) {
	if !rs.policy.Started(m.GetGeneration(), m.GetName(), m.GetVersion(), scheduler.Ability(m.GetAbilities()), time.Duration(m.GetProgressEveryNs())) {
		rs.step.Emit(step.PolicyGone{Generation: m.GetGeneration()})
		return
	}
	rs.cutOver()
}

// cutOver makes the waiting generation the deciding one.
func (rs *Rounds) cutOver() {
	old, yes := rs.policy.CutOver()
	if !yes {
		return
	}
	kept := rs.policy.Current().Policy
	if rs.policy.Current().Fallback {
		kept = ""
	}
	rs.resources.Reservations.KeepPlannedOf(kept)
	for l := range rs.state.Launchers.All() {
		rs.dispatch.WithdrawAhead(l, "another policy took over")
	}
	if old != nil {
		rs.step.Emit(step.PolicyGone{Generation: old.Number})
		rs.policy.Changes.Pass(rs.step)
	}
	rs.limitSuspensions()
	rs.resources.Offers.MarkCapacityFreed()
	rs.events.NotifyLoads(false)
	rs.admission.AskAll()
	rs.policy.PassRequests(rs.step)
	g := rs.policy.Current()
	rs.step.Log(step.Info, "a policy took over", "policy", g.Name, "version", g.Version, "generation", fmt.Sprint(g.Number))
	rs.state.RestartIdle()
	for j := range rs.state.Jobs.All() {
		if j.Waits.NotePolicy(scheduler.Waiting{}) {
			rs.state.Changes.MarkJob(j)
		}
	}
}

// settingsVerdict handles the policy's verdict on its new settings.
func (rs *Rounds) settingsVerdict(v scheduler.SettingsVerdict) {
	heard := rs.policy.Has(scheduler.AbilityLoad)
	if rs.policy.Verdict(rs.step, v) {
		rs.limitSuspensions()
		if !heard {
			rs.events.NotifyLoads(true)
		}
	}
}

// limitSuspensions bounds the suspension of attempts that the previous policy had to resume.
func (rs *Rounds) limitSuspensions() {
	for r := range rs.state.Suspended.All() {
		if !rs.policy.Last.Resumes() {
			rs.step.SetTimer(rs.step.Set.SuspendMax, step.TimerSuspend, r.ID)
		}
	}
}

// Failed handles the end of a generation. Attempts continue; rounds wait for the next
// generation.
func (rs *Rounds) Failed(number uint64, reason string) {
	g := rs.policy.Current()
	switch rs.policy.Fail(number, reason) {
	case policystate.FailedNext:
		rs.step.Log(step.Warn, "a policy did not start", "generation", fmt.Sprint(number), "reason", reason)
	case policystate.FailedCurrent:
		rs.step.Log(step.Warn, "the policy failed", "policy", g.Name, "generation", fmt.Sprint(number), "reason", reason)
		rs.resources.Reservations.ReleasePreempted()
		rs.policy.Changes.Fail(rs.step, reason)
		rs.cutOver()
	}
}

// breach ends a generation that violated the contract. The shell starts another.
func (rs *Rounds) breach(reason string) {
	number := rs.policy.Current().Number
	rs.step.Emit(step.PolicyGone{Generation: number, Breach: reason})
	rs.Failed(number, reason)
}

// DropPolicies forgets the generations from before the manager's restart.
func (rs *Rounds) DropPolicies() {
	rs.policy.Forget()
	rs.resources.Reservations.ReleasePreempted()
	rs.resources.Reservations.ReleaseExpired(rs.step.Now)
}

// PolicyState is the status of the policy's rounds.
type PolicyState struct {
	Generation uint64 // 0: none is running
	Starting   uint64 // 0: none is being started
	Policy     string // name in the configuration
	Name       string // as it reports itself
	Version    string
	Abilities  scheduler.Ability
	// ProgressEvery is how often the policy wants progress; 0: never.
	ProgressEvery time.Duration
	Rounds        uint64
	Dropped       uint64 // answers to another round or generation
	Refusals      uint64 // decisions refused
	Restarts      int    // how often one failed
	Problem       string // the last; "" after a later policy took over
	InFlight      bool
}

// State returns the state of the policy's rounds.
func (rs *Rounds) State() PolicyState {
	p := rs.policy
	x := p.State()
	s := PolicyState{
		Starting: p.Starting(), Rounds: x.Rounds, Dropped: x.Dropped, Refusals: rs.step.Stats.Refusals(),
		Restarts: x.Restarts, Problem: x.Problem, InFlight: x.InFlight,
	}
	if g := p.Current(); g != nil {
		s.Generation, s.Policy, s.Name, s.Version, s.Abilities = g.Number, g.Policy, g.Name, g.Version, g.Abilities
		if g.Abilities.Has(scheduler.AbilityProgress) {
			s.ProgressEvery = g.ProgressEvery
		}
	}
	return s
}
