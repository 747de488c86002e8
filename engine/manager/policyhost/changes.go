package policyhost

import (
	"context"
	"errors"
	"fmt"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/manager/internal/inbox"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// changes are the settings of the configuration's file that the policy is asked about. The
// supervisor's lock guards them.
//
// If a policy got settings and failed, the settings may be the cause, so they are not asked about
// again automatically. Settings that no policy got have no verdict, and are asked about until they
// have one.
type changes struct {
	version uint64              // the last version asked about
	newest  uint64              // the file's version; 0: the policy was not asked about it
	asked   map[uint64]question // without a verdict
	open    *openChange         // the file's settings, when they are neither rejected nor in force; else nil
}

// question is the settings that the policy is asked about, and where the answer goes.
type question struct {
	spec    Policy
	outcome outcome
}

// outcome is the outcome of a change: nil when it is in force as a whole. Only the first sent value
// counts.
type outcome chan error // capacity 1

func newOutcome() outcome { return make(outcome, 1) }

// outcomeOf is an outcome that is known at once.
func outcomeOf(err error) outcome {
	o := newOutcome()
	o.set(err)
	return o
}

func (o outcome) set(err error) {
	select {
	case o <- err:
	default:
	}
}

// ErrNewer is the outcome of settings that are no longer in the file.
var ErrNewer = errors.New("something newer took its place")

// openChange are settings without a verdict.
type openChange struct {
	question
	version uint64
	failed  bool // a policy got them, and gave no answer
}

// ask notes the file's settings, and that the policy is asked about them.
func (c *changes) ask(q question, term uint64) (version uint64) {
	if c.open != nil && c.open.outcome != q.outcome {
		c.open.outcome.set(ErrNewer)
	}
	c.version++
	c.newest, c.open = wire.NewEpochID(term, c.version), nil
	if c.asked == nil {
		c.asked = map[uint64]question{}
	}
	c.asked[c.newest] = q
	return c.newest
}

// leave notes that the file has settings that the policy is not asked about.
func (c *changes) leave() {
	if c.open != nil {
		c.open.outcome.set(ErrNewer)
	}
	c.newest, c.open = 0, nil
}

// takeOpen returns the settings without a verdict, which are no longer open then.
func (c *changes) takeOpen() question {
	q := c.open.question
	c.newest, c.open = 0, nil
	return q
}

// pending reports whether the policy may still take over settings that it was asked about.
func (c *changes) pending() bool { return len(c.asked) > 0 || c.open != nil }

// answered ends the wait for a verdict, and returns the question.
func (c *changes) answered(version uint64) (q question, known bool) {
	if o := c.open; o != nil && o.version == version {
		c.open = nil
		return o.question, true
	}
	q, known = c.asked[version]
	delete(c.asked, version)
	return q, known
}

// unjudged keeps settings without a verdict, if the file still has them.
func (c *changes) unjudged(version uint64, q question, failed bool) {
	if version == c.newest {
		c.open = &openChange{q, version, failed}
	} else {
		q.outcome.set(ErrNewer)
	}
}

// Update takes over a changed configuration. New settings go to the running policy, which may
// reject them. Another program is started beside it and takes over between two rounds. The rest of
// the configuration takes effect when the policy has accepted (Policy.InForce), or at once when
// nothing changes for the policy. The outcome comes once: nil when all is in force. After another
// outcome a policy may still accept, if the settings were not rejected.
func (s *Supervisor) Update(spec Policy) <-chan error {
	spec.Fill()
	s.mu.Lock()
	defer s.mu.Unlock()
	unchanged := SameSettings(s.spec, spec) && !s.changes.pending()
	switch h := s.incoming; {
	case unchanged && h != nil:
		s.spec, h.spec = spec, spec
		return h.await()
	case unchanged && s.accepted.has(spec):
		s.needs.Conditions.Clear(ConditionSettings, ConditionChange)
		outcome := newOutcome()
		s.takeOver(spec, outcome)
		if s.state == Failed || s.state == Fallback {
			s.replace(spec)
		}
		return outcome
	case sameProgram(s.spec, spec) && s.state == Running && h == nil:
		return s.askSettings(question{spec, newOutcome()})
	}
	h := s.replace(spec)
	if h == nil {
		return outcomeOf(inbox.ErrStopping)
	}
	return h.await()
}

// replace starts a policy beside the running one, if there is one, and in place of one that is
// being started; with mu held.
func (s *Supervisor) replace(spec Policy) *policyProcess {
	if old := s.incoming; old != nil {
		s.end(old)
		if old.announced {
			s.wait.Go(func() { s.reportFailed(old.generation, "the configuration changed again") })
		}
	}
	s.changes.leave()
	s.failures = failureHistory{}
	s.needs.Conditions.Clear(ConditionSettings)
	s.needs.Log.Info("the policy is changed", "policy", spec.Name, "path", spec.Path)
	h := s.launch(spec, false)
	if h != nil {
		h.mends = true
	}
	return h
}

// replaceWithOpen starts a policy with settings that have no verdict; with mu held.
func (s *Supervisor) replaceWithOpen() *policyProcess {
	q := s.changes.takeOpen()
	h := s.replace(q.spec)
	if h != nil {
		h.outcomes = append(h.outcomes, q.outcome)
	}
	return h
}

// takeOver makes accepted settings those of the running policy, and puts the rest of their
// configuration in force; with mu held.
func (s *Supervisor) takeOver(spec Policy, outcome outcome) {
	s.spec = spec
	if s.current != nil {
		s.current.spec = spec
	}
	s.accept(spec, func() { outcome.set(nil) })
}

// Reload restarts the policy's program beside the running one, and returns when the new one has
// taken over. Shadows start anew. It uses the settings in force, or those of the file that no policy has judged. The
// error says why it failed.
func (s *Supervisor) Reload(ctx context.Context) error {
	s.mu.Lock()
	if s.incoming != nil {
		s.mu.Unlock()
		return errors.New("a policy is being started already: try again when \"hamadryad policy\" says that it runs")
	}
	s.needs.Log.Info("the policy is loaded again", "policy", s.spec.Name, "path", s.spec.Path)
	h := s.restartSame()
	if h == nil {
		s.mu.Unlock()
		return inbox.ErrStopping
	}
	s.shadows.reload()
	outcome := h.await()
	s.mu.Unlock()
	select {
	case err := <-outcome:
		return problemsOf(err)
	case <-ctx.Done():
		return ctx.Err()
	case <-s.ctx.Done():
		return inbox.ErrStopping
	}
}

// restartSame starts a generation of the same program on request; with mu held.
func (s *Supervisor) restartSame() *policyProcess {
	if s.changes.open != nil {
		return s.replaceWithOpen()
	}
	s.failures = failureHistory{}
	h := s.launch(s.spec, false)
	if h != nil {
		h.mends = true
	}
	return h
}

// askSettings sends new settings through the core to the policy; with mu held.
func (s *Supervisor) askSettings(q question) <-chan error {
	config, err := settingsBytes(q.spec.Config)
	if err != nil {
		s.changes.leave()
		s.needs.problem(ConditionSettings, q.spec.Name, 0, fmt.Sprintf("the new settings of the policy %s can't be sent, the old ones stand: %v", q.spec.Name, err))
		s.needs.Log.Error("the policy's new settings can't be sent: the old ones stand", "policy", q.spec.Name, "error", err)
		q.outcome.set(err)
		return q.outcome
	}
	version := s.changes.ask(q, s.needs.Term)
	s.wait.Go(func() { s.sendSettings(version, config) })
	return q.outcome
}

// sendSettings gives a version to the core, unless the file has a newer one: versions must not
// overtake each other.
func (s *Supervisor) sendSettings(version uint64, config []byte) {
	s.sending.Lock()
	defer s.sending.Unlock()
	s.mu.Lock()
	newest := s.changes.newest == version
	if !newest {
		if q, known := s.changes.answered(version); known {
			q.outcome.set(ErrNewer)
		}
	}
	s.mu.Unlock()
	if newest {
		s.input(wire.NewInput(&wire.SettingsChange{Version: version, Config: config}))
	}
}

// Settled records the outcome of a version of the settings.
func (s *Supervisor) Settled(v core.SettingsVerdict) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q, known := s.changes.answered(v.Version)
	if !known {
		return
	}
	why := shortened(v.Problems)
	if v.Source != core.VerdictAnswered || len(v.Problems) > 0 {
		q.outcome.set(why)
	}
	switch h := s.live[v.Generation]; {
	case v.Source == core.VerdictTimedOut:
		s.changes.unjudged(v.Version, q, true)
		s.needs.problem(ConditionSettings, q.spec.Name, 0, fmt.Sprintf("the policy %s did not take over the new settings, the old ones stand: %v\n"+
			"\"hamadryad policy reload\" starts the policy with the new ones, and a change of the configuration asks again", q.spec.Name, why))
		s.needs.Log.Error("the policy did not take over its new settings: the old ones stand", "policy", q.spec.Name, "error", why)
	case v.Source == core.VerdictAnswered && len(v.Problems) > 0:
		s.needs.problem(ConditionSettings, q.spec.Name, 0, fmt.Sprintf("the policy %s rejects the new settings, the old ones stand:\n%v", q.spec.Name, why))
		s.needs.Log.Error("the policy rejects its new settings: the old ones stand", "policy", q.spec.Name, "problems", why)
	case v.Source == core.VerdictAnswered && h != nil:
		s.tookSettings(h, q, v)
	default: // no policy got them, or the policy that accepted them is gone
		q.outcome.set(errors.New("the policy that took them is gone"))
		s.changes.unjudged(v.Version, q, false)
	}
	s.pursue()
}

