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

// errDenied is for who is not let in. The log says why, the answer does not.
var errDenied = errors.New("denied")

// errPool is for who signed a job for the pool of another.
var errPool = errors.New("its pool is another user's queue")

// Prove implements serve.Authenticator. Price and time are for everybody; whatever else is asked, and
// every job, is signed with the key of a user in the list, or comes from somebody whom the
// manager has proved already, where the settings say so.
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
			who = scheduler.Principal{} // a signature that was used proves nothing
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

// errNoSignature is for what can't be read as a signature.
var errNoSignature = errors.New("it has no signature that can be read")

// read takes apart what came. What is not signed has no signature.
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

// signedProperties are a job's timestamp, nonce and signature, in our words or Hadoop's.
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

// prove says who it is.
func (s *Shell) prove(c scheduler.Credentials, signed signature.Signed, now time.Time) (scheduler.Principal, error) {
	if signed.Signature == nil {
		return s.unsigned(c)
	}
	set := s.set()
	u, known, err := s.keys.user(signed.User)
	if err != nil {
		return scheduler.Principal{}, err
	}
	// Somebody who is not in the list takes as long as somebody who is.
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

// unsigned says who it is that signed nothing.
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
	return scheduler.Principal{Proof: scheduler.Unproven}, nil // who may ask what everybody may
}

// changes says whether a request changes something. What somebody may not ask is refused here,
// before it is logged.
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
		return false, nil // the page says what is wrong
	}
	role, _ := control.ParseRole(who.Role)
	if _, err := r.For(control.Principal{Name: who.Name, Role: role}); err != nil {
		return false, errDenied
	}
	return r.Changes(), nil
}

const (
	// tellEvery is how often the log names somebody who is not let in. Others are counted.
	tellEvery = time.Second
	// toldBytesMax bounds what is told of a name.
	toldBytesMax = account.NameBytesMax
)

// logDenied logs who is not let in, now and then: whoever knocks without end leaves the log to others.
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

// once has a signature accepted this one time. Where the site wants the document's rule, each of a
// user is made later than all before it, and than the start of the plug-in.
func (s *Shell) once(signed signature.Signed, now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.settings.TimestampsRise && (!signed.At.After(s.began) || !signed.At.After(s.marks.last[signed.User])) {
		return errSeen
	}
	return s.marks.accept(signed.Signature, mark{signed.At, signed.User}, now.Add(-2*s.settings.Skew))
}

// denied is the answer to a caller that is not let in, and names the check that failed. A caller
// without a right signature learns no more than that: neither whether there is such a user.
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
