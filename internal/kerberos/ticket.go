// Package kerberos reads, writes and renews ticket-granting tickets, and finds the configuration
// and the ticket cache of a process, as MIT's tools do.
//
//	path, err := kerberos.CachePath()
//	t, err := kerberos.Load(path)      // what kinit left there
//	conf, err := kerberos.Config()
//	t, err = t.Renew(conf)             // asks the KDC
//	os.WriteFile(path, t.Bytes(), 0o600)
//
// The input may come from strangers: it is bounded, and never trusted. Only the KDC's answer to
// Renew proves that a ticket is genuine, and its client.
package kerberos

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/jcmturner/gokrb5/v8/client"
	"github.com/jcmturner/gokrb5/v8/config"
	"github.com/jcmturner/gokrb5/v8/credentials"
	"github.com/jcmturner/gokrb5/v8/iana/nametype"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"
)

// TGT is a ticket-granting ticket with its session key: a process with both acts as its client. The
// zero value is no ticket.
type TGT struct {
	Client    Principal
	Start     time.Time // valid from
	End       time.Time // valid until
	RenewTill time.Time // the KDC renews it until then; zero: never
	auth      time.Time
	flags     uint32
	key       types.EncryptionKey
	ticket    []byte // in DER
}

// Principal is a name in a realm.
type Principal struct {
	Realm string
	Parts []string // ann, or ann and admin
	kind  int32
}

// String is the principal in kinit's form.
func (p Principal) String() string {
	return types.PrincipalName{NameString: p.Parts}.PrincipalNameString() + "@" + p.Realm
}

func (p Principal) equal(q Principal) bool { return p.Realm == q.Realm && p.name().Equal(q.name()) }

func (p Principal) name() types.PrincipalName {
	return types.PrincipalName{NameType: p.kind, NameString: p.Parts}
}

// The flags of a ticket that matter here, by RFC 4120, section 2: the first bit is 0.
const (
	forwardable = 1 << (31 - 1)
	renewable   = 1 << (31 - 8)
)

// Renewable reports whether a KDC may renew the ticket for longer.
func (t TGT) Renewable() bool { return t.flags&renewable != 0 && t.RenewTill.After(t.End) }

// Format prints the ticket's client and nothing of its key, with any verb.
func (t TGT) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, "ticket of "+t.Client.String()) }

// Renew asks the realm's KDC for a new ticket in its place (RFC 4120, section 3.3). The new one has
// the same lifetime again where the old one is renewable, else the same end. The KDC gives it only
// to the client of a genuine ticket, so Renew proves Client. It waits for the network, at most some
// ten seconds for each KDC that does not answer.
func (t TGT) Renew(conf *config.Config) (TGT, error) {
	c, err := t.Login(conf)
	if err != nil {
		return TGT{}, err
	}
	defer c.Destroy()
	var old messages.Ticket
	if err := old.Unmarshal(t.ticket); err != nil {
		return TGT{}, fmt.Errorf("%v is damaged: %w", t, err)
	}
	spn := types.PrincipalName{NameType: nametype.KRB_NT_SRV_INST, NameString: []string{"krbtgt", t.Client.Realm}}
	_, answer, err := c.TGSREQGenerateAndExchange(spn, t.Client.Realm, old, t.key, t.Renewable())
	if err != nil {
		return TGT{}, fmt.Errorf("the KDC of %s gives no other one for the %v: %w", t.Client.Realm, t, err)
	}
	got := answer.DecryptedEncPart
	if !got.SName.Equal(spn) || answer.CRealm != t.Client.Realm {
		return TGT{}, fmt.Errorf("the KDC of %s answers the %v with one of %v for %v", t.Client.Realm, t, answer.CName, got.SName)
	}
	ticket, err := answer.Ticket.Marshal()
	if err != nil {
		return TGT{}, fmt.Errorf("the KDC's answer to the %v: %w", t, err)
	}
	fresh := TGT{Client: t.Client, Start: got.StartTime, End: got.EndTime, RenewTill: got.RenewTill, auth: got.AuthTime, key: got.Key, ticket: ticket}
	if fresh.Start.IsZero() {
		fresh.Start = got.AuthTime
	}
	for i, b := range got.Flags.Bytes {
		if i < 4 {
			fresh.flags |= uint32(b) << (24 - 8*i)
		}
	}
	if n := len(fresh.Bytes()); n > BytesMax {
		return TGT{}, fmt.Errorf("the KDC of %s gives a %v that has %d bytes, and at most %d are taken", t.Client.Realm, fresh, n, BytesMax)
	}
	return fresh, nil
}

// Login returns a client of the KDC with this ticket, without renewing it. The client asks for no
// more than the ticket allows.
func (t TGT) Login(conf *config.Config) (*client.Client, error) {
	set := *conf
	set.LibDefaults.Forwardable = set.LibDefaults.Forwardable && t.flags&forwardable != 0
	set.LibDefaults.Proxiable, set.LibDefaults.Canonicalize, set.LibDefaults.RenewLifetime, set.LibDefaults.NoAddresses = false, false, 0, true
	var cache credentials.CCache
	if err := cache.Unmarshal(t.Bytes()); err != nil {
		return nil, err
	}
	c, err := client.NewFromCCache(&cache, &set, client.DisablePAFXFAST(true))
	if err != nil {
		return nil, fmt.Errorf("%v: %w", t, err)
	}
	if ok, err := c.IsConfigured(); !ok {
		return nil, errors.Join(fmt.Errorf("%v: no KDC of that realm is known: see KRB5_CONFIG", t), err)
	}
	return c, nil
}
