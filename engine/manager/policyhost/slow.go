package policyhost

import (
	"fmt"
	"sync"
	"time"
)

const (
	// slowLogEvery is the least time between two lines about slow rounds.
	slowLogEvery = 10 * time.Second
	// slowForgotten is for how long status shows a slow round.
	slowForgotten = time.Minute
)

// slow reports slow rounds. Safe for concurrent use.
type slow struct {
	needs *Needs

	mu   sync.Mutex
	said time.Time // when the log last had that the policy is slow
}

// late reports a round of a generation that has not been answered for a while.
func (s *slow) late(name string, generation uint64, p *latency, bound time.Duration) {
	number, still := p.late()
	if !still {
		return
	}
	s.needs.Stats.SlowRound()
	s.needs.Stats.PolicyProblem(ConditionRounds, name)
	text := fmt.Sprintf("the policy %s is slow: it has not answered round %d for %v", name, number, bound)
	s.show(bound, text)
	s.mu.Lock()
	again := time.Since(s.said) >= slowLogEvery
	if again {
		s.said = time.Now()
	}
	s.mu.Unlock()
	if again {
		s.needs.Log.Warn(text+", and nothing is launched meanwhile", "policy", name, "generation", generation)
	}
}

// roundAnswered reports a slow round that was answered in the end.
func (s *slow) roundAnswered(name string, took time.Duration, round uint64, bound time.Duration) {
	s.show(bound, fmt.Sprintf("the policy %s is slow: it took %v for round %d", name, took.Round(time.Millisecond), round))
}

// show puts the report into the status.
func (s *slow) show(bound time.Duration, text string) {
	s.needs.Conditions.Set(ConditionRounds, fmt.Sprintf("%s (over %v counts as slow: policy.slowRound)", text, bound), slowForgotten)
}
