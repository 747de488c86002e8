package manager

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/policy"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire"
)

// ask hands a round to a generation, between the two parts of a step. One that has
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
	s.refused.round(s.log, a.Round)
}

// carry takes rounds to a host and its answers back.
func (s *supervisor) carry(h *hosted) {
	late := time.AfterFunc(time.Hour, func() { s.late(h) })
	late.Stop()
	defer late.Stop()
	for {
		select {
		case <-h.end:
			return
		case r := <-h.rounds:
			slow := s.slowRound(h)
			h.pace.begin(r.Number)
			late.Reset(slow)
			answer, err := h.host.AssignTasks(s.ctx, r)
			late.Stop()
			if err != nil {
				s.failed(h, err)
				return
			}
			took := h.pace.end()
			s.stats.round(took)
			if took > slow {
				s.tellSlow(slow, fmt.Sprintf("the policy is slow: it took %v for round %d", took.Round(time.Millisecond), r.Number))
			}
			m := &wire.PolicyAnswer{Generation: h.generation, Round: r.Number, Decisions: answer.Bytes}
			_ = s.put(s.ctx, entry{inputs: []*wire.Input{wire.NewInput(m)}, decisions: &answer.Decisions})
		}
	}
}

// late tells of a round that has not been answered for a while.
func (s *supervisor) late(h *hosted) {
	number, still := h.pace.late()
	if !still {
		return
	}
	s.stats.slowRounds.Inc()
	slow := s.slowRound(h)
	text := fmt.Sprintf("the policy is slow: it has not answered round %d for %v", number, slow)
	s.tellSlow(slow, text)
	s.mu.Lock()
	again := time.Since(s.slowSaid) >= slowLogEvery
	if again {
		s.slowSaid = time.Now()
	}
	s.mu.Unlock()
	if again {
		s.log.Warn(text+", and nothing is launched meanwhile", "policy", h.name(), "generation", h.generation)
	}
}

// tellSlow has status say that the policy is slow.
func (s *supervisor) tellSlow(slow time.Duration, text string) {
	s.problems.set(problemSlow, fmt.Sprintf("%s (over %v counts as slow: policy.slowRound)", text, slow), slowForgotten)
}

// slowRound is from when on a round of a generation counts as slow.
func (s *supervisor) slowRound(h *hosted) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return h.spec.SlowRound
}

const (
	// slowLogEvery is the least time between two lines about slow rounds.
	slowLogEvery = 10 * time.Second
	// slowForgotten is for how long status tells of a slow round.
	slowForgotten = time.Minute
)

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
		s.input(wire.NewInput(&wire.Note{Name: n.Name, Body: n.Body}))
	}
}

// wants tells whether the policy declared an ability.
func (s *supervisor) wants(a scheduler.Ability) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current != nil && s.current.described.Abilities.Has(a)
}

func sameProgram(a, b Policy) bool {
	a.Config, b.Config = scheduler.Config{}, scheduler.Config{}
	return a.Name == b.Name && a.Path == b.Path && a.Checksum == b.Checksum && a.Memory == b.Memory && a.Store == b.Store && a.Trace == b.Trace
}

// sameConfig compares what a policy would see, without the place of the text.
func sameConfig(a, b scheduler.Config) bool {
	return string(a.Text) == string(b.Text) && slices.EqualFunc(a.Files, b.Files, func(x, y scheduler.ConfigFile) bool {
		return x.Name == y.Name && string(x.Data) == string(y.Data)
	})
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

// stateNow is how the policy is.
func (s *supervisor) stateNow() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

// shownNow are the settings of the policy that is to run, as they are shown.
func (s *supervisor) shownNow() Shown {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.spec.Shown
}

// looked notes whether a policy could be looked at. That it was busy, or asked about
// a job that it does not know yet, is nothing wrong.
func (s *supervisor) looked(err error) {
	switch policy.KindOf(err) {
	case policy.Unfit, policy.Faulted:
		s.problems.set(problemView, err.Error(), viewForgotten)
	}
}

// viewForgotten is for how long status tells that the policy could not be looked at.
const viewForgotten = time.Minute

// explain asks the policy why a job waits; "" when it can't say.
func (s *supervisor) explain(ctx context.Context, job scheduler.JobID) (scheduler.Explanation, bool) {
	host := s.running()
	if host == nil {
		return scheduler.Explanation{}, false
	}
	ctx, cancel := context.WithTimeout(ctx, explainTimeout)
	defer cancel()
	e, err := host.Explain(ctx, job)
	s.looked(err)
	return e, err == nil
}

// reply describes the policy; when brief, without reading its program.
func (s *supervisor) reply(ctx context.Context, brief bool) *wire.PolicyReply {
	host := s.running()
	s.mu.Lock()
	r := &wire.PolicyReply{State: s.state, Restarts: s.restarts, Name: s.spec.Name, Policy: s.spec.Name}
	if h := s.current; h != nil {
		s.describe(h, r)
	}
	s.mu.Unlock()
	if host == nil {
		r.Problems = s.problems.current()
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
	s.looked(err)
	r.Problems = s.problems.current()
	return r
}

// describe tells of a generation that runs; with mu held.
func (s *supervisor) describe(h *hosted, r *wire.PolicyReply) {
	r.Name, r.Version, r.Generation, r.Started = h.name(), h.described.Version, h.generation, s.since.UnixNano()
	r.RoundTimes = h.pace.times(h.spec.SlowRound)
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
