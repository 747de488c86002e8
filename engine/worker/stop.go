package worker

import (
	"sync"
	"time"
)

// softStop is whether an attempt was asked to end soon, and by when. Safe for concurrent
// use.
type softStop struct {
	asked chan struct{} // closed with the first request

	mu       sync.Mutex
	deadline time.Time // zero until then; it does not change afterwards
}

func newSoftStop() softStop { return softStop{asked: make(chan struct{})} }

// ask asks the attempt to end within a while. Only the first time counts.
func (s *softStop) ask(grace time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.deadline.IsZero() {
		s.deadline = time.Now().Add(grace)
		close(s.asked)
	}
}

// wasAsked reports whether it was asked.
func (s *softStop) wasAsked() bool {
	select {
	case <-s.asked:
		return true
	default:
		return false
	}
}

// by is until when it is to end, zero when it was not asked.
func (s *softStop) by() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.deadline
}
