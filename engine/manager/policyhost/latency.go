package policyhost

import (
	"sync"
	"time"

	"github.com/hamadryad/hamadryad/engine/wire"
)

// latency is how long a generation's rounds take. Safe for concurrent use.
type latency struct {
	mu            sync.Mutex
	number        uint64    // of the round under way
	asked         time.Time // its start; zero when none is
	rounds        uint64    // answered
	sum           time.Duration
	last, longest time.Duration
	slow          uint64
}

// beginRound notes the start of a round.
func (p *latency) beginRound(number uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.number, p.asked = number, time.Now()
}

// endRound notes its answer and returns how long it took.
func (p *latency) endRound() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	took := time.Since(p.asked)
	p.asked = time.Time{}
	p.rounds++
	p.sum += took
	p.last, p.longest = took, max(p.longest, took)
	return took
}

// late counts the current round as slow and returns its number; false when it was answered
// meanwhile.
func (p *latency) late() (uint64, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asked.IsZero() {
		return 0, false
	}
	p.slow++
	return p.number, true
}

func (p *latency) times(slow time.Duration) *wire.RoundTimes {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := &wire.RoundTimes{Last: int64(p.last), Longest: int64(p.longest), Slow: int64(slow), SlowRounds: p.slow}
	if p.rounds > 0 {
		t.Mean = int64(p.sum) / int64(p.rounds)
	}
	if !p.asked.IsZero() {
		t.UnderWay = max(int64(time.Since(p.asked)), 1)
	}
	return t
}
