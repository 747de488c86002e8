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
		s.problems.clear(problemSettings, problemChange)
		s.takeOver(spec)
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
	s.problems.clear(problemSettings)
	s.log.Info("the policy is changed", "policy", spec.Name, "path", spec.Path)
	if h := s.launch(spec, false); h != nil {
		h.mends = true
	}
}

// takeOver takes over what of a policy's configuration the policy itself is not
// asked about; with mu held.
func (s *supervisor) takeOver(spec Policy) {
	s.spec = spec
	if s.current != nil && s.incoming == nil {
		s.current.spec = spec
		if s.state == stateRunning {
			s.accept(spec)
		}
	}
}

// reload starts the policy's program anew, beside the one that runs, and returns
// when it has taken over. The error says why it did not.
func (s *supervisor) reload(ctx context.Context) error {
	s.mu.Lock()
	if s.incoming != nil {
		s.mu.Unlock()
		return errors.New("a policy is being started already: try again when \"hamadryad policy\" says that it runs")
	}
	s.failures, s.pause = nil, 0
	s.log.Info("the policy is loaded again", "policy", s.spec.Name, "path", s.spec.Path)
	h := s.launch(s.spec, false)
	if h != nil {
		h.mends = true
	}
	s.mu.Unlock()
	if h == nil {
		return errStopping
	}
	select {
	case err := <-h.outcome:
		return problemsOf(err)
	case <-ctx.Done():
		return ctx.Err()
	case <-s.ctx.Done():
		return errStopping
	}
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

// askSettings sends new settings through the core to the policy; with mu held.
func (s *supervisor) askSettings(spec Policy) {
	config, err := settingsBytes(spec.Config)
	if err != nil {
		s.problems.set(problemSettings, err.Error(), 0)
		s.log.Error("the policy's new settings can't be sent: the old ones stand", "error", err)
		return
	}
	s.version++
	version := number(s.term, s.version)
	s.asked[version] = spec
	s.wait.Go(func() {
		s.input(wire.NewInput(&wire.SettingsChange{Version: version, Config: config}))
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
		why := shortened(v.Problems)
		s.problems.set(problemSettings, fmt.Sprintf("the policy rejects the new settings, the old ones stand:\n%v", why), 0)
		s.log.Error("the policy rejects its new settings: the old ones stand", "problems", why)
		return
	}
	s.problems.clear(problemSettings, problemChange)
	s.takeOver(spec)
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
