package oidc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"

	"github.com/hamadryad/hamadryad/engine/auth"
)

// Scheme is the word before a token in the header "authorization" (RFC 6750, section 2.1).
const Scheme = "bearer"

const (
	// TokenBytesMax bounds a token: it is read before its sender is known.
	TokenBytesMax = 16 << 10
	// Leeway is how far the issuer's clock and the manager's may be apart.
	Leeway = time.Minute
)

// algorithms are those with which only the issuer can sign. So they are never "none" and never
// symmetric: with a shared key, the key here would be the issuer's public one (RFC 8725, section
// 2.1).
var algorithms = []jose.SignatureAlgorithm{jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512, jose.ES256, jose.ES384, jose.ES512, jose.EdDSA}

// Verifier proves users by their tokens. Safe for concurrent use.
type Verifier struct {
	now func() time.Time
	log *slog.Logger

	mu      sync.Mutex
	state   state
	changed chan struct{} // holds one element when the keys are another issuer's
}

// state is the configuration in force. It is immutable.
type state struct {
	settings Settings
	keys     *keyring // nil: there is no issuer
	checks   *oidc.IDTokenVerifier
}

// Options configure New. Zero values are the defaults.
type Options struct {
	Now func() time.Time // the clock; time.Now
	Log *slog.Logger     // gets a line when the issuer can't be reached; slog.Default()
}

// New returns a verifier with settings that Check accepts.
func New(s Settings, o Options) *Verifier {
	v := &Verifier{now: o.Now, log: o.Log, changed: make(chan struct{}, 1)}
	if v.now == nil {
		v.now = time.Now
	}
	if v.log == nil {
		v.log = slog.Default()
	}
	v.Set(s)
	return v
}

// Set replaces the settings for calls from now on. Check must accept them.
func (v *Verifier) Set(s Settings) {
	v.mu.Lock()
	defer v.mu.Unlock()
	s = s.Filled()
	before := v.state
	if s == before.settings {
		return
	}
	v.state = state{settings: s}
	if s.Issuer == "" {
		v.signal()
		return
	}
	v.state.keys = before.keys
	if before.keys == nil || s.Issuer != before.settings.Issuer || s.CA != before.settings.CA {
		v.state.keys = newKeyring(issuer{url: s.Issuer, ca: s.CA}, v.now, v.log)
		v.signal()
	}
	v.state.checks = oidc.NewVerifier(s.Issuer, verified{}, &oidc.Config{ClientID: s.Audience, SupportedSigningAlgs: names(algorithms), SkipExpiryCheck: true})
}

func (v *Verifier) signal() {
	select {
	case v.changed <- struct{}{}:
	default:
	}
}

func names(all []jose.SignatureAlgorithm) (texts []string) {
	for _, a := range all {
		texts = append(texts, string(a))
	}
	return texts
}

func (v *Verifier) current() state {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.state
}

// Run fetches the issuer's keys until the context ends. Without it no token is accepted.
func (v *Verifier) Run(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case <-v.changed: // before now
		default:
		}
		of, stop := context.WithCancel(ctx)
		var asking sync.WaitGroup
		if keys := v.current().keys; keys != nil {
			asking.Go(func() { keys.run(of) })
		}
		select {
		case <-ctx.Done():
		case <-v.changed:
		}
		stop()
		asking.Wait()
	}
}

// Prove is the proof.Scheme of tokens. It waits for the issuer until the context ends; then the
// error matches auth.ErrLater.
func (v *Verifier) Prove(ctx context.Context, token string) (auth.Principal, error) {
	s := v.current()
	if s.keys == nil {
		return auth.Principal{}, errors.New("tokens are not taken any more: the manager's configuration has no auth.oidc.issuer")
	}
	caller, err := s.prove(ctx, token, v.now())
	if err != nil {
		return auth.Principal{}, fmt.Errorf("the token is refused: %w", err)
	}
	return caller, nil
}

func (s state) prove(ctx context.Context, token string, now time.Time) (auth.Principal, error) {
	parsed, err := parse(token)
	if err != nil {
		return auth.Principal{}, err
	}
	said, err := s.keys.verify(ctx, parsed)
	if err != nil {
		return auth.Principal{}, err
	}
	// From here on the token's text is signed by the issuer, and errors may repeat it.
	checked, err := s.checks.Verify(context.WithValue(ctx, signedKey{}, said), token)
	if err != nil {
		return auth.Principal{}, fmt.Errorf("%.*s: get one of the issuer %s for the audience %q (auth.oidc.audience)", problemMax, err.Error(), s.settings.Issuer, s.settings.Audience)
	}
	return s.settings.principal(checked, now)
}

// parse reads a token. Its errors repeat nothing of the token but the name of its algorithm.
func parse(token string) (*jose.JSONWebSignature, error) {
	if len(token) > TokenBytesMax {
		return nil, fmt.Errorf("it has %d bytes, at most %d are taken: have the issuer put fewer groups and claims into it", len(token), TokenBytesMax)
	}
	parsed, err := jose.ParseSignedCompact(token, algorithms)
	var other *jose.ErrUnexpectedSignatureAlgorithm
	switch {
	case errors.As(err, &other):
		return nil, fmt.Errorf("it says that it is signed with %.20q, and what counts is signed with a key that the issuer alone has: have it sign with one of %s", other.Got, strings.Join(names(algorithms), ", "))
	case err != nil || len(parsed.Signatures) != 1:
		return nil, errors.New("it is no JSON Web Token: give the ID token or the access token that the issuer gave, whole, and nothing else")
	}
	return parsed, nil
}

// verified is an oidc.KeySet for a token whose signature was verified before: the context has its
// payload.
type verified struct{}

type signedKey struct{}

// VerifySignature implements oidc.KeySet.
func (verified) VerifySignature(ctx context.Context, _ string) ([]byte, error) {
	said, ok := ctx.Value(signedKey{}).([]byte)
	if !ok {
		return nil, errors.New("its signature was not verified")
	}
	return said, nil
}
