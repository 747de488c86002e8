package policyhost

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/manager/internal/inbox"
	"github.com/hamadryad/hamadryad/engine/manager/internal/metrics"
	"github.com/hamadryad/hamadryad/engine/policy"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire"
)

// Ask hands a round to a generation, between the two parts of a step. An ended generation is not
// asked: failed reports its end to the core.
func (s *Supervisor) Ask(a core.AskPolicy) {
	s.mu.Lock()
	h := s.live[a.Generation]
	s.mu.Unlock()
	if h != nil {
		select {
		case h.rounds <- a.Round:
			// The round is to be sent before the core takes in more, so that policy and core work
			// at the same time: waking a thread for it can take longer than a step.
			runtime.Gosched()
		default:
			s.needs.Log.Error("a round was asked while another is under way", "generation", a.Generation, "round", a.Round.Number)
		}
	}
	s.refused.round(s.needs.Log, a.Round)
	if h != nil {
		floor := wakeFloor{h.wakeMin, h.hurried.Load()}
		if text := s.busy.round(time.Now(), h.name, floor, a.Round); text != "" {
			s.needs.problem(ConditionBusy, h.name, max(slowForgotten, floor.window()), text)
			s.needs.Log.Warn("the policy has many rounds without effect", "policy", h.name, "generation", h.generation, "problem", text)
		}
	}
}

// carry takes rounds to a host and its answers back.
func (s *Supervisor) carry(h *policyProcess) {
	late := time.AfterFunc(time.Hour, func() { s.slow.late(h.name, h.generation, &h.latency, s.slowRound(h)) })
	late.Stop()
	defer late.Stop()
	for {
		select {
		case <-h.end:
			return
		case r := <-h.rounds:
			slow := s.slowRound(h)
			h.latency.beginRound(r.Number)
			late.Reset(slow)
			answer, err := h.host.AssignTasks(s.ctx, r)
			late.Stop()
			if err != nil {
				s.failed(h, err)
				return
			}
			took := h.latency.endRound()
			s.needs.Stats.Round(took)
			if took > slow {
				s.slow.roundAnswered(h.name, took, r.Number, slow)
			}
			at := answer.Decisions.WakeAt
			h.hurried.Store(at != 0 && at < r.Now.Add(h.wakeMin))
			m := &wire.PolicyAnswer{Generation: h.generation, Round: r.Number, Decisions: answer.Bytes}
			_ = s.needs.Inbox.Enqueue(s.ctx, inbox.Entry{Inputs: []*wire.Input{wire.NewInput(m)}, Decisions: &answer.Decisions})
			s.shadows.round(h.generation, r)
		}
	}
}

// slowRound is from when on a round of a generation counts as slow.
func (s *Supervisor) slowRound(h *policyProcess) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return h.spec.SlowRound
}

// watch waits for the end of a host.
func (s *Supervisor) watch(h *policyProcess) {
	select {
	case <-h.end:
	case <-h.host.Done():
		err := h.host.Err()
		if err == nil {
			err = errors.New("the plug-in ended by itself")
		}
		s.failed(h, err)
	}
}

// Wants reports whether the policy declared an ability.
func (s *Supervisor) Wants(a scheduler.Ability) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current != nil && s.current.described.Abilities.Has(a)
}

func sameProgram(a, b Policy) bool {
	a.Config, b.Config = scheduler.Config{}, scheduler.Config{}
	return a.Name == b.Name && a.Path == b.Path && a.Checksum == b.Checksum && a.Memory == b.Memory && slices.Equal(a.Environment, b.Environment) && a.Store == b.Store && a.Trace == b.Trace
}

// SameSettings reports whether two configurations have the same program with the same settings: a
// policy that has accepted the one need not be asked about the other.
func SameSettings(a, b Policy) bool { return sameProgram(a, b) && sameConfig(a.Config, b.Config) }

// sameConfig compares what a policy would see, without the place of the text.
func sameConfig(a, b scheduler.Config) bool {
	return string(a.Text) == string(b.Text) && slices.EqualFunc(a.Files, b.Files, func(x, y scheduler.ConfigFile) bool {
		return x.Name == y.Name && string(x.Data) == string(y.Data)
	})
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

// Durable notifies a generation's shell that a round with notes is on the disk. It does not
// block.
func (s *Supervisor) Durable(a core.AskPolicy) {
	s.mu.Lock()
	h := s.live[a.Generation]
	s.mu.Unlock()
	if h == nil {
		return
	}
	h.inFlight.removeDelivered(a.Round)
	select {
	case <-h.durable: // the next one confirms this round, too
	default:
	}
	h.durable <- a.Round.Number // only the driver sends
}

// notifyDurable hands rounds of Durable to the shell.
func (s *Supervisor) notifyDurable(h *policyProcess) {
	for {
		select {
		case <-h.end:
			return
		case round := <-h.durable:
			h.host.Durable(s.ctx, round)
		}
	}
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
	return metrics.Policy{Name: h.name, Version: h.described.Version, Start: start, Since: s.since}, true
}

// Shown are the displayed settings of the policy that is to run.
func (s *Supervisor) Shown() Shown {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.spec.Shown
}

// looked notes whether a policy's status could be read. A busy policy, or an unknown job, is no
// problem.
func (s *Supervisor) looked(name string, err error) {
	switch policy.KindOf(err) {
	case policy.Unfit, policy.Faulted:
		s.needs.problem(ConditionStatus, name, viewForgotten, fmt.Sprintf("the status of the policy %s can't be shown: %v", name, err))
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
	s.looked(name, err)
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
	s.looked(name, err)
	r.Problems = s.needs.Conditions.Current()
	return r
}

// Overview describes the policy without a call to it.
func (s *Supervisor) Overview() *wire.PolicyReply {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &wire.PolicyReply{State: s.state, Restarts: s.restarts, Name: s.spec.Name, Policy: s.spec.Name, Problems: s.needs.Conditions.Current(), Shadows: s.shadows.replies()}
	if h := s.current; h != nil {
		s.describe(h, r)
	}
	return r
}

// describe adds a running generation to a reply; with mu held.
func (s *Supervisor) describe(h *policyProcess, r *wire.PolicyReply) {
	r.Name, r.Version, r.Generation, r.Started = h.name, h.described.Version, h.generation, s.since.UnixNano()
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

// Close ends all generations and waits for them.
func (s *Supervisor) Close() {
	s.mu.Lock()
	s.closed = true
	for _, h := range s.live {
		s.end(h)
	}
	s.mu.Unlock()
	s.shadows.close()
	s.wait.Wait()
}
