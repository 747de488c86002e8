package oidc_test

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/engine/auth/oidc"
	"github.com/hamadryad/hamadryad/engine/auth/oidc/oidctest"
	"github.com/hamadryad/hamadryad/internal/proctest"
)

// bench is a verifier with an issuer and a clock.
type bench struct {
	t      *testing.T
	issuer *oidctest.Issuer
	tokens *oidc.Verifier
	log    proctest.Output
	mu     sync.Mutex
	ahead  time.Duration // how far the verifier's clock is ahead
}

func (b *bench) now() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return time.Now().Add(b.ahead)
}

// later advances the clock.
func (b *bench) later(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ahead += d
}

// newBench starts a verifier with settings that change modifies; nil: no change.
func newBench(t *testing.T, change func(*oidc.Settings)) *bench {
	t.Helper()
	b := &bench{t: t, issuer: oidctest.New(t)}
	s := b.settings()
	if change != nil {
		change(&s)
	}
	if key, err := s.Check(); err != nil {
		t.Fatal(key, err)
	}
	b.tokens = oidc.New(s, oidc.Options{Now: b.now, Log: slog.New(slog.NewTextHandler(&b.log, nil))})
	b.run()
	return b
}

func (b *bench) run() {
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { b.tokens.Run(ctx); close(done) }()
	b.t.Cleanup(func() { stop(); <-done })
}

func (b *bench) settings() oidc.Settings {
	return oidc.Settings{Issuer: b.issuer.URL, Audience: oidctest.Audience, CA: b.issuer.CA}
}

// prove proves a token, and fails the test if an error repeats its secret part, the signature.
func (b *bench) prove(token string) (auth.Principal, error) {
	b.t.Helper()
	caller, err := b.tokens.Prove(b.t.Context(), token)
	if parts := strings.Split(token, "."); err != nil && len(parts) == 3 && parts[2] != "" && strings.Contains(err.Error(), parts[2]) {
		b.t.Errorf("the error repeats the token: %v", err)
	}
	return caller, err
}

func (b *bench) refused(what, token string, says ...string) {
	b.t.Helper()
	caller, err := b.prove(token)
	for _, want := range says {
		if err == nil || caller.Name != "" || !strings.Contains(err.Error(), want) {
			b.t.Errorf("%s: %+v, %v; the error is to say %q", what, caller, err, want)
		}
	}
}

// with is a token of ann with some claims replaced.
func (b *bench) with(others map[string]any) string {
	return oidctest.Sign(b.t, oidctest.RSA("rsa-1"), b.issuer.Claims("ann", others))
}

func TestAGoodToken(t *testing.T) {
	b := newBench(t, nil)
	if _, err := b.prove(b.issuer.Token("ann")); err != nil {
		t.Fatal(err)
	}
	b.issuer.Show(oidctest.EC("ec-1"), oidctest.RSA("rsa-1"))
	b.later(oidc.Leeway / 2) // a fetch is allowed again
	for what, token := range map[string]string{
		"RSA":                  b.issuer.Token("ann", "staff", "dba", "staff", " no group"),
		"ECDSA":                oidctest.Sign(t, oidctest.EC("ec-1"), b.issuer.Claims("ann", map[string]any{"groups": []string{"staff", "dba"}})),
		"several audiences":    b.with(map[string]any{"aud": []string{"other", oidctest.Audience}, "groups": []string{"dba", "staff"}}),
		"a key without an id":  oidctest.Sign(t, oidctest.Key{Algorithm: jose.RS256, Secret: oidctest.RSA("rsa-1").Secret}, b.issuer.Claims("ann", map[string]any{"groups": []string{"dba", "staff"}})),
		"within the leeway":    b.with(map[string]any{"exp": time.Now().Add(-10 * time.Second).Unix(), "groups": []string{"dba", "staff"}}),
		"not before within it": b.with(map[string]any{"nbf": time.Now().Add(80 * time.Second).Unix(), "groups": []string{"dba", "staff"}}),
		"ECDSA without an id":  oidctest.Sign(t, oidctest.Key{ID: "", Algorithm: jose.ES256, Secret: oidctest.EC("ec-1").Secret}, b.issuer.Claims("ann", map[string]any{"groups": []string{"dba", "staff"}})),
	} {
		caller, err := b.prove(token)
		if err != nil || caller.Kind != auth.User || caller.Name != "ann" || caller.Proof != auth.OIDC || !slices.Equal(caller.Groups, []string{"dba", "staff"}) {
			t.Errorf("%s: %+v %v", what, caller, err)
		}
	}
	began := time.Now().Add(-time.Hour).Truncate(time.Second)
	if caller, err := b.prove(b.with(map[string]any{"iat": began.Unix()})); err != nil || !caller.Issued.Equal(began) {
		t.Errorf("%+v %v: it was issued at %v", caller, err, began)
	}
	if caller, err := b.prove(b.with(map[string]any{"iat": nil})); err != nil || caller.Issued.IsZero() || caller.Issued.After(began) {
		t.Errorf("%+v %v: a token that does not say when it was issued is older than any revocation", caller, err)
	}
	end := time.Now().Add(time.Minute).Truncate(time.Second)
	if caller, err := b.prove(b.with(map[string]any{"exp": end.Unix()})); err != nil || !caller.Until.Equal(end.Add(oidc.Leeway)) || caller.Groups != nil {
		t.Errorf("%+v %v: it ends with the token, at %v", caller, err, end)
	}
}

