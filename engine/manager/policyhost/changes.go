package policyhost

import (
	"context"
	"errors"
	"fmt"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/manager/internal/conditions"
	"github.com/hamadryad/hamadryad/engine/manager/internal/inbox"
	"github.com/hamadryad/hamadryad/engine/manager/policyhost/epochid"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// changes are the settings of the configuration's file that the policy is asked about. The
// supervisor's lock guards them.
//
// What a policy was told of and failed over may have been what killed it, so it is not asked
// again by itself. What none was told of is nobody's verdict, and asked again until it is.
type changes struct {
	version uint64              // the last one that was asked
	newest  uint64              // the one that the file has; 0: the policy was not asked about that
	asked   map[uint64]question // without a verdict
	open    *openChange         // what the file has, when nobody rejected it and it is not in force; nil: that is not so
}

// question is what the policy is asked, and who hears what becomes of it.
type question struct {
	spec Policy
	told chan error // capacity 1
}

// errNewer is what becomes of settings that the file has no more.
var errNewer = errors.New("something newer took its place")

// openChange are settings that no policy judged.
type openChange struct {
	version uint64
	spec    Policy
	told    bool // a policy was told of them, and gave no answer
}

// ask notes what the file has now, and that the policy is asked about it.
func (c *changes) ask(spec Policy, term uint64) (version uint64, told chan error) {
	c.version++
	c.newest, c.open = epochid.New(term, c.version), nil
	if c.asked == nil {
		c.asked = map[uint64]question{}
	}
	told = make(chan error, 1)
	c.asked[c.newest] = question{spec, told}
	return c.newest, told
}

// leave notes that the file has something that the policy is not asked about.
func (c *changes) leave() { c.newest, c.open = 0, nil }

// pending says whether the policy may yet take over what it was asked about.
func (c *changes) pending() bool { return len(c.asked) > 0 || c.open != nil }

// answered ends the wait for a verdict, and returns what was asked.
func (c *changes) answered(version uint64) (q question, known bool) {
	if o := c.open; o != nil && o.version == version {
		c.open = nil
		return question{o.spec, make(chan error, 1)}, true // who asked was told that nobody judged them
	}
	q, known = c.asked[version]
	delete(c.asked, version)
	return q, known
}

// unjudged keeps settings that got no verdict, if the file still has them.
func (c *changes) unjudged(version uint64, spec Policy, told bool) {
	if version == c.newest {
		c.open = &openChange{version, spec, told}
	}
}

// Update takes over a changed configuration: new settings go to the policy that
// runs, which may reject them; another program is started beside it and takes over
// between two rounds. What becomes of it comes once: nil when the policy has taken it.
func (s *Supervisor) Update(spec Policy) <-chan error {
	spec.Fill()
	s.mu.Lock()
	defer s.mu.Unlock()
	same := sameProgram(s.spec, spec)
	switch {
	case same && sameConfig(s.spec.Config, spec.Config) && !s.changes.pending() && s.state != Failed && s.state != Fallback:
		s.needs.Conditions.Clear(conditions.Settings, conditions.Change)
		s.takeOver(spec)
		return outcome(nil)
	case same && s.state == Running && s.incoming == nil:
		return s.askSettings(spec)
	}
	h := s.replace(spec)
	if h == nil {
		return outcome(inbox.ErrStopping)
	}
	return h.outcome
}

// outcome is one that is known at once.
func outcome(err error) <-chan error {
	told := make(chan error, 1)
	told <- err
	return told
}

// replace starts a policy beside the one that runs, if one does, and in the place of one
// that is being started; with mu held.
func (s *Supervisor) replace(spec Policy) *policyProcess {
	if old := s.incoming; old != nil {
		s.end(old)
		if old.announced {
			s.wait.Go(func() { s.reportFailed(old.generation, "the configuration changed again") })
		}
	}
	s.changes.leave()
	s.failures, s.pause = nil, 0
	s.needs.Conditions.Clear(conditions.Settings)
	s.needs.Log.Info("the policy is changed", "policy", spec.Name, "path", spec.Path)
	h := s.launch(spec, false)
	if h != nil {
		h.mends = true
	}
	return h
}

// takeOver takes over what of a policy's configuration the policy itself is not
// asked about; with mu held.
func (s *Supervisor) takeOver(spec Policy) {
	s.spec = spec
	if s.current != nil && s.incoming == nil {
		s.current.spec = spec
		if s.state == Running {
			s.accept(spec)
		}
	}
}

// Reload starts the policy's program anew, beside the one that runs, and returns
// when it has taken over: with the settings in force, or those of the file that no policy
// gave an answer to. The error says why it did not.
func (s *Supervisor) Reload(ctx context.Context) error {
	s.mu.Lock()
	if s.incoming != nil {
		s.mu.Unlock()
		return errors.New("a policy is being started already: try again when \"hamadryad policy\" says that it runs")
	}
	s.needs.Log.Info("the policy is loaded again", "policy", s.spec.Name, "path", s.spec.Path)
	h := s.restartSame()
	s.mu.Unlock()
	if h == nil {
		return inbox.ErrStopping
	}
	select {
	case err := <-h.outcome:
		return problemsOf(err)
	case <-ctx.Done():
		return ctx.Err()
	case <-s.ctx.Done():
		return inbox.ErrStopping
	}
}

// restartSame starts a generation of the same program because somebody asked for it; with mu held.
func (s *Supervisor) restartSame() *policyProcess {
	if open := s.changes.open; open != nil {
		return s.replace(open.spec)
	}
	s.failures, s.pause = nil, 0
	h := s.launch(s.spec, false)
	if h != nil {
		h.mends = true
	}
	return h
}

// askSettings sends new settings through the core to the policy; with mu held.
func (s *Supervisor) askSettings(spec Policy) <-chan error {
	config, err := settingsBytes(spec.Config)
	if err != nil {
		s.changes.leave()
		s.needs.Conditions.Set(conditions.Settings, err.Error(), 0)
		s.needs.Log.Error("the policy's new settings can't be sent: the old ones stand", "error", err)
		return outcome(err)
	}
	version, told := s.changes.ask(spec, s.needs.Term)
	s.wait.Go(func() { s.sendSettings(version, config) })
	return told
}

// sendSettings gives a version to the core, unless the file has a newer one: they must not
// overtake each other.
func (s *Supervisor) sendSettings(version uint64, config []byte) {
	s.sending.Lock()
	defer s.sending.Unlock()
	s.mu.Lock()
	newest := s.changes.newest == version
	if !newest {
		if q, known := s.changes.answered(version); known {
			q.told <- errNewer
		}
	}
	s.mu.Unlock()
	if newest {
		s.input(wire.NewInput(&wire.SettingsChange{Version: version, Config: config}))
	}
}

// Settled takes in what became of a version of the settings.
func (s *Supervisor) Settled(v core.SettingsVerdict) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q, known := s.changes.answered(v.Version)
	if !known {
		return
	}
	spec, why := q.spec, shortened(v.Problems)
	if v.Source != core.VerdictAnswered || len(v.Problems) > 0 {
		q.told <- why
	}
	switch h := s.live[v.Generation]; {
	case v.Source == core.VerdictTimedOut:
		s.changes.unjudged(v.Version, spec, true)
		s.needs.Conditions.Set(conditions.Settings, fmt.Sprintf("the policy did not take over the new settings, the old ones stand: %v\n"+
			"\"hamadryad policy reload\" starts the policy with the new ones, and a change of the configuration asks again", why), 0)
		s.needs.Log.Error("the policy did not take over its new settings: the old ones stand", "error", why)
	case v.Source == core.VerdictAnswered && len(v.Problems) > 0:
		s.needs.Conditions.Set(conditions.Settings, fmt.Sprintf("the policy rejects the new settings, the old ones stand:\n%v", why), 0)
		s.needs.Log.Error("the policy rejects its new settings: the old ones stand", "problems", why)
	case v.Source == core.VerdictAnswered && h != nil:
		s.tookSettings(h, spec, v)
		q.told <- nil
	default: // nobody was told of them, or who took them over is gone
		s.changes.unjudged(v.Version, spec, false)
		select {
		case q.told <- errors.New("the policy that took them is gone"):
		default: // it is known why
		}
	}
	s.pursue()
}

