package oidc

import (
	"context"
	"crypto/ed25519"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// source gives a keyring its keys.
type source struct {
	mu    sync.Mutex
	keys  []jose.JSONWebKey
	down  error
	asked int
}

func (s *source) fetch(context.Context) ([]jose.JSONWebKey, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	return s.keys, s.down
}

func (s *source) be(keys []jose.JSONWebKey, down error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys, s.down = keys, down
}

func (s *source) times() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.asked
	s.asked = 0
	return n
}

// The keys are fetched every few minutes, so that a revoked key stops counting, and more often
// while the issuer is down. Known keys count for a day then.
func TestWhenTheIssuerIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, down := []jose.JSONWebKey{{Key: ed25519.PublicKey("x")}}, errors.New("down")
		s := &source{keys: one}
		k := newKeyring(issuer{}, time.Now, slog.New(slog.DiscardHandler))
		k.fetch = s.fetch
		ctx, stop := context.WithCancel(t.Context())
		go k.run(ctx)
		after := func(d time.Duration, times int, counts bool) {
			t.Helper()
			time.Sleep(d)
			synctest.Wait()
			if n := s.times(); n != times {
				t.Errorf("in %v it was asked %d times, not %d", d, n, times)
			}
			if (k.known() != nil) != counts {
				t.Errorf("after %v a key counts: %t", d, !counts)
			}
		}
		after(time.Second, 1, true)
		after(time.Hour, int(time.Hour/refreshEvery), true)
		s.be(nil, nil)
		after(refreshEvery, 1, false)
		s.be(one, nil)
		after(refreshEvery, 1, true)
		s.be(nil, down)
		after(time.Hour, int((time.Hour-refreshEvery)/askPause)+1, true)
		after(keysLifeMax, int(keysLifeMax/askPause), false)
		s.be(one, nil)
		after(askPause, 1, true)
		after(askPause, 0, true)
		for range 3 { // tokens of strangers
			if _, err := k.ask(); err != nil {
				t.Error(err)
			}
		}
		after(time.Second, 1, true)
		if _, err := k.ask(); err == nil {
			t.Error("the issuer is asked again at once")
		}
		after(time.Second, 0, true)
		stop()
		synctest.Wait()
	})
}