// tookSettings records a policy's verdict on new settings, and asks the policy that takes over from
// it as well; with mu held.
func (s *Supervisor) tookSettings(h *policyProcess, q question, v core.SettingsVerdict) {
	s.needs.Log.Info("the policy has taken over its new settings", "policy", q.spec.Name, "version", v.Version)
	if v.Abilities != 0 {
		h.described.Abilities, h.described.ProgressEvery = v.Abilities, v.ProgressEvery
	}
	h.spec = q.spec
	if h != s.current || s.incoming != nil {
		s.changes.unjudged(v.Version, q, false)
		return
	}
	s.needs.Conditions.Clear(ConditionSettings, ConditionChange)
	s.takeOver(q.spec, q.outcome)
}

// pursue continues with the file's settings that no policy has judged, when the deciding policy is
// known. It asks a policy about those that none got. Beside the fallback, or if none runs
// any more, it starts a policy with them. With mu held.
func (s *Supervisor) pursue() {
	open, h := s.changes.open, s.current
	switch {
	case open == nil || s.closed || s.incoming != nil:
	case s.state == Failed, s.state == Fallback && h.known:
		s.replaceWithOpen()
	case h == nil || !h.known || open.failed:
	case sameConfig(h.spec.Config, open.spec.Config):
		q := s.changes.takeOpen()
		s.takeOver(q.spec, q.outcome)
	default:
		s.askSettings(open.question)
	}
}
