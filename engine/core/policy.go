package core

import (
	"fmt"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/engine/core/exchange"
	"github.com/hamadryad/hamadryad/engine/core/step"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// policyStart has a snapshot made for a new generation, beside what runs: see gather.
func (c *Core) policyStart(m *wire.PolicyStart) {
	if given := c.policy.Begin(m.GetGeneration(), m.GetPolicy()); given != 0 {
		c.step.Act(PolicyGone{Generation: given})
	}
}

func (c *Core) environment() scheduler.Environment {
	e := scheduler.Environment{
		Heartbeat: c.step.Set.Heartbeat, Seed: c.step.Set.Seed, Limits: c.step.Set.PolicyLimits, Simulated: c.step.Set.Simulated,
		ReserveMax: c.step.Set.ReserveMax, ProtectFor: c.step.Set.ProtectFor, SuspendMax: c.step.Set.SuspendMax,
		Kinds: slices.Clone(c.step.Set.Kinds),
	}
	if len(e.Kinds) == 0 {
		e.Kinds = []scheduler.SlotKind{scheduler.DefaultKind}
	}
	return e
}

// policyStarted has a generation take over between two rounds.
func (c *Core) policyStarted(m *wire.PolicyStarted) {
	if !c.policy.Started(m.GetGeneration(), m.GetName(), m.GetVersion(), scheduler.Ability(m.GetAbilities()), time.Duration(m.GetProgressEveryNs())) {
		c.step.Act(PolicyGone{Generation: m.GetGeneration()})
		return
	}
	c.cutOver()
}

// cutOver hands the deciding to the generation that waits for it.
func (c *Core) cutOver() {
	old, yes := c.policy.CutOver()
	if !yes {
		return
	}
	c.capacity.ReleaseAll()
	if old != nil {
		c.step.Act(PolicyGone{Generation: old.Number})
		c.policy.PassSettings(&c.step)
	}
	c.limitSuspensions()
	c.capacity.MarkRoomier()
	c.tellLoads(false)
	c.askAll()
	c.policy.PassRequests(&c.step)
	g := c.policy.Current()
	c.step.Log(Info, "a policy took over", "policy", g.Name, "version", g.Version, "generation", fmt.Sprint(g.Number))
	for j := range c.jobs.All() {
		j.policyWait = scheduler.Waiting{}
	}
}

// settingsVerdict takes what the policy says of its new settings.
func (c *Core) settingsVerdict(v scheduler.SettingsVerdict) {
	heard := c.policy.Has(scheduler.AbilityLoad)
	if c.policy.Verdict(&c.step, v) {
		c.limitSuspensions()
		if !heard {
			c.tellLoads(true)
		}
	}
}

// limitSuspensions sees that what the policy that ran before was to resume is not
// suspended for ever.
func (c *Core) limitSuspensions() {
	for r := range c.suspended.All() {
		if !c.policy.Resumes() {
			c.step.After(c.step.Set.SuspendMax, step.TimerSuspend, r.id)
		}
	}
}

// policyFailed takes in that a generation is gone. What runs goes on; rounds
// wait for the next.
func (c *Core) policyFailed(number uint64, reason string) {
	g := c.policy.Current()
	switch c.policy.Fail(number, reason) {
	case exchange.FailedNext:
		c.step.Log(Warn, "a policy did not start", "generation", fmt.Sprint(number), "reason", reason)
	case exchange.FailedCurrent:
		c.step.Log(Warn, "the policy failed", "policy", g.Name, "generation", fmt.Sprint(number), "reason", reason)
		c.capacity.ReleaseAll()
		c.policy.FailSettings(&c.step, reason)
		c.cutOver()
	}
}

// breach ends a generation that broke the contract. The shell starts another.
func (c *Core) breach(reason string) {
	number := c.policy.Current().Number
	c.step.Act(PolicyGone{Generation: number, Breach: reason})
	c.policyFailed(number, reason)
}

// dropPolicies forgets the generations of the manager's last life.
func (c *Core) dropPolicies() {
	c.policy.Forget()
	c.capacity.ReleaseAll()
}

// PolicyState is what status shows of the policy's rounds.
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

// PolicyState returns the state of the policy's rounds.
func (c *Core) PolicyState() PolicyState {
	p := &c.policy
	x := p.State()
	s := PolicyState{
		Starting: p.Starting(), Rounds: x.Rounds, Dropped: x.Dropped, Refusals: c.step.Stats.Refusals(),
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
