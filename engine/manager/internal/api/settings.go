package api

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hamadryad/hamadryad/engine/manager/internal/configedit"
	"github.com/hamadryad/hamadryad/engine/manager/policyhost"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// Configuration keeps the settings that "config show" lists. Safe for concurrent use.
type Configuration struct {
	mu    sync.Mutex
	start policyhost.Shown // of the start: what can't change while the manager runs
	last  policyhost.Shown // of the configuration that is in force
	// refused is why the policy does not accept the file's settings; "": it does, or is not asked.
	refused string
	since   time.Time
}

// NewConfiguration returns the configuration of the manager's start.
func NewConfiguration(start policyhost.Shown) *Configuration {
	return &Configuration{start: start, last: start}
}

// Refuse notes why the policy does not accept the file's settings: none of them is in force. nil:
// no refusal is known.
func (s *Configuration) Refuse(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused, s.since = "", time.Now()
	if err != nil {
		s.refused = "the policy does not accept its settings in the file, so nothing of the file is in force:\n" + err.Error()
	}
}

// Refused returns why the policy does not accept the file's settings, and since when; "": it does.
func (s *Configuration) Refused() (why string, since time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refused, s.since
}

// Loaded notes a configuration that is now in force.
func (s *Configuration) Loaded(c policyhost.Shown) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = c
}

// live reports whether a setting takes effect while the manager runs.
func (s *Configuration) live(key string) bool { return configedit.Started(s.start).Live(key) }

// inForce lists the settings in force, given those of the running policy.
func (s *Configuration) inForce(policy policyhost.Shown) []*wire.Setting {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := map[string]*wire.Setting{}
	for _, x := range s.last {
		last[x.Key] = x
	}
	var list []*wire.Setting
	for _, x := range s.start {
		newest := cmp.Or(last[x.Key], x)
		switch {
		case configedit.OfPolicy(x.Key):
		case s.live(x.Key):
			list = append(list, newest)
		case newest.Value != x.Value:
			list = append(list, &wire.Setting{Key: x.Key, Value: x.Value, From: x.From, Next: newest.Value, NextFrom: newest.From, Over: newest.Over})
		default:
			list = append(list, x)
		}
	}
	for _, x := range policy {
		if configedit.OfPolicy(x.Key) {
			list = append(list, x)
		}
	}
	slices.SortStableFunc(list, func(a, b *wire.Setting) int { return strings.Compare(a.Key, b.Key) })
	return list
}
