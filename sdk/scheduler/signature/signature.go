// Package signature signs requests to a policy, and jobs, with a secret that caller and policy
// share (Dynamic Priority Scheduler, sections 6.3, 6.4 and 6.6):
//
//	query, authorization := signature.Sign("setSpending=0.01&queue=me", nil, "me", now, key, signature.SHA256)
//	request, _ := http.NewRequest("GET", "http://manager:8471/scheduler?"+query, nil)
//	request.Header.Set("Authorization", authorization)
//
// The signed text is the query with &user=…&timestamp=… behind it, as it is sent. A
// body adds &body= and its SHA-256 in hexadecimal, which is not sent. A job is
// an empty query. The signature is base64, percent-escaped.
package signature

import (
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // the document's: an HMAC of it is not broken
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Hash is the hash function of a signature.
type Hash uint8

// The hashes.
const (
	SHA1   Hash = iota + 1 // the document's
	SHA256                 // better
)

// String returns the name of the proof.
func (h Hash) String() string {
	if h == SHA1 {
		return "hmac-sha1"
	}
	return "hmac-sha256"
}

func (h Hash) new() func() hash.Hash {
	if h == SHA1 {
		return sha1.New
	}
	return sha256.New
}

// Query returns a query with its signer and time appended.
func Query(query, user string, at time.Time) string {
	return fmt.Sprintf("%s&user=%s&timestamp=%d", query, url.QueryEscape(user), at.UnixMilli())
}

// Nonce is the query of a submission, which has none but a nonce: two of one user in the same
// millisecond have signatures of their own. Without a nonce it is empty.
func Nonce(nonce string) string {
	if nonce == "" {
		return ""
	}
	return "nonce=" + url.QueryEscape(nonce)
}

// Sign signs a query and a body. It returns the query to send and the Authorization header.
func Sign(query string, body []byte, user string, at time.Time, key string, h Hash) (signed, authorization string) {
	signed = Query(query, user, at)
	return signed, url.QueryEscape(base64.StdEncoding.EncodeToString(mac(signed, body, key, h)))
}

func mac(signed string, body []byte, key string, h Hash) []byte {
	m := hmac.New(h.new(), []byte(key))
	m.Write([]byte(signed))
	if len(body) > 0 {
		sum := sha256.Sum256(body)
		m.Write([]byte("&body=" + hex.EncodeToString(sum[:])))
	}
	return m.Sum(nil)
}

// Signed is a request whose sender may have signed it.
type Signed struct {
	Query     string // without user and timestamp
	User      string
	At        time.Time
	Signature []byte
	Hash      Hash

	signed string
	body   []byte
}

// ErrUnsigned is for what has no signature at all.
var ErrUnsigned = errors.New("it is not signed")

// Read takes a query, a body and an Authorization header apart. It does not say whether the
// signature is right. The error says what is no signature.
func Read(query string, body []byte, authorization string) (Signed, error) {
	s := Signed{signed: query, body: body}
	if authorization == "" {
		return s, ErrUnsigned
	}
	rest, stamp, ok := cutLast(query, "&timestamp=")
	milliseconds, err := strconv.ParseInt(stamp, 10, 64)
	if !ok || err != nil || stamp != strconv.FormatInt(milliseconds, 10) {
		return s, errors.New("the query does not end with &user= and &timestamp= in milliseconds")
	}
	s.At = time.UnixMilli(milliseconds)
	asked, user, ok := cutLast(rest, "&user=")
	if !ok || strings.Contains(user, "&") {
		return s, errors.New("the query does not end with &user= and &timestamp= in milliseconds")
	}
	s.Query = asked
	if s.User, err = url.QueryUnescape(user); err != nil {
		return s, fmt.Errorf("the user: %w", err)
	}
	text, err := url.PathUnescape(authorization)
	if err != nil {
		return s, fmt.Errorf("the signature: %w", err)
	}
	if s.Signature, err = base64.StdEncoding.Strict().DecodeString(text); err != nil {
		return s, fmt.Errorf("the signature: %w", err)
	}
	switch len(s.Signature) {
	case sha1.Size:
		s.Hash = SHA1
	case sha256.Size:
		s.Hash = SHA256
	default:
		return s, fmt.Errorf("the signature has %d bytes, of an HMAC with SHA-1 there are %d, with SHA-256 %d", len(s.Signature), sha1.Size, sha256.Size)
	}
	return s, nil
}

// cutLast cuts around the last place of a separator.
func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// By says whether the signature was made with a key. It takes as long for a wrong one as for
// the right one.
func (s Signed) By(key string) bool {
	return hmac.Equal(mac(s.signed, s.body, key, s.Hash), s.Signature)
}
