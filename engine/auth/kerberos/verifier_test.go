package kerberos_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jcmturner/gokrb5/v8/client"
	"github.com/jcmturner/gokrb5/v8/credentials"
	"github.com/jcmturner/gokrb5/v8/iana/etypeID"
	"github.com/jcmturner/gokrb5/v8/iana/flags"
	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/spnego"
	"github.com/jcmturner/gokrb5/v8/types"

	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/engine/auth/kerberos"
	"github.com/hamadryad/hamadryad/internal/hdfstest"
	tickets "github.com/hamadryad/hamadryad/internal/kerberos"
)

const (
	service = "hamadryad/manager.test"
	realm   = hdfstest.Realm
)

// verifier returns a verifier whose clock is wrong by off.
func verifier(t testing.TB, keytab string, off time.Duration, realms ...string) *kerberos.Verifier {
	t.Helper()
	v, err := kerberos.New(kerberos.Options{
		Keytab: keytab, Realms: realms, Now: func() time.Time { return time.Now().Add(off) }, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// refused fails the test unless a credential is refused with an error that says why.
func refused(t *testing.T, what string, v *kerberos.Verifier, credential string, says ...string) {
	t.Helper()
	caller, err := v.Prove(context.Background(), credential)
	if err == nil || caller.Proved() {
		t.Errorf("%s proves %+v", what, caller)
		return
	}
	for _, want := range append(says, "proves nobody") {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v does not say %q", what, err, want)
		}
	}
	if len(credential) > 40 && strings.Contains(err.Error(), credential[len(credential)-40:]) {
		t.Errorf("%s: the error repeats the credential", what)
	}
}

// flipped is a credential with one bit changed, at a position counted from its end.
func flipped(t *testing.T, credential string, fromEnd int) string {
	t.Helper()
	b, err := base64.StdEncoding.DecodeString(credential)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)-fromEnd] ^= 1
	return base64.StdEncoding.EncodeToString(b)
}