// Tokens that anybody can make, and the issuer's tokens for another audience or time, are refused.
func TestBadTokens(t *testing.T) {
	b := newBench(t, nil)
	hour := func(n time.Duration) int64 { return time.Now().Add(n * time.Hour).Unix() }
	der, err := x509.MarshalPKIXPublicKey(oidctest.RSA("rsa-1").Public().Key)
	if err != nil {
		t.Fatal(err)
	}
	public := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	good := b.with(nil)
	parts := strings.Split(good, ".")
	clock := "by the manager's clock, which says"
	for what, c := range map[string]struct {
		token string
		says  []string
	}{
		"none":                    {unsigned(t, b.issuer.Claims("ann", nil)), []string{`signed with "none"`, "RS256"}},
		"HS256 by the public key": {oidctest.Sign(t, oidctest.Key{ID: "rsa-1", Algorithm: jose.HS256, Secret: public}, b.issuer.Claims("ann", nil)), []string{`signed with "HS256"`}},
		"a stranger's key":        {oidctest.Sign(t, oidctest.Key{ID: "rsa-1", Algorithm: jose.RS256, Secret: oidctest.RSA("stranger").Secret}, b.issuer.Claims("ann", nil)), []string{"no key of the issuer", "has signed it"}},
		"the key's other use":     {oidctest.Sign(t, oidctest.Key{ID: "rsa-1", Algorithm: jose.PS256, Secret: oidctest.RSA("rsa-1").Secret}, b.issuer.Claims("ann", nil)), []string{"no key of the issuer"}},
		"no signature":            {parts[0] + "." + parts[1] + ".", []string{"no key of the issuer"}},
		"another's claims":        {parts[0] + "." + base64.RawURLEncoding.EncodeToString([]byte(`{"sub":"root"}`)) + "." + parts[2], []string{"no key of the issuer"}},
		"half a token":            {parts[0] + "." + parts[1], []string{"no JSON Web Token"}},
		"garbage":                 {"garbage", []string{"no JSON Web Token"}},
		"a huge one":              {good + strings.Repeat("x", oidc.TokenBytesMax), []string{"at most", "fewer groups"}},
		"another audience":        {b.with(map[string]any{"aud": "other"}), []string{`expected audience "hamadryad"`, "auth.oidc.audience"}},
		"no audience":             {b.with(map[string]any{"aud": nil}), []string{"expected audience"}},
		"an audience like ours":   {b.with(map[string]any{"aud": []string{"hamadryad2", "Hamadryad"}}), []string{"expected audience"}},
		"another issuer":          {b.with(map[string]any{"iss": "https://evil.example"}), []string{"different provider"}},
		"an issuer like ours":     {b.with(map[string]any{"iss": b.issuer.URL + "/"}), []string{"different provider"}},
		"no issuer":               {b.with(map[string]any{"iss": nil}), []string{"different provider"}},
		"an expired one":          {b.with(map[string]any{"exp": hour(-1)}), []string{"it ended at", clock}},
		"one of tomorrow":         {b.with(map[string]any{"nbf": hour(1)}), []string{"(nbf or iat), which is yet to come", clock}},
		"one of never":            {b.with(map[string]any{"nbf": 1e300}), []string{"yet to come"}},
		"one signed tomorrow":     {b.with(map[string]any{"iat": hour(1)}), []string{"(nbf or iat), which is yet to come", clock}},
		"one without an end":      {b.with(map[string]any{"exp": nil}), []string{"no end (exp)"}},
		"no time":                 {b.with(map[string]any{"nbf": "soon"}), []string{"number"}},
		"no name":                 {b.with(map[string]any{"sub": nil}), []string{`"sub"`, "auth.oidc.nameClaim", "missing"}},
		"a null for a name":       {b.with(map[string]any{"sub": json.RawMessage("null")}), []string{"missing or no text"}},
		"an empty name":           {b.with(map[string]any{"sub": ""}), []string{"gives no name", "empty"}},
		"a list of names":         {b.with(map[string]any{"sub": []string{"ann"}}), []string{"sub"}},
		"a number for a name":     {b.with(map[string]any{"sub": 7}), []string{"sub"}},
		"a name with a slash":     {b.with(map[string]any{"sub": "a/../root"}), []string{"gives no name", "letters and digits"}},
		"a name with an escape":   {b.with(map[string]any{"sub": "a\x1b[2Jb"}), []string{"gives no name"}},
		"a name like ann":         {b.with(map[string]any{"sub": "\u0430nn"}), []string{"gives no name"}},
		"a long name":             {b.with(map[string]any{"sub": strings.Repeat("a", 500)}), []string{"gives no name"}},
		"one group, no list":      {b.with(map[string]any{"groups": "staff"}), []string{`"groups"`, "auth.oidc.groupsClaim", "no list"}},
		"groups by numbers":       {b.with(map[string]any{"groups": []any{"staff", 7}}), []string{"no list of texts"}},
		"a null among groups":     {b.with(map[string]any{"groups": []any{nil}}), []string{"no list of texts"}},
		"no object":               {oidctest.Sign(t, oidctest.RSA("rsa-1"), "ann"), []string{"claims"}},
	} {
		b.refused(what, c.token, append(c.says, "the token is refused")...)
	}
}

