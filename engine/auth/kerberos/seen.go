package kerberos

import (
	"crypto/sha256"
	"errors"
	"sync"
	"time"
)

const (
	// window is for how long a credential may be replayed before it is too old. A client's clock
	// may be ahead by Skew.
	window = 2 * Skew
	// seenMax bounds the credentials remembered for one window, each some 40 bytes. Further ones
	// are refused, because a credential that is forgotten could be replayed.
	seenMax = 1 << 19
)

type digest [sha256.Size]byte

// seen remembers which credentials came (RFC 4120, section 3.2.3), for one window at least and two
// at most. It has only credentials that proved a user.
type seen struct {
	mu     sync.Mutex
	began  time.Time // the newer of the windows
	newer  map[digest]struct{}
	before map[digest]struct{}
}

func newSeen(now time.Time) *seen { return &seen{began: now, newer: map[digest]struct{}{}} }

// first notes a credential. The error says that it came before, or that there are too many.
func (s *seen) first(d digest, now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.began) >= window {
		s.before, s.newer = s.newer, map[digest]struct{}{}
		if now.Sub(s.began) >= 2*window {
			s.before = nil
		}
		s.began = now
	}
	_, new := s.newer[d]
	_, old := s.before[d]
	switch {
	case new || old:
		return errors.New("it was shown before, and counts once: whoever repeats it is not its client, or does not make one for each call")
	case len(s.newer) >= seenMax:
		return errors.New("more requests were shown lately than can be remembered: come again in some minutes, or with a certificate")
	}
	s.newer[d] = struct{}{}
	return nil
}
