package shell

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/account"
	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/control"
	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/page"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/signature"
)

// errDenied is the error for a denied caller. The log has the reason, the answer does not.
var errDenied = errors.New("denied")

// errPool is the error for a user who signed a job for another user's pool.
var errPool = errors.New("its pool is another user's queue")

// Prove implements serve.Authenticator. Price and time are public. Every other request, and every
// job, must be signed with the key of a listed user. If the settings permit it, the manager's own
// authentication of the caller is enough.
func (s *Shell) Prove(_ context.Context, c scheduler.Credentials) (scheduler.Proof, error) {
	if err := s.ready(); err != nil {
		return scheduler.Proof{}, err
	}
	now := s.now()
	signed, err := s.read(c)
	var who scheduler.Principal
	if err == nil {
		who, err = s.prove(c, signed, now)
	}
	asked := signed.Query
	if c.Purpose == scheduler.PurposeSubmit {
		asked = "" // a submission's query is its nonce
	}
	changes := false
	if err == nil && c.Purpose == scheduler.PurposeRequest {
		changes, err = s.changes(c, asked, who)
	}
	if err == nil && c.Purpose == scheduler.PurposeSubmit && c.Pool != "" && c.Pool != who.Name {
		err = errPool
	}
	if err == nil && signed.Signature != nil {
		if err = s.once(signed, now); err != nil {
			who = scheduler.Principal{} // a replayed signature proves nothing
		}
	}
	switch {
	case errors.Is(err, errPool):
		s.logDenied(who.Name, c.Purpose, err)
		why := fmt.Sprintf("queue %q is not that of user %q: a job runs in its user's queue, so name no pool", c.Pool, who.Name)
		return scheduler.Proof{Denied: &scheduler.Answer{Status: page.Refused, Body: []byte(why)}}, nil
	case errors.Is(err, errDenied), errors.Is(err, errSeen), errors.Is(err, errNoSignature):
		s.logDenied(signed.User, c.Purpose, err)
		answer := s.denied(c, asked, who, err)
		return scheduler.Proof{Denied: &answer}, nil
	case err != nil:
		return scheduler.Proof{}, err
	}
	return scheduler.Proof{Principal: who, Query: asked, Changes: changes}, nil
}

// errNoSignature is the error for an unreadable signature.
var errNoSignature = errors.New("it has no signature that can be read")

// read extracts the signed parts of the credentials. Unsigned credentials have no signature.
func (s *Shell) read(c scheduler.Credentials) (signature.Signed, error) {
	query, body, authorization := c.Request.Query, c.Request.Body, c.Authorization
	if c.Purpose == scheduler.PurposeSubmit {
		var stamp, nonce string
		stamp, nonce, authorization = signedProperties(c.Properties)
		at, err := strconv.ParseInt(stamp, 10, 64)
		if authorization != "" && err != nil {
			return signature.Signed{User: c.Principal.Name}, errNoSignature
		}
		query, body = "", nil
		if authorization != "" {
			query = signature.Query(signature.Nonce(nonce), c.Principal.Name, time.UnixMilli(at))
		}
	}
	signed, err := signature.Read(query, body, authorization)
	switch {
	case errors.Is(err, signature.ErrUnsigned):
		return signature.Signed{Query: query}, nil
	case err != nil:
		signed.Query = cmp.Or(signed.Query, query) // for the refusal
		return signed, errNoSignature
	}
	return signed, nil
}

// signedProperties returns a job's timestamp, nonce and signature, by our property names or
// Hadoop's.
func signedProperties(properties []scheduler.Property) (stamp, nonce, authorization string) {
	for _, p := range properties {
		switch p.Name {
		case scheduler.ProofTimestamp, scheduler.ProofTimestampHadoop:
			stamp = p.Value
		case scheduler.ProofNonce:
			nonce = p.Value
		case scheduler.ProofSignature, scheduler.ProofSignatureHadoop:
			authorization = p.Value
		}
	}
	return stamp, nonce, authorization
}

