package worker

import (
	"sync"
	"time"
)

// gracefulStop is the request to an attempt to end within a grace period, if there is one. Safe for
// concurrent use.
type gracefulStop struct {
	asked chan struct{} // closed with the first request

	mu       sync.Mutex
	deadline time.Time // zero before the request; it does not change afterwards
}

func newGracefulStop() gracefulStop { return gracefulStop{asked: make(chan struct{})} }

// request asks the attempt to end within the grace period. Only the first request counts.
func (s *gracefulStop) request(grace time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.deadline.IsZero() {
		s.deadline = time.Now().Add(grace)
		close(s.asked)
	}
}

// requested reports whether the attempt was asked to end.
func (s *gracefulStop) requested() bool {
	select {
	case <-s.asked:
		return true
	default:
		return false
	}
}

// endsBy is the deadline, zero without a request.
func (s *gracefulStop) endsBy() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.deadline
}
