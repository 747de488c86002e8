package kerberos

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/jcmturner/gokrb5/v8/gssapi"
	"github.com/jcmturner/gokrb5/v8/iana/flags"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/spnego"
	"github.com/jcmturner/gokrb5/v8/types"

	"github.com/hamadryad/hamadryad/engine/auth"
)

// Scheme is the name of the scheme in the header "authorization", in lower case.
const Scheme = "negotiate"

const (
	// Skew is how far the clocks of a client, the KDC and this machine may be apart.
	Skew = 5 * time.Minute
	// cipherBytesMin is smaller than any encrypted part of a valid request.
	cipherBytesMin = 64
)

// ours is the first part of the service principals that are accepted. A keytab may have other
// services, which are not ours. A request for HTTP/HOST may have come in clear to another program
// of that machine; whoever read it there could replay it here.
const ours = "hamadryad"

// Options configure a verifier. Keytab and Realms are needed.
type Options struct {
	Keytab string // file with the keys of services, for its owner alone; it is read again when it changes
	Realms Realms
	Now    func() time.Time // nil: time.Now
	Log    *slog.Logger     // nil: slog.Default()
}

// Verifier proves users. Safe for concurrent use.
type Verifier struct {
	realms Realms
	now    func() time.Time
	keys   *keys
	seen   *seen
}

// New reads the keytab. The error names the file.
func New(o Options) (*Verifier, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if len(o.Realms) == 0 {
		return nil, errors.New("a keytab (auth.kerberos.keytab) proves nobody without realms whose principals are users: name them in auth.kerberos.realms")
	}
	k, err := openKeys(o.Keytab, o.Now, o.Log)
	if err != nil {
		return nil, err
	}
	return &Verifier{realms: o.Realms, now: o.Now, keys: k, seen: newSeen(o.Now())}, nil
}

// Prove is a proof.Scheme. It never waits.
func (v *Verifier) Prove(_ context.Context, credential string) (auth.Principal, error) {
	caller, err := v.prove(credential)
	if err != nil {
		return auth.Principal{}, fmt.Errorf("the Kerberos ticket proves nobody: %w", err)
	}
	return caller, nil
}

func (v *Verifier) prove(credential string) (caller auth.Principal, err error) {
	r, err := parse(credential)
	if err != nil {
		return caller, err
	}
	if err := v.open(r); err != nil {
		return caller, err
	}
	t := r.Ticket.DecryptedEncPart
	if err := v.inTime(r); err != nil {
		return caller, err
	}
	// The library compares only the name that the client claims in its authenticator.
	if !r.Authenticator.CName.Equal(t.CName) || r.Authenticator.CRealm != t.CRealm {
		return caller, errors.New("its ticket is of one principal, and what was made with it says that it is another")
	}
	name, err := User(v.realms, t.CRealm, t.CName.NameString)
	if err != nil {
		return caller, err
	}
	if err := v.seen.first(sha256.Sum256(r.EncryptedAuthenticator.Cipher), v.now()); err != nil {
		return caller, err
	}
	return auth.Principal{Kind: auth.User, Name: name, Proof: auth.Kerberos, Until: t.EndTime, Issued: t.AuthTime}, nil
}

var errToken = errors.New("it is no request for a service (a KRB_AP_REQ in a token of GSS-API or SPNEGO)")

// parse reads a stranger's input, as far as that needs no key. The library takes apart without a
// panic what parse accepts.
func parse(credential string) (*messages.APReq, error) {
	token, err := base64.StdEncoding.DecodeString(credential)
	if err != nil {
		return nil, errToken
	}
	var outer spnego.SPNEGOToken
	if outer.Unmarshal(token) == nil {
		if !outer.Init {
			return nil, errToken
		}
		token = outer.NegTokenInit.MechTokenBytes
		if m := outer.NegTokenInit.MechTypes; len(m) == 0 || !m[0].Equal(gssapi.OIDKRB5.OID()) && !m[0].Equal(gssapi.OIDMSLegacyKRB5.OID()) {
			return nil, fmt.Errorf("%w: it is of another mechanism, or gives several to choose from", errToken)
		}
	}
	var inner spnego.KRB5Token
	if err := inner.Unmarshal(token); err != nil || !inner.IsAPReq() {
		return nil, errToken
	}
	r := &inner.APReq
	if len(r.Ticket.SName.NameString) == 0 || len(r.Ticket.EncPart.Cipher) < cipherBytesMin || len(r.EncryptedAuthenticator.Cipher) < cipherBytesMin {
		return nil, errToken
	}
	return r, nil
}

// open decrypts the ticket with the service's key, and the authenticator with the ticket's key.
func (v *Verifier) open(r *messages.APReq) error {
	service := r.Ticket.SName
	if service.NameString[0] != ours {
		return errors.New("it is for another service: get one for hamadryad/HOST")
	}
	key, err := v.keys.of(service, r.Ticket)
	if err != nil {
		return err
	}
	if err := r.Ticket.Decrypt(key); err != nil {
		return errors.New("its ticket was not made with this service's key: it is forged, or the keytab and the KDC have different keys")
	}
	session := r.Ticket.DecryptedEncPart.Key
	if types.IsFlagSet(&r.Ticket.DecryptedEncPart.Flags, flags.Invalid) || session.KeyType != r.EncryptedAuthenticator.EType {
		return errors.New("its ticket is marked as invalid, or is not what it was made with")
	}
	if err := r.DecryptAuthenticator(session); err != nil || len(r.Authenticator.CName.NameString) == 0 {
		return errors.New("it was not made with its ticket's key: it is forged")
	}
	return nil
}

// inTime checks a request against the clock.
func (v *Verifier) inTime(r *messages.APReq) error {
	now, t := v.now(), r.Ticket.DecryptedEncPart
	made := r.Authenticator.CTime.Add(time.Duration(r.Authenticator.Cusec) * time.Microsecond)
	clock := "the manager's clock says " + stamp(now)
	if d := now.Sub(made); d > Skew || d < -Skew {
		return fmt.Errorf("the client's clock said %s when it made it, and %s: they may be %v apart; set the one that is wrong, with NTP", stamp(made), clock, Skew)
	}
	begin := t.StartTime
	if begin.IsZero() {
		begin = t.AuthTime
	}
	if begin.After(now.Add(Skew)) {
		return fmt.Errorf("its ticket is good from %s, and %s: set the KDC's clock or this one", stamp(begin), clock)
	}
	if !t.EndTime.After(now) {
		return fmt.Errorf("its ticket was good until %s, and %s: use kinit again", stamp(t.EndTime), clock)
	}
	return nil
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// serviceNames lists the services of a keytab for people.
func serviceNames(principals []string) string {
	if len(principals) == 0 {
		return "none"
	}
	return strings.Join(principals, ", ")
}