// tookSettings has a generation have new settings, and the one that takes over from it be
// asked about them as well; with mu held.
func (s *Supervisor) tookSettings(h *policyProcess, spec Policy, v core.SettingsVerdict) {
	s.needs.Log.Info("the policy has taken over its new settings", "version", v.Version)
	if v.Abilities != 0 {
		h.described.Abilities, h.described.ProgressEvery = v.Abilities, v.ProgressEvery
	}
	h.spec = spec
	if h != s.current || s.incoming != nil {
		s.changes.unjudged(v.Version, spec, false)
		return
	}
	s.needs.Conditions.Clear(conditions.Settings, conditions.Change)
	s.takeOver(spec)
}

// pursue goes on with settings of the file that no policy judged, when it is known who
// decides: a policy is asked about those that none was told of, and beside the built-in one,
// or where none runs any more, a policy is started with them. With mu held.
func (s *Supervisor) pursue() {
	open, h := s.changes.open, s.current
	switch {
	case open == nil || s.closed || s.incoming != nil:
	case s.state == Failed, s.state == Fallback && h.known:
		s.replace(open.spec)
	case h == nil || !h.known || open.told:
	case sameConfig(h.spec.Config, open.spec.Config):
		s.changes.leave()
		s.takeOver(open.spec)
	default:
		s.askSettings(open.spec)
	}
}