// An error names a clock that is an hour off, in either direction.
func TestAClockThatIsWrong(t *testing.T) {
	b := newBench(t, nil)
	token := b.with(map[string]any{"exp": time.Now().Add(30 * time.Minute).Unix()})
	b.later(time.Hour)
	b.refused("an hour ahead", token, "it ended at", "the manager's clock, which says "+b.now().UTC().Format("2006-01-02T15"), "set the clock that is wrong")
	b.later(-2 * time.Hour)
	b.refused("an hour behind", token, "yet to come", "set the clock that is wrong")
}

// unsigned makes a token with JWT's algorithm none.
func unsigned(t *testing.T, claims map[string]any) string {
	t.Helper()
	said, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	return base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","typ":"JWT"}`)) + "." + base64.RawURLEncoding.EncodeToString(said) + "."
}

func TestWhatNamesAUser(t *testing.T) {
	b := newBench(t, func(s *oidc.Settings) {
		s.NameClaim, s.NamePrefix, s.GroupsClaim, s.GroupsPrefix = "email", "sso-", "roles", "sso:"
	})
	caller, err := b.prove(b.with(map[string]any{"email": "ann@example.com", "email_verified": true, "roles": []string{"staff", ""}, "groups": []string{"wheel"}}))
	if err != nil || caller.Name != "sso-ann@example.com" || !slices.Equal(caller.Groups, []string{"sso:staff"}) {
		t.Errorf("%+v %v", caller, err)
	}
	b.refused("an address that nobody verified", b.with(map[string]any{"email": "ann@example.com"}), "verified")
	b.refused("one that is not ann's", b.with(map[string]any{"email": "ann@example.com", "email_verified": false}), "verified")
	b.refused("one that says so in words", b.with(map[string]any{"email": "ann@example.com", "email_verified": "true"}), "verified")
	for what, email := range map[string]any{"a list of names": []string{"ann@example.com"}, "a number": 7, "an object": map[string]any{"value": "ann"}, "no name": nil} {
		b.refused(what, b.with(map[string]any{"email": email, "email_verified": true}), `"email"`, "missing or no text")
	}
	b.refused("the prefix alone", b.with(map[string]any{"email": "", "email_verified": true}), "empty")
	b.refused("a long name behind it", b.with(map[string]any{"email": strings.Repeat("a", auth.NameMax), "email_verified": true}), "at most")
}

