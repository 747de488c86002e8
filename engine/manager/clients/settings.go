package clients

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/hamadryad/hamadryad/engine/auth/access"
	"github.com/hamadryad/hamadryad/engine/manager/problems"
	"github.com/hamadryad/hamadryad/engine/manager/supervision"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// Configuration keeps what "config show" tells. Safe for concurrent use.
type Configuration struct {
	mu    sync.Mutex
	start supervision.Shown // of the start: what can't change while the manager runs
	last  supervision.Shown // of the last configuration that had no mistakes
}

// NewConfiguration returns that of the manager's start.
func NewConfiguration(start supervision.Shown) *Configuration {
	return &Configuration{start: start, last: start}
}

// Loaded notes a configuration without mistakes.
func (s *Configuration) Loaded(c supervision.Shown) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = c
}

// live tells the settings that take effect while the manager runs. Those of the
// policy are in force when the policy has taken them.
func live(key string) bool {
	section, rest, _ := strings.Cut(key, ".")
	return section == "core" || section == "auth" && slices.Contains(access.Keys, rest)
}

func ofPolicy(key string) bool { return strings.HasPrefix(key, "policy.") }

// inForce lists the settings in force, given those of the policy that runs.
func (s *Configuration) inForce(policy supervision.Shown) []*wire.Setting {
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
		case ofPolicy(x.Key):
		case live(x.Key):
			list = append(list, newest)
		case newest.Value != x.Value:
			list = append(list, &wire.Setting{Key: x.Key, Value: x.Value, From: x.From, Next: newest.Value, NextFrom: newest.From})
		default:
			list = append(list, x)
		}
	}
	for _, x := range policy {
		if ofPolicy(x.Key) {
			list = append(list, x)
		}
	}
	slices.SortStableFunc(list, func(a, b *wire.Setting) int { return strings.Compare(a.Key, b.Key) })
	return list
}

// Settings tells the configuration in force.
func (s *Server) Settings(context.Context, *wire.Empty) (*wire.SettingsReply, error) {
	r := &wire.SettingsReply{File: s.needs.File, Settings: s.needs.Shown.inForce(s.needs.Supervisor.Shown())}
	if p, ok := s.needs.Problems.Of(problems.Configuration); ok {
		r.Problem, r.ProblemAt = p.Text, p.At.UnixNano()
	}
	return r, nil
}
