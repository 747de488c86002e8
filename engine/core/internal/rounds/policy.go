package rounds

import (
	"fmt"
	"time"

	"github.com/hamadryad/hamadryad/engine/core/internal/policystate"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Start has a snapshot made for a new generation, beside what runs: see Events.Gather.
func (ds *Rounds) Start(m *wire.PolicyStart) {
	if given := ds.policy.Begin(m.GetGeneration(), m.GetPolicy(), m.GetStandIn()); given != 0 {
		ds.step.Emit(step.PolicyGone{Generation: given})
	}
}

// Started has a generation take over between two rounds.
func (ds *Rounds) Started(m *wire.PolicyStarted) {
	if !ds.policy.Started(m.GetGeneration(), m.GetName(), m.GetVersion(), scheduler.Ability(m.GetAbilities()), time.Duration(m.GetProgressEveryNs())) {
		ds.step.Emit(step.PolicyGone{Generation: m.GetGeneration()})
		return
	}
	ds.cutOver()
}

// cutOver hands the deciding to the generation that waits for it.
func (ds *Rounds) cutOver() {
	old, yes := ds.policy.CutOver()
	if !yes {
		return
	}
	ds.resources.ReleaseAll()
	if old != nil {
		ds.step.Emit(step.PolicyGone{Generation: old.Number})
		ds.policy.Changes.Pass(ds.step)
	}
	ds.limitSuspensions()
	ds.resources.MarkCapacityFreed()
	ds.events.NotifyLoads(false)
	ds.admission.AskAll()
	ds.policy.PassRequests(ds.step)
	g := ds.policy.Current()
	ds.step.Log(step.Info, "a policy took over", "policy", g.Name, "version", g.Version, "generation", fmt.Sprint(g.Number))
	for j := range ds.state.Jobs.All() {
		if j.PolicyWait != (scheduler.Waiting{}) {
			j.PolicyWait = scheduler.Waiting{}
			ds.state.MarkDirty(j)
		}
	}
}

// settingsVerdict takes what the policy says of its new settings.
func (ds *Rounds) settingsVerdict(v scheduler.SettingsVerdict) {
	heard := ds.policy.Has(scheduler.AbilityLoad)
	if ds.policy.Verdict(ds.step, v) {
		ds.limitSuspensions()
		if !heard {
			ds.events.NotifyLoads(true)
		}
	}
}

// limitSuspensions sees that what the policy that ran before was to resume is not
// suspended for ever.
func (ds *Rounds) limitSuspensions() {
	for r := range ds.state.Suspended.All() {
		if !ds.policy.Resumes() {
			ds.step.SetTimer(ds.step.Set.SuspendMax, step.TimerSuspend, r.ID)
		}
	}
}

// Failed takes in that a generation is gone. What runs goes on; rounds
// wait for the next.
func (ds *Rounds) Failed(number uint64, reason string) {
	g := ds.policy.Current()
	switch ds.policy.Fail(number, reason) {
	case policystate.FailedNext:
		ds.step.Log(step.Warn, "a policy did not start", "generation", fmt.Sprint(number), "reason", reason)
	case policystate.FailedCurrent:
		ds.step.Log(step.Warn, "the policy failed", "policy", g.Name, "generation", fmt.Sprint(number), "reason", reason)
		ds.resources.ReleaseAll()
		ds.policy.Changes.Fail(ds.step, reason)
		ds.cutOver()
	}
}

// breach ends a generation that broke the contract. The shell starts another.
func (ds *Rounds) breach(reason string) {
	number := ds.policy.Current().Number
	ds.step.Emit(step.PolicyGone{Generation: number, Breach: reason})
	ds.Failed(number, reason)
}

// DropPolicies forgets the generations of the manager's last life.
func (ds *Rounds) DropPolicies() {
	ds.policy.Forget()
	ds.resources.ReleaseAll()
}

// State is what status shows of the policy's rounds.
type PolicyState struct {
	Generation uint64 // 0: none runs
	Starting   uint64 // 0: none is being started
	Policy     string // name in the configuration
	Name       string // as it says itself
	Version    string
	Abilities  scheduler.Ability
	// ProgressEvery is how often it wants progress; 0 when it wants none.
	ProgressEvery time.Duration
	Rounds        uint64
	Dropped       uint64 // answers of another round or generation
	Refusals      uint64 // decisions refused
	Restarts      int    // how often one failed
	Problem       string // the last; "" when one took over since
	InFlight      bool
}

// State returns the state of the policy's rounds.
func (ds *Rounds) State() PolicyState {
	p := ds.policy
	x := p.State()
	s := PolicyState{
		Starting: p.Starting(), Rounds: x.Rounds, Dropped: x.Dropped, Refusals: ds.step.Stats.Refusals(),
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
