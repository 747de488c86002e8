package policyhost

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/manager/internal/metrics"
	"github.com/hamadryad/hamadryad/engine/policy"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire"
)

// Wants reports whether the policy declared an ability.
func (s *Supervisor) Wants(a scheduler.Ability) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current != nil && s.current.described.Abilities.Has(a)
}

// running returns the host for calls beside rounds, and its policy's name in the configuration; nil
// when there is none.
func (s *Supervisor) running() (host policy.Host, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == nil {
		return nil, ""
	}
	return s.current.host, s.current.name
}

// Decider returns the policy that decides with its abilities, nil when none does. It never returns
// the fallback, which has neither pages nor an authenticator.
func (s *Supervisor) Decider() (policy.Host, scheduler.Ability) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == nil || s.current.inProcess {
		return nil, 0
	}
	return s.current.host, s.current.described.Abilities
}

// State is how the policy is.
func (s *Supervisor) State() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

// States are all possible states.
var States = []string{Starting, Running, Fallback, Failed}

// Shape is the policy's state, and its memory, if it runs.
func (s *Supervisor) Shape() (state string, memory int64, runs bool) {
	if host, _ := s.running(); host != nil {
		memory, _ = host.Memory()
		runs = true
	}
	return s.State(), memory, runs
}

// Deciding is the policy that decides; false: none does.
func (s *Supervisor) Deciding() (metrics.Policy, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.current
	if h == nil {
		return metrics.Policy{}, false
	}
	_, start := wire.SplitEpochID(h.generation)
	return metrics.Policy{Name: h.name, Version: h.described.Version, Transport: h.host.Transport(), Start: start, Since: s.since}, true
}

// Shown are the displayed settings of the policy that is to run.
func (s *Supervisor) Shown() Shown {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.spec.Shown
}

// statusRead notes whether a policy's status could be read. A busy policy, or an unknown job, is no
// problem.
func (n *Needs) statusRead(name string, err error) {
	switch policy.KindOf(err) {
	case policy.Unfit, policy.Faulted:
		n.problem(ConditionStatus, name, viewForgotten, fmt.Sprintf("the status of the policy %s can't be shown: %v", name, err))
	}
}

// viewForgotten is for how long status shows that the policy could not be asked.
const viewForgotten = time.Minute

// Explain asks the policy why a job waits; "" when it has no answer.
func (s *Supervisor) Explain(ctx context.Context, job scheduler.JobID) (scheduler.Explanation, bool) {
	host, name := s.running()
	if host == nil {
		return scheduler.Explanation{}, false
	}
	ctx, cancel := context.WithTimeout(ctx, explainTimeout)
	defer cancel()
	e, err := host.Explain(ctx, job)
	s.needs.statusRead(name, err)
	return e, err == nil
}

// Reply describes the policy; when brief, without reading its program.
func (s *Supervisor) Reply(ctx context.Context, brief bool) *wire.PolicyReply {
	host, name := s.running()
	r := s.Overview()
	if host == nil {
		return r
	}
	ctx, cancel := context.WithTimeout(ctx, explainTimeout)
	defer cancel()
	if !brief {
		r.Checksum = host.Checksum()
	}
	status, err := host.Status(ctx)
	if err == nil {
		var m *schedwire.Status
		if m, err = schedwire.NewStatus(status); err == nil {
			r.Status, err = proto.Marshal(m)
		}
	}
	s.needs.statusRead(name, err)
	r.Problems = s.needs.Conditions.Current()
	return r
}

// Overview describes the policy without a call to it.
func (s *Supervisor) Overview() *wire.PolicyReply {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &wire.PolicyReply{State: s.state, Restarts: s.restarts, Name: s.spec.Name, Policy: s.spec.Name, Problems: s.needs.Conditions.Current(), Shadows: s.shadows.replies()}
	if h := s.current; h != nil {
		h.describe(r, s.since)
	}
	return r
}

// describe adds a running generation, which took over at a time, to a reply; with the supervisor's
// lock held.
func (h *policyProcess) describe(r *wire.PolicyReply, since time.Time) {
	r.Name, r.Version, r.Generation, r.Started = h.name, h.described.Version, h.generation, since.UnixNano()
	r.RoundTimes = h.latency.times(h.spec.SlowRound)
	r.Pages = h.described.Abilities.Has(scheduler.AbilityPageHandler) || h.described.Abilities.Has(scheduler.AbilityLoggedRequests)
	r.Pid = int64(h.host.PID())
	r.Memory, r.MemoryMax = h.host.Memory()
	if h.inProcess {
		return // the settings are another policy's
	}
	c := h.spec.Config
	r.Path, r.Settings = h.spec.Path, &wire.PolicySettings{File: c.File, Line: int64(c.Line), Text: c.Text}
	for _, f := range c.Files {
		r.Settings.Files = append(r.Settings.Files, f.Name)
	}
}
