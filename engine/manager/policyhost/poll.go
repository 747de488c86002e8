package policyhost

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/hamadryad/hamadryad/engine/policy"
)

const (
	// lookEvery is the period of asking the deciding policy for its pools. After each call the
	// policy has a pause of lookRest times its duration, up to lookRestMax, because rounds wait
	// meanwhile. The shorter duration of the last two calls counts: one call delayed by the machine
	// says nothing about the policy, and all displayed data would be old for a minute.
	lookEvery   = time.Second
	lookRest    = 100
	lookRestMax = time.Minute
	// lookAgain is for how long no policy is asked after one has ended during a call: a policy
	// whose status fails may schedule well.
	lookAgain = 10 * time.Minute
)

// statusPoll asks policies for their status, for all readers. Safe for concurrent use.
type statusPoll struct {
	needs *Needs
	ctx   context.Context

	mu   sync.Mutex
	from time.Time // no calls before that time
}

// run asks a generation for the status of its pools periodically, until it ends.
func (s *statusPoll) run(h *policyProcess) {
	next := time.NewTimer(0)
	defer next.Stop()
	before := time.Duration(math.MaxInt64)
	for {
		select {
		case <-h.end:
			return
		case <-next.C:
		}
		if !s.mayLook() {
			next.Reset(lookEvery)
			continue
		}
		asked := time.Now()
		ctx, cancel := context.WithTimeout(s.ctx, explainTimeout)
		status, err := h.host.Status(ctx)
		cancel()
		took := time.Since(asked)
		if s.needs.statusRead(h.name, err); err == nil {
			s.checkJobs(h, status)
			s.needs.Looked(h.name, h.generation, time.Now(), status)
		}
		switch policy.KindOf(err) {
		case policy.Died, policy.Panicked, policy.Deadline, policy.Breach, policy.Heavy:
			s.leaveAlone()
			return
		}
		next.Reset(max(lookEvery, min(lookRest*min(took, before), lookRestMax)))
		before = took
	}
}

func (s *statusPoll) mayLook() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Now().After(s.from)
}

// leaveAlone stops the polling for a while.
func (s *statusPoll) leaveAlone() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.from = time.Now().Add(lookAgain)
	s.needs.Log.Warn("the policy ended while it was asked for its pools: it is not asked for a while, unless somebody does", "for", lookAgain)
}
