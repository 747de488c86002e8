package oidc

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/hamadryad/hamadryad/engine/auth/oidc/oidctest"
)

// said are the claims of a token. The last letter of base64 has unused bits, so one token has
// several spellings.
func said(token string) string {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return "nothing"
	}
	claims, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return err.Error()
	}
	return string(claims)
}

// FuzzToken shows arbitrary tokens: only tokens that the issuer signed are accepted, and errors do
// not repeat a refused token.
func FuzzToken(f *testing.F) {
	secret := ed25519.NewKeyFromSeed([]byte(strings.Repeat("x", ed25519.SeedSize))) // the same in each fuzzing process
	key := oidctest.Key{ID: "one", Algorithm: jose.EdDSA, Secret: secret}
	now := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	v := New(Settings{Issuer: "https://issuer.example", Audience: "hamadryad"}, Options{Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler)})
	v.current().keys.replaceKeys([]jose.JSONWebKey{key.Public()}, nil)
	claims := map[string]any{"iss": "https://issuer.example", "aud": "hamadryad", "sub": "ann", "exp": now.Add(time.Hour).Unix(), "groups": []string{"staff"}}
	good := oidctest.Sign(f, key, claims)
	claims["sub"], claims["exp"] = "bob", now.Add(-time.Hour).Unix()
	for _, token := range []string{good, oidctest.Sign(f, key, claims), oidctest.Sign(f, key, 7), "", "..", "e30.e30.e30", "eyJhbGciOiJub25lIn0.e30."} {
		f.Add(token)
	}
	atOnce, end := context.WithCancel(context.Background())
	end()
	f.Fuzz(func(t *testing.T, token string) {
		caller, err := v.Prove(atOnce, token)
		switch {
		case err == nil && (caller.Name != "ann" || said(token) != said(good)):
			t.Errorf("%q is taken for %+v", token, caller)
		case token == good && err != nil:
			t.Error(err)
		case err != nil && (len(err.Error()) > 2*problemMax+500 || len(token) > 40 && strings.Contains(err.Error(), token)):
			t.Errorf("%q: %v", token, err)
		}
	})
}
