package client

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/internal/kerberos"
)

// cacheOf writes ann's ticket cache and returns its path.
func cacheOf(t *testing.T, life time.Duration) string {
	t.Helper()
	ticket, err := kerberos.Load("../../internal/kerberos/testdata/cache")
	if err != nil {
		t.Fatal(err)
	}
	ticket.End = time.Now().Add(life)
	path := filepath.Join(t.TempDir(), "cache")
	if err := os.WriteFile(path, ticket.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// A ticket leaves the machine only for a manager that takes it, as its own user's, and where
// nobody overhears it.
func TestWhenATicketIsSent(t *testing.T) {
	good, realm := cacheOf(t, time.Hour), []string{"HAMADRYAD.TEST"}
	for _, c := range []struct {
		what    string
		address string
		user    string // as the manager knows him
		cache   string
		realms  []string
		says    string // on says so, and auto sends nothing; "": both send it
	}{
		{"loopback", "127.0.0.1:1", "ann", good, realm, ""},
		{"localhost", "localhost:1", "ann", "FILE:" + good, realm, ""},
		{"socket", "unix:/run/hamadryad.sock", "ann", good, realm, ""},
		{"in clear", "10.0.0.1:1", "ann", good, realm, "in clear"},
		{"in clear, by name", "manager.test:1", "ann", good, realm, "in clear"},
		{"another user", "127.0.0.1:1", "bob", good, realm, "kinit as that user"},
		{"none taken", "127.0.0.1:1", "ann", good, nil, "auth.kerberos.realms"},
		{"another realm", "127.0.0.1:1", "ann", good, []string{"OTHER.TEST"}, "OTHER.TEST"},
		{"expired", "127.0.0.1:1", "ann", cacheOf(t, -time.Minute), realm, "was good until"},
		{"no cache", "127.0.0.1:1", "ann", filepath.Join(t.TempDir(), "none"), realm, "use kinit"},
		{"garbage", "127.0.0.1:1", "ann", "kerberos_test.go", realm, "no ticket cache of version 4"},
		{"no file", "127.0.0.1:1", "ann", "KCM:0", realm, "FILE:PATH"},
	} {
		for _, how := range []Kerberos{"", KerberosAuto, KerberosOn, KerberosOff} {
			t.Setenv(kerberos.CacheVariable, c.cache)
			conn, err := Dial(c.address, Options{User: "somebody", Kerberos: how})
			if err != nil {
				t.Fatal(err)
			}
			cache, err := conn.tickets(c.realms, c.user)
			conn.Close()
			if sent := len(cache) > 0; sent != (c.says == "" && how != KerberosOff) {
				t.Errorf("%s, %q: sent: %t, %v", c.what, how, sent, err)
			}
			if fails := err != nil; fails != (c.says != "" && how == KerberosOn) || fails && !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s, %q: %v", c.what, how, err)
			}
		}
	}
	t.Setenv(KerberosVariable, "off")
	t.Setenv(kerberos.CacheVariable, good)
	conn, err := Dial("127.0.0.1:1", Options{User: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if cache, err := conn.tickets(realm, "ann"); cache != nil || err != nil {
		t.Errorf("with %s=off: %d bytes, %v", KerberosVariable, len(cache), err)
	}
	if _, err := Dial("127.0.0.1:1", Options{Kerberos: "yes"}); err == nil || !strings.Contains(err.Error(), "auto, on or off") {
		t.Errorf("a value that is none: %v", err)
	}
}
