package manager

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/policy"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	policywire "github.com/hamadryad/hamadryad/sdk/scheduler/wire"
)

// ask hands a round to a generation, in the middle of the core's step. One that has
// ended is not asked: the core hears of its end from failed.
func (s *supervisor) ask(a core.AskPolicy) {
	s.mu.Lock()
	h := s.live[a.Generation]
	s.mu.Unlock()
	if h != nil {
		select {
		case h.rounds <- a.Round:
			// The round is to leave before the core takes in more, so that policy and core
			// work at the same time: to wake a thread for it can take longer than a step.
			runtime.Gosched()
		default:
			s.log.Error("a round was asked while another is under way", "generation", a.Generation, "round", a.Round.Number)
		}
	}
	s.stats.events(a.Round)
	s.refused.round(s.log, a.Round)
}

// carry takes rounds to a host and its answers back.
func (s *supervisor) carry(h *hosted) {
	for {
		select {
		case <-h.end:
			return
		case r := <-h.rounds:
			start := time.Now()
			answer, err := h.host.AssignTasks(s.ctx, r)
			if err != nil {
				s.failed(h, err)
				return
			}
			s.stats.round(time.Since(start))
			s.input(&wire.Input{What: &wire.Input_PolicyAnswer{PolicyAnswer: &wire.PolicyAnswer{
				Generation: h.generation, Round: r.Number, Decisions: answer,
			}}})
		}
	}
}

// watch notices that a host ended by itself.
func (s *supervisor) watch(h *hosted) {
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

// notes hands on what the plug-in's shell posts.
func (s *supervisor) notes(h *hosted) {
	for n := range h.host.Notes() {
		s.input(&wire.Input{What: &wire.Input_Note{Note: &wire.Note{Name: n.Name, Body: n.Body}}})
	}
}

// wants tells whether the policy declared an ability.
func (s *supervisor) wants(a scheduler.Ability) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current != nil && s.current.described.Abilities.Has(a)
}

// update takes over a changed configuration: new settings go to the policy that
// runs, which may reject them; another program is started beside it and takes over
// between two rounds.
func (s *supervisor) update(spec Policy) {
	spec.fill()
	s.mu.Lock()
	defer s.mu.Unlock()
	same := sameProgram(s.spec, spec)
	switch {
	case same && sameConfig(s.spec.Config, spec.Config) && s.state != stateFailed && s.state != stateFallback:
		return
	case same && s.state == stateRunning && s.incoming == nil:
		s.askSettings(spec)
		return
	}
	if old := s.incoming; old != nil {
		s.end(old)
		if old.announced {
			s.wait.Go(func() { s.tellFailed(old.generation, "the configuration changed again") })
		}
	}
	s.failures, s.pause = nil, 0
	s.log.Info("the policy is changed", "policy", spec.Name, "path", spec.Path)
	s.launch(spec, false)
}

func sameProgram(a, b Policy) bool {
	a.Config, b.Config = scheduler.Config{}, scheduler.Config{}
	return a.Name == b.Name && a.Path == b.Path && a.Checksum == b.Checksum && a.Store == b.Store && a.Trace == b.Trace
}

// sameConfig compares what a policy would see, without the place of the text.
func sameConfig(a, b scheduler.Config) bool {
	return string(a.Text) == string(b.Text) && slices.EqualFunc(a.Files, b.Files, func(x, y scheduler.ConfigFile) bool {
		return x.Name == y.Name && string(x.Data) == string(y.Data)
	})
}

// askSettings sends new settings through the core to the policy; with mu held.
func (s *supervisor) askSettings(spec Policy) {
	config, err := settingsBytes(spec.Config)
	if err != nil {
		s.problem = err.Error()
		s.log.Error("the policy's new settings can't be sent: the old ones stand", "error", err)
		return
	}
	s.version++
	version := s.term<<32 | s.version
	s.asked[version] = spec
	s.wait.Go(func() {
		s.input(&wire.Input{What: &wire.Input_Settings{Settings: &wire.SettingsChange{Version: version, Config: config}}})
	})
}

// settled takes the policy's word on its settings.
func (s *supervisor) settled(v core.SettingsVerdict) {
	s.mu.Lock()
	defer s.mu.Unlock()
	spec, ok := s.asked[v.Version]
	if !ok {
		return
	}
	delete(s.asked, v.Version)
	if len(v.Problems) > 0 {
		s.problem = "the new settings were rejected, the old ones stand: " + v.Problems.Error()
		s.log.Error("the policy rejects its new settings: the old ones stand", "problems", v.Problems.Error())
		return
	}
	s.spec = spec
	if s.current != nil {
		s.current.spec = spec
	}
	if h := s.live[v.Generation]; h != nil && v.Abilities != 0 {
		h.described.Abilities, h.described.ProgressEvery = v.Abilities, v.ProgressEvery
	}
	s.log.Info("the policy has taken over its new settings", "version", v.Version)
}

// running returns the host to ask about the world, nil when there is none.
func (s *supervisor) running() policy.Host {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == nil {
		return nil
	}
	return s.current.host
}

// explain asks the policy why a job waits; "" when it can't say.
func (s *supervisor) explain(ctx context.Context, job scheduler.JobID) (scheduler.Explanation, bool) {
	host := s.running()
	if host == nil {
		return scheduler.Explanation{}, false
	}
	ctx, cancel := context.WithTimeout(ctx, explainTimeout)
	defer cancel()
	e, err := host.Explain(ctx, job)
	return e, err == nil
}

// reply describes the policy.
func (s *supervisor) reply(ctx context.Context) *wire.PolicyReply {
	host := s.running()
	s.mu.Lock()
	r := &wire.PolicyReply{State: s.state, Problem: s.problem, Restarts: s.restarts, Name: s.spec.Name}
	if h := s.current; h != nil {
		r.Name, r.Version, r.Generation = h.name(), h.described.Version, h.generation
	}
	s.mu.Unlock()
	if host == nil {
		return r
	}
	ctx, cancel := context.WithTimeout(ctx, explainTimeout)
	defer cancel()
	if status, err := host.Status(ctx); err == nil {
		if m, err := policywire.NewStatus(status); err == nil {
			r.Status, _ = proto.Marshal(m)
		}
	}
	return r
}

// close ends all generations and waits for them.
func (s *supervisor) close() {
	s.mu.Lock()
	s.closed = true
	for _, h := range s.live {
		s.end(h)
	}
	s.mu.Unlock()
	s.wait.Wait()
}