// prove authenticates the signer.
func (s *Shell) prove(c scheduler.Credentials, signed signature.Signed, now time.Time) (scheduler.Principal, error) {
	if signed.Signature == nil {
		return s.unsigned(c)
	}
	set := s.set()
	u, known, err := s.keys.user(signed.User)
	if err != nil {
		return scheduler.Principal{}, err
	}
	// An unknown user must take as long as a known one.
	right := signed.By(u.key) && known
	early, late := signed.At.Before(now.Add(-set.Skew)), signed.At.After(now.Add(set.Skew))
	switch {
	case !right:
		return scheduler.Principal{}, errDenied
	case early, late:
		return scheduler.Principal{}, fmt.Errorf("%w: the signature is of %s, and it is %s here: at most %v may lie between (set the clocks, or the setting skew)",
			errDenied, signed.At.UTC().Format(time.RFC3339), now.UTC().Format(time.RFC3339), set.Skew)
	case signed.Hash == signature.SHA1 && !set.AcceptSHA1:
		return scheduler.Principal{}, fmt.Errorf("%w: signatures with SHA-1 are not accepted (sign with SHA-256, or set accept-sha1)", errDenied)
	}
	return scheduler.Principal{Name: signed.User, Proof: signed.Hash.String(), Role: u.role}, nil
}

// unsigned authenticates a caller without a signature.
func (s *Shell) unsigned(c scheduler.Credentials) (scheduler.Principal, error) {
	if c.Principal.Proof != scheduler.Unproven && s.set().AcceptProven {
		u, known, err := s.keys.user(c.Principal.Name)
		if err != nil {
			return scheduler.Principal{}, err
		}
		if !known {
			return scheduler.Principal{}, errDenied
		}
		return scheduler.Principal{Name: c.Principal.Name, Proof: c.Principal.Proof, Role: u.role}, nil
	}
	if c.Purpose == scheduler.PurposeSubmit {
		return scheduler.Principal{}, errDenied
	}
	return scheduler.Principal{Proof: scheduler.Unproven}, nil // with the rights of any user
}

// changes reports whether a request changes something. A request that the caller may not make is
// denied here, before it is logged.
func (s *Shell) changes(c scheduler.Credentials, query string, who scheduler.Principal) (bool, error) {
	if len(c.Request.Body) > 0 {
		query = strings.TrimPrefix(query+"&"+string(c.Request.Body), "&")
	}
	if query == "" {
		return false, nil // the price
	}
	r, err := control.Parse(query)
	if err != nil {
		if who.Role == "" {
			return false, errDenied
		}
		return false, nil // the page explains the error
	}
	role, _ := control.ParseRole(who.Role)
	if _, err := r.For(control.Principal{Name: who.Name, Role: role}); err != nil {
		return false, errDenied
	}
	return r.Changes(), nil
}

const (
	// tellEvery is how often the log names a denied caller. Further ones are counted.
	tellEvery = time.Second
	// toldBytesMax bounds a name in the log, in bytes.
	toldBytesMax = account.NameBytesMax
)

// logDenied logs denied callers at a limited rate, so that repeated attempts can't flood the log.
func (s *Shell) logDenied(user string, purpose scheduler.Purpose, why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := s.now(); now.Sub(s.told).Abs() >= tellEvery {
		slog.Warn("somebody is not let in", "user", user[:min(len(user), toldBytesMax)], "purpose", purpose.String(), "because", why, "others", s.untold)
		s.told, s.untold = now, 0
		return
	}
	s.untold++
}

// once accepts a signature a single time. If the site sets the document's rule, each signature of a
// user must be later than all before it, and than the start of the plug-in.
func (s *Shell) once(signed signature.Signed, now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.settings.TimestampsRise && (!signed.At.After(s.began) || !signed.At.After(s.marks.last[signed.User])) {
		return errSeen
	}
	return s.marks.accept(signed.Signature, mark{signed.At, signed.User}, now.Add(-2*s.settings.Skew))
}

// denied answers a denied caller, and names the failed check. A caller without a valid signature
// learns no more, not even whether the user exists.
func (s *Shell) denied(c scheduler.Credentials, query string, who scheduler.Principal, why error) scheduler.Answer {
	if c.Purpose == scheduler.PurposeSubmit {
		text := "sign it with a key of the user's: HAMADRYAD_KEY names the file that has it"
		switch {
		case errors.Is(why, errSeen):
			text = "its signature was used before, or a later one was: sign it again (" + why.Error() + ")"
		case errors.Is(why, errDenied) && why != errDenied: //nolint:errorlint // a reason stands around it
			text = why.Error()
		}
		return scheduler.Answer{Status: page.Refused, Body: []byte(text)}
	}
	return page.Denied(query, strings.Contains(c.Request.Accept, "application/json"), who.Role != "")
}
