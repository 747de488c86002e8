package oidc

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"
)

// Bounds of a request to an issuer and of its answers.
const (
	fetchTimeout   = 5 * time.Second // for its description and its keys together
	answerBytesMax = 1 << 20         // of each answer, and of its headers
	keysMax        = 100             // in the key set; the first ones count
	problemMax     = 300             // characters of an error text of the issuer
)

// issuer is where keys come from.
type issuer struct{ url, ca string }

// keys requests the issuer's keys, from the address in the issuer's description. The file with the
// CA is read again each time.
func (i issuer) keys(ctx context.Context) ([]jose.JSONWebKey, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	client, err := i.client()
	if err != nil {
		return nil, err
	}
	described, err := oidc.NewProvider(oidc.ClientContext(ctx, client), i.url)
	if err != nil {
		return nil, fmt.Errorf("what it says of itself: %w", err)
	}
	var at struct {
		Keys string `json:"jwks_uri"`
	}
	if err := described.Claims(&at); err != nil {
		return nil, fmt.Errorf("what it says of itself: %w", err)
	}
	if err := checkURL(at.Keys); err != nil {
		return nil, fmt.Errorf("where it says that its keys are (jwks_uri): %w", err)
	}
	text, err := get(ctx, client, at.Keys)
	if err != nil {
		return nil, fmt.Errorf("its keys: %w", err)
	}
	return parseKeys(text)
}

// client bounds each answer, and makes requests only to the configured issuer.
func (i issuer) client() (*http.Client, error) {
	pool, err := roots(i.ca)
	if err != nil {
		return nil, fmt.Errorf("auth.oidc.ca: %w", err)
	}
	return &http.Client{
		Transport: bounded{&http.Transport{
			Proxy: http.ProxyFromEnvironment, TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12},
			DisableKeepAlives: true, MaxResponseHeaderBytes: answerBytesMax,
		}},
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return errors.New("it sends elsewhere, which is not followed")
		},
	}, nil
}

// bounded ends answers that are too long with an error.
type bounded struct{ http.RoundTripper }

func (b bounded) RoundTrip(q *http.Request) (*http.Response, error) {
	a, err := b.RoundTripper.RoundTrip(q)
	if err == nil {
		a.Body = http.MaxBytesReader(nil, a.Body, answerBytesMax)
	}
	return a, err
}

func get(ctx context.Context, client *http.Client, url string) ([]byte, error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	a, err := client.Do(q)
	if err != nil {
		return nil, err
	}
	defer a.Body.Close()
	if a.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", url, a.Status)
	}
	return io.ReadAll(a.Body)
}

// parseKeys reads a set of keys (RFC 7517, section 5). Keys that sign no tokens, or of an unknown
// kind, are left out, as that section asks. So are symmetric keys, and private keys that an issuer
// publishes.
func parseKeys(text []byte) ([]jose.JSONWebKey, error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(text, &set); err != nil {
		return nil, fmt.Errorf("its keys are no JSON Web Key Set: %w", err)
	}
	var keys []jose.JSONWebKey
	for _, one := range set.Keys[:min(len(set.Keys), keysMax)] {
		var key jose.JSONWebKey
		if key.UnmarshalJSON(one) == nil && key.Valid() && key.IsPublic() && (key.Use == "" || key.Use == "sig") {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("none of its %d keys can be used: they have to be public ones, of RSA, ECDSA or Ed25519", len(set.Keys))
	}
	return keys, nil
}
