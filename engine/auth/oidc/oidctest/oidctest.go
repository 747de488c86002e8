// Package oidctest is an OpenID Connect issuer for tests. It is a server on loopback that describes
// itself, shows its keys, and signs whatever a test wants signed.
package oidctest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"encoding/pem"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// Audience is the audience of the tokens that Claims describes.
const Audience = "hamadryad"

// Key is a key with which an issuer signs.
type Key struct {
	ID        string
	Algorithm jose.SignatureAlgorithm
	Secret    any // what go-jose signs with
}

// Public is the public part, as an issuer publishes it.
func (k Key) Public() jose.JSONWebKey {
	return jose.JSONWebKey{Key: k.Secret.(crypto.Signer).Public(), KeyID: k.ID, Algorithm: string(k.Algorithm), Use: "sig"}
}

// Issuer is the server. Safe for concurrent use.
type Issuer struct {
	URL string
	CA  string // file with the CA's certificate for the server

	t     testing.TB
	mu    sync.Mutex
	keys  []jose.JSONWebKey
	asked int
	other http.HandlerFunc
}

// New starts an issuer with one key, RSA(""). It ends with the test.
func New(t testing.TB) *Issuer {
	t.Helper()
	i := &Issuer{t: t}
	server := httptest.NewTLSServer(i)
	t.Cleanup(server.Close)
	i.URL, i.CA = server.URL, filepath.Join(t.TempDir(), "issuer-ca.pem")
	if err := os.WriteFile(i.CA, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	i.Show(RSA("rsa-1"))
	return i
}

// ServeHTTP implements http.Handler.
func (i *Issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	keys, other := i.keys, i.other
	i.asked++
	i.mu.Unlock()
	switch {
	case other != nil:
		other(w, r)
	case r.URL.Path == "/.well-known/openid-configuration":
		i.answer(w, map[string]any{"issuer": i.URL, "jwks_uri": i.URL + "/keys"})
	case r.URL.Path == "/keys":
		i.answer(w, jose.JSONWebKeySet{Keys: keys})
	default:
		http.NotFound(w, r)
	}
}

func (i *Issuer) answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(v); err != nil {
		i.t.Error(err)
	}
}

// Show makes the issuer publish these keys from now on, and no others.
func (i *Issuer) Show(keys ...Key) {
	var public []jose.JSONWebKey
	for _, k := range keys {
		public = append(public, k.Public())
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.keys = public
}

// Answer makes a handler answer in place of the issuer; nil: the issuer answers.
func (i *Issuer) Answer(h http.HandlerFunc) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.other = h
}

// Asked is the number of requests.
func (i *Issuer) Asked() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.asked
}

// Claims are the claims of a valid token for a user. others replaces some of them; nil removes one.
func (i *Issuer) Claims(user string, others map[string]any) map[string]any {
	now := time.Now()
	all := map[string]any{"iss": i.URL, "aud": Audience, "sub": user, "iat": now.Unix(), "exp": now.Add(time.Hour).Unix()}
	maps.Copy(all, others)
	maps.DeleteFunc(all, func(_ string, v any) bool { return v == nil })
	return all
}

// Token is a valid token for a user in groups, signed by the key of New.
func (i *Issuer) Token(user string, groups ...string) string {
	return Sign(i.t, RSA("rsa-1"), i.Claims(user, map[string]any{"groups": append([]string{}, groups...)}))
}

// Sign makes a token with any claims.
func Sign(t testing.TB, key Key, claims any) string {
	t.Helper()
	o := &jose.SignerOptions{}
	if key.ID != "" {
		o = o.WithHeader("kid", key.ID)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: key.Algorithm, Key: key.Secret}, o.WithType("JWT"))
	if err != nil {
		t.Fatal(err)
	}
	said, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := signer.Sign(said)
	if err != nil {
		t.Fatal(err)
	}
	text, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

var (
	secrets   = map[string]Key{}
	secretsMu sync.Mutex
)

// RSA and EC make keys, one for each id. They are kept, since making one takes long.
func RSA(id string) Key {
	return kept("RSA "+id, func() Key {
		secret, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			panic(err) // of the machine
		}
		return Key{id, jose.RS256, secret}
	})
}

// EC is as RSA, for ECDSA on P-256.
func EC(id string) Key {
	return kept("EC "+id, func() Key {
		secret, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			panic(err) // of the machine
		}
		return Key{id, jose.ES256, secret}
	})
}

func kept(name string, generate func() Key) Key {
	secretsMu.Lock()
	defer secretsMu.Unlock()
	if _, ok := secrets[name]; !ok {
		secrets[name] = generate()
	}
	return secrets[name]
}