func TestUsersOfARealKDC(t *testing.T) {
	kdc := hdfstest.StartKDC(t, fmt.Sprintf("127.%d.%d.%d", 1+rand.IntN(254), rand.IntN(256), 1+rand.IntN(254)))
	t.Setenv(tickets.ConfigVariable, kdc.Conf)
	users := kdc.Keytab(t, "users", "ann@"+realm, "ann/admin@"+realm)
	own := kdc.Keytab(t, "own", service+"@"+realm, "HTTP/manager.test@"+realm, "nfs/manager.test@"+realm)
	others := kdc.Keytab(t, "others", "hamadryad/other.test@"+realm)
	as := func(principal, service string) string {
		t.Helper()
		t.Setenv(tickets.CacheVariable, "FILE:"+kdc.Tickets(t, users, principal))
		c, err := kerberos.NewLogin(service).Credential()
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	v := verifier(t, own, 0, realm)
	good := as("ann@"+realm, service)
	caller, err := v.Prove(t.Context(), good)
	if err != nil || caller.Kind != auth.User || caller.Name != "ann" || caller.Proof != auth.Kerberos || len(caller.Groups) > 0 || time.Until(caller.Issued) > 0 || time.Until(caller.Until) <= 0 {
		t.Fatalf("%+v, %v", caller, err)
	}
	refused(t, "one that was shown before", v, good, "shown before")
	login := kerberos.NewLogin(service)
	for range 100 { // perhaps in the same microsecond as another
		c, err := login.Credential()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := v.Prove(t.Context(), c); err != nil {
			t.Fatal("the next one of the same login:", err)
		}
	}
	refused(t, "what may have come in clear to another program of this machine", v, as("ann@"+realm, "HTTP/manager.test"), "another service")
	fresh := as("ann@"+realm, service)
	refused(t, "one whose authenticator was changed", v, flipped(t, fresh, 10), "forged")
	refused(t, "one whose ticket was changed", v, flipped(t, fresh, 400), "forged")
	refused(t, "a client's clock that is behind", verifier(t, own, time.Hour, realm), fresh, "the client's clock said", "the manager's clock says", "5m0s", "NTP")
	refused(t, "a client's clock that is ahead", verifier(t, own, -time.Hour, realm), fresh, "the client's clock said", "the manager's clock says")
	refused(t, "another realm", verifier(t, own, 0, "OTHER.TEST"), fresh, "ann@"+realm, "auth.kerberos.realms", "OTHER.TEST")
	refused(t, "another service's key", v, as("ann@"+realm, "hamadryad/other.test"), service+"@"+realm, "keytab")
	refused(t, "another service of this machine", v, as("ann@"+realm, "nfs/manager.test"), "another service")
	refused(t, "an administrator's principal", v, as("ann/admin@"+realm, service), "ann/admin@"+realm, "single part")
	if _, err := v.Prove(t.Context(), fresh); err != nil {
		t.Error("what was refused for another reason counts as shown:", err)
	}

	again := kdc.Keytab(t, "again", "hamadryad/other.test@"+realm) // the KDC has made a new key
	refused(t, "a ticket with a newer key", verifier(t, others, 0, realm), as("ann@"+realm, "hamadryad/other.test"), "keytab")
	if _, err := verifier(t, again, 0, realm).Prove(t.Context(), as("ann@"+realm, "hamadryad/other.test")); err != nil {
		t.Error(err)
	}
	t.Setenv(tickets.CacheVariable, "FILE:"+filepath.Join(t.TempDir(), "none"))
	if _, err := kerberos.NewLogin(service).Credential(); err == nil || !strings.Contains(err.Error(), "kinit") {
		t.Errorf("without a ticket: %v", err)
	}
	t.Setenv(tickets.CacheVariable, "FILE:"+kdc.Tickets(t, users, "ann@"+realm))
	if _, err := kerberos.NewLogin("hamadryad/unknown.test").Credential(); err == nil || !strings.Contains(err.Error(), "hamadryad/unknown.test") {
		t.Errorf("for a service that is not there: %v", err)
	}
}

// forge makes credentials as the service's KDC would, of any kind.
type forge struct {
	t     testing.TB
	table *keytab.Keytab
	path  string
}

func newForge(t testing.TB, principals ...string) *forge {
	t.Helper()
	f := &forge{t: t, table: keytab.New(), path: filepath.Join(t.TempDir(), "keytab")}
	for _, p := range append(principals, service) {
		if err := f.table.AddEntry(p, realm, "secret", time.Unix(1, 0), 1, etypeID.AES256_CTS_HMAC_SHA1_96); err != nil {
			t.Fatal(err)
		}
	}
	f.save()
	return f
}

func (f *forge) save() {
	f.t.Helper()
	b, err := f.table.Marshal()
	if err == nil {
		err = os.WriteFile(f.path, b, 0o600)
	}
	if err != nil {
		f.t.Fatal(err)
	}
}

// request describes a forged credential: the principal of its ticket, and the principal that the
// client claims.
type request struct {
	client, crealm string
	says, saysOf   string
	start, end     time.Duration
	invalid        bool
	spnego         bool
}

func (f *forge) credential(r request) string {
	f.t.Helper()
	must := func(err error) {
		f.t.Helper()
		if err != nil {
			f.t.Fatal(err)
		}
	}
	now := time.Now().UTC()
	set := types.NewKrbFlags()
	if r.invalid {
		types.SetFlag(&set, flags.Invalid)
	}
	sname, _ := types.ParseSPNString(service)
	ticket, key, err := messages.NewTicket(types.NewPrincipalName(1, r.client), r.crealm, sname, realm, set, f.table, etypeID.AES256_CTS_HMAC_SHA1_96, 1,
		now.Add(r.start), now.Add(r.start), now.Add(r.end), now.Add(r.end))
	must(err)
	c := &client.Client{Credentials: credentials.New(r.says, r.saysOf)}
	token, err := spnego.NewKRB5TokenAPREQ(c, ticket, key, nil, nil)
	must(err)
	b, err := token.Marshal()
	if r.spnego {
		var init spnego.NegTokenInit
		init, err = spnego.NewNegTokenInitKRB5(c, ticket, key)
		must(err)
		outer := spnego.SPNEGOToken{Init: true, NegTokenInit: init}
		b, err = outer.Marshal()
	}
	must(err)
	return base64.StdEncoding.EncodeToString(b)
}

func TestWhatNoKDCWouldSay(t *testing.T) {
	f := newForge(t)
	v := verifier(t, f.path, 0, realm)
	good := request{"ann", realm, "ann", realm, -time.Hour, time.Hour, false, false}
	for _, plain := range []bool{true, false} {
		r := good
		r.spnego = !plain
		if caller, err := v.Prove(t.Context(), f.credential(r)); err != nil || caller.Name != "ann" {
			t.Fatalf("within SPNEGO: %v: %+v, %v", r.spnego, caller, err)
		}
	}
	for what, c := range map[string]struct {
		change func(*request)
		says   string
	}{
		"of another realm":                   {func(r *request) { r.crealm, r.saysOf = "OTHER.TEST", "OTHER.TEST" }, "ann@OTHER.TEST"},
		"of another realm, who says of ours": {func(r *request) { r.crealm = "OTHER.TEST" }, "another"},
		"who says that he is another":        {func(r *request) { r.says = "root" }, "another"},
		"expired":                            {func(r *request) { r.end = -time.Second }, "kinit"},
		"yet to come":                        {func(r *request) { r.start = 30 * time.Minute }, "good from"},
		"invalid":                            {func(r *request) { r.invalid = true }, "invalid"},
		"an administrator":                   {func(r *request) { r.client, r.says = "ann/admin", "ann/admin" }, "single part"},
		"a name that is none":                {func(r *request) { r.client, r.says = "an n", "an n" }, "no user"},
	} {
		r := good
		c.change(&r)
		refused(t, what, v, f.credential(r), c.says)
	}
	other := newForge(t)
	other.table = keytab.New()
	if err := other.table.AddEntry(service, realm, "guessed", time.Unix(1, 0), 1, etypeID.AES256_CTS_HMAC_SHA1_96); err != nil {
		t.Fatal(err)
	}
	refused(t, "a ticket made with a guessed key", v, other.credential(good), "forged")
	for what, c := range map[string]string{"nothing": "", "no base64": "%%%", "garbage": "Z2FyYmFnZQ==", "NTLM": "TlRMTVNTUAABAAAAB4IIogAAAAAAAAAAAAAAAAAAAAA="} {
		refused(t, what, v, c, "no request for a service")
	}
}

// A credential is remembered for as long as it could be replayed.
func TestARequestCountsOnce(t *testing.T) {
	f, now := newForge(t), time.Now()
	v, err := kerberos.New(kerberos.Options{Keytab: f.path, Realms: []string{realm}, Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	r := request{"ann", realm, "ann", realm, -time.Hour, 10 * time.Hour, false, false}
	c := f.credential(r)
	now = now.Add(-kerberos.Skew + time.Second) // the client's clock is ahead
	if _, err := v.Prove(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		refused(t, "the same again", v, c, "shown before")
		now = now.Add(kerberos.Skew / 10)
	}
	now = now.Add(2 * time.Second)
	refused(t, "the same when it is over", v, c, "clock")
}

func TestTheKeytab(t *testing.T) {
	f, now := newForge(t), time.Now()
	v, err := kerberos.New(kerberos.Options{Keytab: f.path, Realms: []string{realm}, Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	r := request{"ann", realm, "ann", realm, -time.Hour, time.Hour, false, false}
	if err := os.WriteFile(f.path, []byte{5, 2, 0, 0}, 0o600); err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Minute)
	if _, err := v.Prove(t.Context(), f.credential(r)); err != nil {
		t.Error("a keytab that was damaged while it is in force:", err)
	}
	f.table = keytab.New()
	if err := f.table.AddEntry(service, realm, "another", time.Unix(1, 0), 1, etypeID.AES256_CTS_HMAC_SHA1_96); err != nil {
		t.Fatal(err)
	}
	f.save()
	if err := os.Chtimes(f.path, now, now); err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Minute)
	if _, err := v.Prove(t.Context(), f.credential(r)); err != nil {
		t.Error("a keytab with new keys:", err)
	}
	good, err := os.ReadFile(f.path)
	if err != nil {
		t.Fatal(err)
	}
	stranger := newForge(t)
	stranger.table = keytab.New()
	if err := stranger.table.AddEntry("nfs/manager.test", realm, "secret", time.Unix(1, 0), 1, etypeID.AES256_CTS_HMAC_SHA1_96); err != nil {
		t.Fatal(err)
	}
	stranger.save()
	for what, c := range map[string]struct {
		path string
		says string
	}{
		"missing":           {filepath.Join(t.TempDir(), "none"), "no such file"},
		"readable":          {written(t, good, 0o640), "chmod 600"},
		"cut off":           {written(t, good[:len(good)/2], 0o600), "damaged"},
		"empty":             {written(t, nil, 0o600), "damaged"},
		"a folder":          {t.TempDir(), "keytab"},
		"of other services": {stranger.path, "addprinc -randkey hamadryad/HOST"},
	} {
		_, err := kerberos.New(kerberos.Options{Keytab: c.path, Realms: []string{realm}})
		if err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), c.path) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := kerberos.New(kerberos.Options{Keytab: f.path}); err == nil || !strings.Contains(err.Error(), "auth.kerberos.realms") {
		t.Errorf("without realms: %v", err)
	}
}

func written(t *testing.T, content []byte, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "keytab")
	if err := os.WriteFile(path, content, mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	return path
}

// FuzzCredential shows arbitrary credentials: only the KDC's are accepted, and none crashes the
// process.
func FuzzCredential(f *testing.F) {
	forge := newForge(f)
	for _, within := range []bool{false, true} {
		b, err := base64.StdEncoding.DecodeString(forge.credential(request{"ann", realm, "ann", realm, -time.Hour, time.Hour, false, within}))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
		f.Add(b[:len(b)/2])
	}
	v := verifier(f, forge.path, 0, realm)
	f.Fuzz(func(t *testing.T, b []byte) {
		caller, err := v.Prove(context.Background(), base64.StdEncoding.EncodeToString(b))
		if err == nil && caller.Name != "ann" {
			t.Errorf("%x proves %+v", b, caller)
		}
	})
}
