package worker

import (
	"sync"
	"time"
)

// gracefulStop is whether an attempt was asked to end soon, and by when. Safe for concurrent
// use.
type gracefulStop struct {
	asked chan struct{} // closed with the first request

	mu       sync.Mutex
	deadline time.Time // zero until then; it does not change afterwards
}

func newGracefulStop() gracefulStop { return gracefulStop{asked: make(chan struct{})} }

// request asks the attempt to end within a while. Only the first time counts.
func (s *gracefulStop) request(grace time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.deadline.IsZero() {
		s.deadline = time.Now().Add(grace)
		close(s.asked)
	}
}

// requested reports whether it was asked.
func (s *gracefulStop) requested() bool {
	select {
	case <-s.asked:
		return true
	default:
		return false
	}
}

// endsBy is until when it is to end, zero when it was not asked.
func (s *gracefulStop) endsBy() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.deadline
}
