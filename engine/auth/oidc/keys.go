package oidc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/hamadryad/hamadryad/engine/auth"
)

// How often the issuer's keys are fetched, and for how long they are valid.
const (
	// refreshEvery is the period of fetches. So a key that the issuer revokes counts for that long
	// at most.
	refreshEvery = 5 * time.Minute
	// askPause is the least time between two fetches, whatever tokens strangers send.
	askPause = 10 * time.Second
	// keysLifeMax is for how long keys count while the issuer can't be reached.
	keysLifeMax = 24 * time.Hour
)

// keyring keeps an issuer's keys. Safe for concurrent use.
type keyring struct {
	issuer string
	fetch  func(context.Context) ([]jose.JSONWebKey, error)
	now    func() time.Time
	log    *slog.Logger
	asked  chan struct{} // holds one element when a fetch is requested

	mu      sync.Mutex
	keys    []jose.JSONWebKey // never changed in place
	got     time.Time         // when keys were fetched
	tried   time.Time         // when the last fetch ended; zero: there was none
	next    chan struct{}     // closed when the next fetch ends
	busy    bool              // a fetch is requested or under way
	problem string            // error of the last fetch, as it was logged; "": none
}

func newKeyring(from issuer, now func() time.Time, log *slog.Logger) *keyring {
	return &keyring{issuer: from.url, fetch: from.keys, now: now, log: log, asked: make(chan struct{}, 1), next: make(chan struct{}), busy: true}
}

// run fetches the keys again and again until its context ends. No other goroutine asks the issuer.
func (k *keyring) run(ctx context.Context) {
	for {
		select {
		case <-k.asked:
		default:
		}
		keys, err := k.fetch(ctx)
		if ctx.Err() != nil {
			return
		}
		wait := refreshEvery
		if err != nil {
			wait = askPause
		}
		k.replaceKeys(keys, err)
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-k.asked:
		}
		timer.Stop()
	}
}

// replaceKeys ends a fetch.
func (k *keyring) replaceKeys(keys []jose.JSONWebKey, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.tried, k.busy = k.now(), false
	close(k.next)
	k.next = make(chan struct{})
	if err != nil {
		if text := fmt.Sprintf("%.*s", problemMax, err.Error()); text != k.problem {
			k.problem = text
			k.log.Error("the issuer of tokens can't be asked for its keys: those that are known count for a day, it is asked again and again", "issuer", k.issuer, "known", len(k.keys), "error", text)
		}
		return
	}
	if k.problem != "" || k.got.IsZero() {
		k.log.Info("the issuer of tokens gave its keys", "issuer", k.issuer, "keys", len(keys))
	}
	k.keys, k.got, k.problem = keys, k.tried, ""
}

// known are the valid keys, without waiting.
func (k *keyring) known() []jose.JSONWebKey {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.now().Sub(k.got) > keysLifeMax {
		return nil
	}
	return k.keys
}

// ask requests a fetch of the keys, and returns a channel that is closed when the fetch ends. The
// error says why there is no fetch now.
func (k *keyring) ask() (<-chan struct{}, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch ago := k.now().Sub(k.tried); {
	case k.busy:
	case ago < askPause && k.problem != "":
		return nil, fmt.Errorf("the issuer %s can't be asked for its keys, and those that are known here did not sign it: the manager's log says why, try again in %v", k.issuer, askPause)
	case ago < askPause:
		return nil, fmt.Errorf("no key of the issuer %s has signed it: get another token; the issuer's keys are looked at every %v at most, so one that it signs with since then counts a little later", k.issuer, askPause)
	default:
		k.busy = true
		select {
		case k.asked <- struct{}{}:
		default: // a request that came while the keys were fetched anyway
		}
	}
	return k.next, nil
}

// verify returns a token's payload if a key of the issuer signed it. If no known key did, it
// requests a fetch of the keys, and waits for that until the context ends.
func (k *keyring) verify(ctx context.Context, token *jose.JSONWebSignature) ([]byte, error) {
	if said, ok := verifyWith(k.known(), token); ok {
		return said, nil
	}
	fetched, err := k.ask()
	if err != nil {
		return nil, err
	}
	select {
	case <-fetched:
	case <-ctx.Done():
		return nil, fmt.Errorf("the issuer %s is being asked for its keys: %w", k.issuer, auth.ErrLater)
	}
	if said, ok := verifyWith(k.known(), token); ok {
		return said, nil
	}
	_, err = k.ask() // the keys were fetched a moment ago
	if err == nil {
		err = errors.New("no key of the issuer has signed it")
	}
	return nil, err
}

// verifyWith tries only keys with the token's key id and algorithm, where both name them.
func verifyWith(keys []jose.JSONWebKey, token *jose.JSONWebSignature) ([]byte, bool) {
	head := token.Signatures[0].Protected
	for i := range keys {
		key := &keys[i]
		if head.KeyID != "" && key.KeyID != head.KeyID || key.Algorithm != "" && key.Algorithm != head.Algorithm {
			continue
		}
		if said, err := token.Verify(key); err == nil {
			return said, true
		}
	}
	return nil, false
}
