package oidc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/hamadryad/hamadryad/engine/auth"
)

// claims are a token's claims by name.
type claims map[string]json.RawMessage

// principal is the user whom a token names. Its signature, issuer and audience were checked.
func (s Settings) principal(token *oidc.IDToken, now time.Time) (caller auth.Principal, err error) {
	var said claims
	if err := token.Claims(&said); err != nil {
		return caller, errors.New("what it says is no JSON object")
	}
	if err := inTime(token, now); err != nil {
		return caller, err
	}
	name, err := s.name(said)
	if err != nil {
		return caller, err
	}
	groups, err := s.groups(said)
	if err != nil {
		return caller, err
	}
	caller = auth.Principal{Kind: auth.User, Name: name, Groups: groups, Proof: auth.OIDC, Until: token.Expiry.Add(Leeway), Issued: token.IssuedAt}
	if caller.Issued.IsZero() {
		caller.Issued = time.Unix(0, 0) // the token has no time of issue: any revocation covers it
	}
	return caller, nil
}

// inTime checks a token against the clock. A token without an expiry would be valid for ever.
func inTime(token *oidc.IDToken, now time.Time) error {
	clock := "by the manager's clock, which says " + stamp(now)
	if token.Expiry.IsZero() {
		return errors.New("it has no end (exp): have the issuer give tokens that end")
	}
	if end := token.Expiry; now.After(end.Add(Leeway)) {
		return fmt.Errorf("it ended at %s, which is past %s: get a new one, or set the clock that is wrong", stamp(end), clock)
	}
	var from struct {
		NotBefore float64 `json:"nbf"` // a NumericDate (RFC 7519, section 2)
	}
	if err := token.Claims(&from); err != nil {
		return errors.New(`its claim "nbf" is no time`)
	}
	begin := time.Unix(int64(min(from.NotBefore, year3000)), 0)
	if token.IssuedAt.After(begin) {
		begin = token.IssuedAt
	}
	if begin.After(now.Add(Leeway)) {
		return fmt.Errorf("it begins at %s (nbf or iat), which is yet to come %s: set the clock that is wrong", stamp(begin), clock)
	}
	return nil
}

// year3000 is later than any clock's time, and small enough not to wrap.
const year3000 = 32503680000

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// name is the user's name.
func (s Settings) name(said claims) (string, error) {
	var name *string
	text, ok := said[s.NameClaim]
	if err := json.Unmarshal(text, &name); !ok || err != nil || name == nil {
		return "", fmt.Errorf("its claim %q, which is to name the user (auth.oidc.nameClaim), is missing or no text: have the issuer put it into tokens, or name another claim", s.NameClaim)
	}
	// An account with an unverified address is nobody: its owner may write any address into it.
	if s.NameClaim == "email" && !bytes.Equal(bytes.TrimSpace(said["email_verified"]), []byte("true")) {
		return "", errors.New(`its claim "email" names the user (auth.oidc.nameClaim), and the issuer does not say that it verified it ("email_verified": true)`)
	}
	err := auth.CheckName(*name) // a prefix alone is no name
	if err == nil {
		err = auth.CheckName(s.NamePrefix + *name)
	}
	if err != nil {
		return "", fmt.Errorf("its claim %q gives no name of a user (auth.oidc.nameClaim): %w", s.NameClaim, err)
	}
	return s.NamePrefix + *name, nil
}

// groups are the groups that the token names, as a list of names. Names that no group can have are
// left out: no rule grants them anything.
func (s Settings) groups(said claims) ([]string, error) {
	text, ok := said[s.GroupsClaim]
	if !ok {
		return nil, nil
	}
	var names []*string
	if err := json.Unmarshal(text, &names); err != nil || slices.Contains(names, nil) {
		return nil, fmt.Errorf("its claim %q, which is to name the user's groups (auth.oidc.groupsClaim), is no list of texts: have the issuer write it so, or name another claim", s.GroupsClaim)
	}
	var groups []string
	for _, n := range names {
		if g := s.GroupsPrefix + *n; *n != "" && auth.CheckGroup(g) == nil {
			groups = append(groups, g)
		}
	}
	slices.Sort(groups)
	return slices.Compact(groups), nil
}
