package proof

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/hamadryad/hamadryad/engine/auth"
)

// Scheme proves a user by the credential that follows the scheme's name in a header. It runs for
// each call, concurrently, before anything of the caller is known: what it does and keeps for a
// stranger is bounded. It waits at most until the context ends. In Edge.Tap the context has already
// ended, since nothing may wait there. A credential that can't be checked without waiting gives
// auth.ErrLater, and the client retries. The principal is a User with a name, and with Until if the
// credential expires. The caller gets the error, which never repeats the credential.
type Scheme func(ctx context.Context, credential string) (auth.Principal, error)

const (
	headerName = "authorization"
	// CredentialBytesMax bounds the header that proves a caller.
	CredentialBytesMax = 48 << 10
	// schemeBytesMax bounds a scheme's name.
	schemeBytesMax = 32
)

// shown is the caller whom the header of a call proves, given what its connection proves.
func (e Edge) shown(ctx context.Context, headers []string, connection auth.Principal, secure bool) (auth.Principal, error) {
	switch {
	case connection.Proved():
		return unproven, fmt.Errorf("the %s of %s %s and a header \"authorization\" were shown together, and one of them alone says who asks: leave the other out", connection.Proof, connection.Kind, connection.Name)
	case !secure:
		return unproven, errors.New("a header \"authorization\" came over a connection without TLS, where others could read it: connect with TLS, and get a new token or ticket, because this one may be known")
	}
	name, credential, err := parseHeader(headers)
	if err != nil {
		return unproven, err
	}
	scheme, ok := e.Schemes[name]
	if !ok {
		return unproven, fmt.Errorf("the header \"authorization\" is of a scheme that is not taken here, which takes %s", e.names())
	}
	caller, err := scheme(ctx, credential)
	if err != nil {
		return unproven, err
	}
	if caller.Kind != auth.User || !caller.Proved() {
		return unproven, errors.New("what the header \"authorization\" shows proves no user")
	}
	return caller, nil
}

// parseHeader splits a header into the scheme's name, in lower case, and the credential, which is a
// token68 (RFC 9110, 11.2 and 11.4). Its errors repeat nothing of the header.
func parseHeader(headers []string) (scheme, credential string, err error) {
	if len(headers) != 1 {
		return "", "", fmt.Errorf("there are %d headers \"authorization\", and one alone says who asks", len(headers))
	}
	if n := len(headers[0]); n > CredentialBytesMax {
		return "", "", fmt.Errorf("the header \"authorization\" has %d bytes, at most %d are taken: have the issuer put fewer groups and claims into it", n, CredentialBytesMax)
	}
	scheme, credential, _ = strings.Cut(headers[0], " ")
	credential = strings.Trim(credential, " ")
	if scheme == "" || len(scheme) > schemeBytesMax || strings.Trim(scheme, letters+"-") != "" || !token68(credential) {
		return "", "", errors.New("the header \"authorization\" is not a scheme, a space, and a token or ticket in one piece")
	}
	return strings.ToLower(scheme), credential, nil
}

const (
	letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	// tokenBytes are the characters of a token68 before its padding.
	tokenBytes = letters + "0123456789-._~+/"
)

func token68(s string) bool {
	body := strings.TrimRight(s, "=")
	return body != "" && strings.Trim(body, tokenBytes) == ""
}

// ours reports whether a page's header is for the edge. An unreadable header is, if it begins with
// the name of one of its schemes.
func (e Edge) ours(headers []string) bool {
	return slices.ContainsFunc(headers, func(h string) bool {
		name, _, _ := strings.Cut(h, " ")
		_, ok := e.Schemes[strings.ToLower(name)]
		return ok
	})
}

// names lists the schemes for people.
func (e Edge) names() string { return strings.Join(slices.Sorted(maps.Keys(e.Schemes)), ", ") }

// orElse names the schemes that prove a user besides a certificate, for an error.
func (e Edge) orElse() string {
	if len(e.Schemes) == 0 {
		return ""
	}
	return ", or a header \"authorization\" of one of the schemes " + e.names()
}

// challenge refuses a request for a page, and names to the client what proves a user besides a
// certificate (RFC 9110, 11.6.1).
func (e Edge) challenge(w http.ResponseWriter, r *http.Request, why error) {
	tell := e.Tell
	if tell == nil {
		tell = func(w http.ResponseWriter, _ *http.Request, code int, why string) { http.Error(w, why, code) }
	}
	if errors.Is(why, auth.ErrLater) {
		tell(w, r, http.StatusServiceUnavailable, why.Error())
		return
	}
	for _, name := range slices.Sorted(maps.Keys(e.Schemes)) {
		w.Header().Add("WWW-Authenticate", strings.ToUpper(name[:1])+name[1:])
	}
	tell(w, r, http.StatusUnauthorized, why.Error())
}