// A new key counts at once. A revoked key no longer counts after the next fetch.
func TestKeysAreRotated(t *testing.T) {
	b := newBench(t, nil)
	old, next := b.issuer.Token("ann"), oidctest.Sign(t, oidctest.EC("ec-2"), b.issuer.Claims("ann", nil))
	if _, err := b.prove(old); err != nil {
		t.Fatal(err)
	}
	b.later(time.Minute)
	b.issuer.Show(oidctest.RSA("rsa-1"), oidctest.EC("ec-2"))
	for what, token := range map[string]string{"the new one": next, "the old one": old} {
		if _, err := b.prove(token); err != nil {
			t.Errorf("while both are shown: %s: %v", what, err)
		}
	}
	b.issuer.Show(oidctest.EC("ec-3"))
	b.later(time.Minute)
	if _, err := b.prove(oidctest.Sign(t, oidctest.EC("ec-3"), b.issuer.Claims("ann", nil))); err != nil {
		t.Errorf("the third: %v", err)
	}
	b.refused("the first, which was taken back", old, "no key of the issuer")
	b.refused("the second, which was taken back", next, "no key of the issuer")
}

// Whatever key ids strangers make up, the keys are fetched once, and other users are served.
func TestAStormOfUnknownKeys(t *testing.T) {
	b := newBench(t, nil)
	if _, err := b.prove(b.issuer.Token("ann")); err != nil {
		t.Fatal(err)
	}
	b.later(time.Minute)
	hold, arrived := make(chan struct{}), make(chan struct{}, 100)
	b.issuer.Answer(func(w http.ResponseWriter, _ *http.Request) {
		arrived <- struct{}{}
		<-hold
		w.WriteHeader(http.StatusBadGateway)
	})
	before := b.issuer.Asked()
	var strangers sync.WaitGroup
	for i := range 100 {
		token := oidctest.Sign(t, oidctest.Key{ID: fmt.Sprint("made-up-", i), Algorithm: jose.ES256, Secret: oidctest.EC("stranger").Secret}, b.issuer.Claims("ann", nil))
		strangers.Go(func() { b.refused("a stranger", token, "can't be asked") })
	}
	<-arrived
	if _, err := b.prove(b.issuer.Token("ann")); err != nil { // while the issuer does not answer
		t.Errorf("ann, beside them: %v", err)
	}
	close(hold)
	strangers.Wait()
	if n := b.issuer.Asked() - before; n > 2 {
		t.Errorf("the issuer was asked %d times", n)
	}
	if text := b.log.String(); strings.Count(text, "can't be asked") != 1 || strings.Contains(text, "made-up") {
		t.Errorf("the log says\n%s", text)
	}
}

// A caller that can't wait is asked to retry, and is served then.
func TestALaterAnswer(t *testing.T) {
	b := newBench(t, nil)
	now, cancel := context.WithCancel(t.Context())
	cancel()
	token := b.issuer.Token("ann")
	for {
		_, err := b.tokens.Prove(now, token)
		if err == nil {
			break
		}
		if !errors.Is(err, auth.ErrLater) {
			t.Fatal(err)
		}
		if _, err := b.prove(token); err != nil { // it waits
			t.Fatal(err)
		}
	}
}

