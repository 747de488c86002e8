package signature_test

import (
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hamadryad/hamadryad/sdk/scheduler/signature"
)

// The document's example, in numbers that Python's hmac, base64 and urllib computed.
func TestTheDocumentsExample(t *testing.T) {
	at := time.UnixMilli(1238605061519)
	for _, c := range []struct {
		hash        signature.Hash
		query, want string
	}{
		{signature.SHA1, "setSpending=0.01&queue=myqueue", "81U6CU37eJie/iWSkKJSef%2BzsbA%3D"},
		{signature.SHA256, "setSpending=0.01&queue=myqueue", "bjQvsx0QqqamXXv3%2B%2BzIa3lqxNHwXvuZO8U/BM97fYY%3D"},
		{signature.SHA1, "", "1t/vzCqbzW%2BGdKWRLsjlZqHf2Rc%3D"},
	} {
		signed, authorization := signature.Sign(c.query, nil, "ann", at, "secret", c.hash)
		if want := c.query + "&user=ann&timestamp=1238605061519"; signed != want || strings.ReplaceAll(authorization, "%2F", "/") != c.want {
			t.Errorf("%v: %q %q", c.hash, signed, authorization)
		}
		s, err := signature.Read(signed, nil, c.want)
		if err != nil || s.User != "ann" || s.Query != c.query || !s.At.Equal(at) || s.Hash != c.hash || !s.By("secret") || s.By("other") {
			t.Errorf("%v: read as %+v, %v", c.hash, s, err)
		}
	}
}

func TestWhatIsNoSignature(t *testing.T) {
	const good = "81U6CU37eJie/iWSkKJSef%2BzsbA%3D"
	for _, c := range []struct{ query, authorization string }{
		{"price", good},
		{"price&user=ann", good},
		{"price&timestamp=1", good},
		{"price&timestamp=1&user=ann", good},
		{"price&user=ann&timestamp=", good},
		{"price&user=ann&timestamp=1x", good},
		{"price&user=ann&timestamp=+1", good},
		{"price&user=ann&timestamp=01", good},
		{"price&user=ann&timestamp=99999999999999999999", good},
		{"price&user=ann&x=1&timestamp=1", good},
		{"price&user=%zz&timestamp=1", good},
		{"price&user=ann&timestamp=1", "%"},
		{"price&user=ann&timestamp=1", "not base64"},
		{"price&user=ann&timestamp=1", "AAAA"},
	} {
		if s, err := signature.Read(c.query, nil, c.authorization); err == nil || errors.Is(err, signature.ErrUnsigned) {
			t.Errorf("%q %q is read as %+v, %v", c.query, c.authorization, s, err)
		}
	}
	if _, err := signature.Read("price", nil, ""); !errors.Is(err, signature.ErrUnsigned) {
		t.Error(err)
	}
}

// What is signed comes back, and by no other key, query or body.
func TestSignedAndRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		user, key := rapid.String().Draw(t, "user"), rapid.String().Draw(t, "key")
		query := rapid.SampledFrom([]string{"", "price", "setSpending=1&queue=" + url.QueryEscape(user), "a&user=b&timestamp=3"}).Draw(t, "query")
		body := rapid.SliceOf(rapid.Byte()).Draw(t, "body")
		at := time.UnixMilli(rapid.Int64Range(-1e15, 1e15).Draw(t, "at"))
		hash := rapid.SampledFrom([]signature.Hash{signature.SHA1, signature.SHA256}).Draw(t, "hash")
		signed, authorization := signature.Sign(query, body, user, at, key, hash)
		s, err := signature.Read(signed, body, authorization)
		if err != nil || s.Query != query || s.User != user || !s.At.Equal(at) || s.Hash != hash || !s.By(key) {
			t.Fatalf("%+v, %v", s, err)
		}
		if s.By(key + "x") {
			t.Fatal("another key signed it")
		}
		if other, err := signature.Read("x"+signed, body, authorization); err == nil && other.By(key) {
			t.Fatal("another query is signed")
		}
		if other, err := signature.Read(signed, append(body, 'x'), authorization); err == nil && other.By(key) {
			t.Fatal("another body is signed")
		}
	})
}
