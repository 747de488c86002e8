package kerberos_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/internal/hdfstest"
	"github.com/hamadryad/hamadryad/internal/kerberos"
)

// What kinit leaves is read, renewed by a real KDC, and written so that MIT's tools read it.
func TestTicketsOfARealKDC(t *testing.T) {
	kdc := hdfstest.StartKDC(t, fmt.Sprintf("127.%d.%d.%d", 1+rand.IntN(254), rand.IntN(256), 1+rand.IntN(254)))
	t.Setenv(kerberos.ConfigVariable, kdc.Conf)
	ann := "ann@" + hdfstest.Realm
	keys := kdc.Keytab(t, "ann", ann)
	conf, err := kerberos.Config()
	if err != nil {
		t.Fatal(err)
	}
	ticket, err := kerberos.Load(kdc.Tickets(t, keys, ann, "-l", "10m", "-r", "2h"))
	if err != nil || ticket.Client.String() != ann || !ticket.Renewable() || ticket.RenewTill.Sub(ticket.Start) != 2*time.Hour || ticket.End.Sub(ticket.Start) != 10*time.Minute {
		t.Fatalf("%v %+v, renewable %v from %v to %v, until %v: %v", ticket, ticket.Client, ticket.Renewable(), ticket.Start, ticket.End, ticket.RenewTill, err)
	}
	fresh, err := ticket.Renew(conf)
	if err != nil || fresh.Client.String() != ann || fresh.End.Before(ticket.End) || !fresh.Renewable() || !fresh.RenewTill.Equal(ticket.RenewTill) || bytes.Equal(fresh.Bytes(), ticket.Bytes()) {
		t.Fatalf("%v, renewable %v from %v to %v, until %v: %v", fresh, fresh.Renewable(), fresh.Start, fresh.End, fresh.RenewTill, err)
	}
	if again, err := kerberos.Parse(fresh.Bytes()); err != nil || !bytes.Equal(again.Bytes(), fresh.Bytes()) {
		t.Error(err)
	}
	if _, err := fresh.Renew(conf); err != nil {
		t.Error("one that was renewed is not renewed again:", err)
	}
	path := filepath.Join(t.TempDir(), "renewed")
	if err := os.WriteFile(path, fresh.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("klist", "-f", path).CombinedOutput(); err != nil || !strings.Contains(string(out), "principal: "+ann) || !strings.Contains(string(out), "renew until") {
		t.Errorf("klist: %v\n%s", err, out)
	}

	short, err := kerberos.Load(kdc.Tickets(t, keys, ann, "-l", "10m"))
	if err != nil || short.Renewable() {
		t.Fatal(short, err)
	}
	if same, err := short.Renew(conf); err != nil || !same.End.Equal(short.End) || same.Client.String() != ann {
		t.Errorf("one that is not renewable: %v to %v, not %v: %v", same, same.End, short.End, err)
	}

	for what, b := range map[string][]byte{
		"another's name": bytes.ReplaceAll(ticket.Bytes(), []byte("ann"), []byte("bob")),
		"another ticket": flip(ticket.Bytes(), len(ticket.Bytes())-20),
	} {
		forged, err := kerberos.Parse(b)
		if err != nil {
			t.Fatal(what, err)
		}
		if got, err := forged.Renew(conf); err == nil || !strings.Contains(err.Error(), "KDC of "+hdfstest.Realm) {
			t.Errorf("%s: %v, %v", what, got, err)
		}
	}
	if s := fmt.Sprintf("%v %+v %#v %s %x", ticket, ticket, ticket, ticket, ticket); strings.Contains(s, "key") || s != strings.TrimSuffix(strings.Repeat("ticket of "+ann+" ", 5), " ") {
		t.Errorf("printed, it is %q", s)
	}
}

func flip(b []byte, at int) []byte {
	b = bytes.Clone(b)
	b[at] ^= 1
	return b
}

// Whatever the input, Parse accepts only a whole cache with a ticket-granting ticket. What it
// accepts is written as it is read.
func FuzzParse(f *testing.F) {
	cache, err := os.ReadFile(filepath.Join("testdata", "cache"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(cache)
	f.Add(cache[:len(cache)-1])
	f.Add([]byte{})
	f.Add([]byte{5, 4, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		ticket, err := kerberos.Parse(b)
		if err != nil {
			return
		}
		own := ticket.Bytes()
		again, err := kerberos.Parse(own)
		if err != nil || !bytes.Equal(again.Bytes(), own) || len(own) > kerberos.BytesMax || again.Renewable() != ticket.Renewable() || !again.End.Equal(ticket.End) {
			t.Errorf("%x is read as %x, which is read as %x: %v", b, own, again.Bytes(), err)
		}
	})
}

// A cache that was cut off anywhere is none.
func TestACacheThatWasCutOffIsNone(t *testing.T) {
	cache, err := os.ReadFile(filepath.Join("testdata", "cache"))
	if err != nil {
		t.Fatal(err)
	}
	whole, err := kerberos.Parse(cache)
	if err != nil || whole.Client.String() != "ann@HAMADRYAD.TEST" {
		t.Fatal(whole, err)
	}
	own := whole.Bytes()
	for n := range own {
		if _, err := kerberos.Parse(own[:n]); err == nil {
			t.Errorf("%d bytes of %d are taken", n, len(own))
		}
	}
}