// A verifier starts while the issuer is down, logs that, and continues when the issuer is back.
func TestTheIssuerIsDown(t *testing.T) {
	b := &bench{t: t, issuer: oidctest.New(t)}
	b.tokens = oidc.New(b.settings(), oidc.Options{Now: b.now, Log: slog.New(slog.NewTextHandler(&b.log, nil))})
	for what, answer := range map[string]http.HandlerFunc{
		"503 Service Unavailable": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) },
		"too large":               func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(bytes.Repeat([]byte(" "), 2<<20)) },
		"not followed":            func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) },
		"decode":                  func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("{")) },
		"did not match": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"issuer":"https://evil.example"}`))
		},
		"begins with https": func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":"http://evil.example/"}`, b.issuer.URL)
		},
		"none of its 3 keys": func(w http.ResponseWriter, _ *http.Request) {
			private, _ := json.Marshal(jose.JSONWebKey{Key: oidctest.RSA("rsa-1").Secret, KeyID: "rsa-1"})
			public, _ := json.Marshal(jose.JSONWebKey{Key: oidctest.RSA("rsa-1").Public().Key, KeyID: "rsa-1", Use: "enc"})
			fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":%q,"keys":[{"kty":"oct","k":"c2VjcmV0","kid":"rsa-1"},%s,%s]}`, b.issuer.URL, b.issuer.URL, private, public)
		},
	} {
		b.issuer.Answer(answer)
		b.tokens = oidc.New(b.settings(), oidc.Options{Now: b.now, Log: slog.New(slog.NewTextHandler(&b.log, nil))})
		b.run()
		b.refused(what, b.issuer.Token("ann"), "can't be asked for its keys", b.issuer.URL, "log says why")
		if !strings.Contains(b.log.String(), what) {
			t.Errorf("%s: the log says\n%s", what, b.log.String())
		}
	}
	b.issuer.Answer(nil)
	b.later(time.Minute)
	if _, err := b.prove(b.issuer.Token("ann")); err != nil {
		t.Errorf("the issuer is back: %v", err)
	}
	b.issuer.Answer(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	b.later(time.Hour)
	b.refused("what only a new key can tell", oidctest.Sign(t, oidctest.EC("ec-2"), b.issuer.Claims("ann", nil)), "can't be asked")
	if _, err := b.prove(b.with(map[string]any{"exp": time.Now().Add(2 * time.Hour).Unix()})); err != nil {
		t.Errorf("a key that is known, while the issuer is down: %v", err)
	}
}

// Changed settings count for the next call. The keys are fetched again only if the issuer has
// changed.
func TestChangedSettings(t *testing.T) {
	b := newBench(t, nil)
	token := b.issuer.Token("ann")
	if _, err := b.prove(token); err != nil {
		t.Fatal(err)
	}
	asked := b.issuer.Asked()
	s := b.settings()
	s.NamePrefix = "sso-"
	b.tokens.Set(s)
	if caller, err := b.prove(token); err != nil || caller.Name != "sso-ann" || b.issuer.Asked() != asked {
		t.Errorf("with a prefix: %+v %v, the issuer was asked %d times more", caller, err, b.issuer.Asked()-asked)
	}
	s.Audience = "other"
	b.tokens.Set(s)
	b.refused("another audience", token, "expected audience")
	other := oidctest.New(t)
	b.tokens.Set(oidc.Settings{Issuer: other.URL, Audience: oidctest.Audience, CA: other.CA})
	b.refused("another issuer", token, "different provider")
	if _, err := b.prove(other.Token("ann")); err != nil {
		t.Errorf("a token of the other issuer: %v", err)
	}
	b.tokens.Set(oidc.Settings{})
	b.refused("no issuer", other.Token("ann"), "not taken any more")
}

func TestCheckNamesTheKey(t *testing.T) {
	good := oidc.Settings{Issuer: "https://login.example.com/realms/x", Audience: "hamadryad", CA: oidctest.New(t).CA}
	for _, c := range []struct {
		key    string
		change func(*oidc.Settings)
	}{
		{"", func(*oidc.Settings) {}},
		{"", func(s *oidc.Settings) { *s = oidc.Settings{}.Filled() }},
		{"issuer", func(s *oidc.Settings) { s.Issuer = "" }},
		{"issuer", func(s *oidc.Settings) { s.Issuer = "http://login.example.com" }},
		{"issuer", func(s *oidc.Settings) { s.Issuer += "?tenant=x" }},
		{"issuer", func(s *oidc.Settings) { s.Issuer = "https://me:secret@login.example.com" }},
		{"audience", func(s *oidc.Settings) { s.Audience = "" }},
		{"namePrefix", func(s *oidc.Settings) { s.NamePrefix = "a/" }},
		{"groupsPrefix", func(s *oidc.Settings) { s.GroupsPrefix = "\n" }},
		{"ca", func(s *oidc.Settings) { s.CA = "/nowhere" }},
		{"ca", func(s *oidc.Settings) { s.CA = "settings.go" }},
	} {
		s := good
		c.change(&s)
		if key, err := s.Check(); (err == nil) != (c.key == "") || err != nil && key != c.key {
			t.Errorf("%+v: %q %v, want %q", s, key, err, c.key)
		}
	}
}
