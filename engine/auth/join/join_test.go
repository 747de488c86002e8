package join

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/engine/auth/certs"
	"github.com/hamadryad/hamadryad/engine/auth/certs/certstest"
	"github.com/hamadryad/hamadryad/internal/connlimit"
	"github.com/hamadryad/hamadryad/internal/proctest"
)

// door is a manager that lets launchers join, with a test's clock.
type door struct {
	t       *testing.T
	ca      *certstest.CA
	server  *Server
	address string
	mu      sync.Mutex
	clock   time.Time
}

func newDoor(t *testing.T, ca *certstest.CA) *door {
	t.Helper()
	d := &door{t: t, ca: ca, clock: time.Now()}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d.address = l.Addr().String()
	d.server = &Server{
		Folder: t.TempDir(), Authority: ca.Authority, Keys: ca.Keys(auth.Manager, "m"), Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Now: func() time.Time { d.mu.Lock(); defer d.mu.Unlock(); return d.clock },
	}
	served := make(chan struct{})
	go func() { defer close(served); _ = d.server.Serve(l, connlimit.New(connlimit.Limits{}, d.server.Log)) }()
	t.Cleanup(func() { l.Close(); <-served })
	return d
}

func (d *door) token(launcher string) Token {
	d.t.Helper()
	t, err := Create(d.server.Folder, d.ca.Authority, launcher, Addresses{"[::1]:7070", d.address}, TTLDefault, time.Now())
	if err != nil {
		d.t.Fatal(err)
	}
	return t
}

func place(t *testing.T) certs.Files {
	return certs.Files{Certificate: filepath.Join(t.TempDir(), "certificates", "launcher.pem")}.Filled()
}

func TestATokenGivesItsLauncherACertificate(t *testing.T) {
	d := newDoor(t, certstest.New(t))
	given := d.token("l1")
	token, err := ParseToken(given.String() + "\n")
	if err != nil || token != given {
		t.Fatal(token, err)
	}
	files := place(t)
	if err := Join(t.Context(), d.address, token, files); err != nil {
		t.Fatal(err)
	}
	keys, err := certs.Open(files, certs.Options{Kinds: []auth.Kind{auth.Launcher}})
	if err != nil || keys.Identity().Name != "l1" {
		t.Fatal(err)
	}
	for path, mode := range map[string]os.FileMode{files.Key: 0o600, filepath.Dir(files.Key): 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v %v", path, info.Mode(), err)
		}
	}
	d.server.Life = 2 * LifeDefault
	before, first := mustRead(t, files.Key), keys.Ends()
	if err := Renew(t.Context(), d.address, keys, files); err != nil {
		t.Fatal(err)
	}
	again, err := certs.Open(files, certs.Options{})
	if err != nil || !again.Ends().After(first) || !keys.Ends().Equal(again.Ends()) || !bytes.Equal(before, mustRead(t, files.Key)) {
		t.Errorf("after its renewal it ends at %v, and in force is one until %v, before until %v: %v", again.Ends(), keys.Ends(), first, err)
	}
	if due := due(keys); !due.After(time.Now()) || keys.Ends().Sub(due) < LifeDefault/4 {
		t.Errorf("it is to be renewed at %v", due)
	}
	err = filepath.WalkDir(d.server.Folder, func(path string, e os.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() && bytes.Contains(mustRead(t, path), []byte(token.secret)) {
			t.Errorf("%s has the secret", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func mustRead(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestTokensThatAreRefused(t *testing.T) {
	ca := certstest.New(t)
	d := newDoor(t, ca)
	used := d.token("used")
	if err := Join(t.Context(), d.address, used, place(t)); err != nil {
		t.Fatal(err)
	}
	other := d.token("l1")
	other.Launcher = "l2"
	guessed := d.token("l3")
	guessed.secret = strings.Repeat("0", 2*secretBytes)
	escaping := d.token("l4")
	escaping.Launcher = "../open/l4"
	replaced := d.token("l5")
	d.token("l5")
	foreign := newDoor(t, certstest.New(t)).token("l6")
	for name, c := range map[string]struct {
		token Token
		want  string
	}{
		"used twice":   {used, "it was used already: make another with \"hamadryad token create --launcher used\""},
		"another name": {other, "none like it was made for launcher l2"},
		"guessed":      {guessed, "none like it was made for launcher l3"},
		"a path":       {escaping, "must begin with a letter or digit"},
		"replaced":     {replaced, "none like it was made for launcher l5"},
		"a foreign CA": {foreign, "the manager's CA is not the one of the token"},
	} {
		files := place(t)
		if err := Join(t.Context(), d.address, c.token, files); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if _, err := os.Stat(files.Certificate); err == nil {
			t.Errorf("%s: there is a certificate", name)
		}
	}
	newer := strings.Replace(d.token("l8").String(), Prefix+tokenVersion, Prefix+"3", 1)
	if _, err := ParseToken(newer); err == nil || !strings.Contains(err.Error(), `of version "3", and this program reads version 2: use the version of Hamadryad`) {
		t.Errorf("newer: %v", err)
	}
	late := d.token("l7")
	d.mu.Lock()
	d.clock = d.clock.Add(TTLDefault + time.Second)
	d.mu.Unlock()
	if err := Join(t.Context(), d.address, late, place(t)); err == nil || !strings.Contains(err.Error(), "it ended at") || !strings.Contains(err.Error(), "the manager's clock says") {
		t.Errorf("late: %v", err)
	}
}

// Of many requests with one token at once, one succeeds.
func TestATokenCountsOnce(t *testing.T) {
	d := newDoor(t, certstest.New(t))
	token := d.token("l1")
	won := make(chan error, 8)
	for range cap(won) {
		files := place(t)
		go func() { won <- Join(context.Background(), d.address, token, files) }()
	}
	n := 0
	for range cap(won) {
		if <-won == nil {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d launchers got a certificate for one token", n)
	}
}

// A certificate is renewed whenever a third of its life is left, as long as the launcher runs; a
// failed renewal is retried. The manager's clock is in the past here, so that new certificates are
// soon due again.
func TestCertificatesAreKept(t *testing.T) {
	ca := certstest.New(t)
	d := newDoor(t, ca)
	const life = 20 * time.Second
	issued := time.Now().Add(-life * 7 / 10)
	d.clock, d.server.Life = issued, life
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		if c, err := l.Accept(); err == nil { // the first is not answered
			c.Close()
		}
		_ = d.server.Serve(l, connlimit.New(connlimit.Limits{}, d.server.Log))
	}()
	files, log := ca.FilesAt(auth.Launcher, "l1", issued, life), &proctest.Output{}
	keys, err := certs.Open(files, certs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	kept := make(chan struct{})
	go func() {
		defer close(kept)
		Keep(ctx, l.Addr().String(), keys, files, slog.New(slog.NewTextHandler(log, nil)))
	}()
	proctest.Until(t, 40*time.Second, "the certificate was renewed twice", func() bool { return keys.Generation() >= 2 })
	cancel()
	<-kept
	l.Close()
	<-served
	if text := log.String(); strings.Count(text, "can't be renewed; it is tried again") != 1 {
		t.Errorf("the log says\n%s", text)
	}
}

// A launcher can renew only its own certificate.
func TestRenewalsAreForOneself(t *testing.T) {
	ca := certstest.New(t)
	d := newDoor(t, ca)
	l1 := ca.Keys(auth.Launcher, "l1")
	for name, q := range map[string]request{"another launcher": {Launcher: "l2"}, "a user's name": {Launcher: "ann"}} {
		key, _ := l1.Signer()
		if _, err := ask(t.Context(), d.address, l1.Client(auth.Manager, ""), q, key); err == nil || !strings.Contains(err.Error(), "does not renew") {
			t.Errorf("%s: %v", name, err)
		}
	}
	key, _, err := certs.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ask(t.Context(), d.address, certs.Pinned(ca.Pin()), request{Launcher: "l1"}, key); err == nil || !strings.Contains(err.Error(), "neither a token nor a certificate") {
		t.Errorf("without anything: %v", err)
	}
	if _, err := ask(t.Context(), d.address, ca.Keys(auth.User, "l1").Client(auth.Manager, ""), request{Launcher: "l1"}, key); err == nil {
		t.Error("a user renewed a launcher's certificate")
	}
}

// A launcher whose certificate was revoked can't renew it and needs a new token. A launcher that is
// revoked for ever gets no certificate.
func TestNobodyRenewsWhatIsRevoked(t *testing.T) {
	ca := certstest.New(t)
	d := newDoor(t, ca)
	stolen := ca.Files(auth.Launcher, "l1")
	keys, err := certs.Open(stolen, certs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d.server.Keys.Revoke(auth.Revoked{"launcher/l1": time.Now().Add(time.Second)})
	if err := Renew(t.Context(), d.address, keys, stolen); err == nil {
		t.Error("it was renewed")
	}
	d.server.Keys.Revoke(auth.Revoked{"launcher/l1": auth.Always})
	token := d.token("l1")
	if err := Join(t.Context(), d.address, token, place(t)); err == nil || !strings.Contains(err.Error(), "certificates of launcher l1 are revoked until 9999-12-31") {
		t.Errorf("it joined again: %v", err)
	}
	d.server.Keys.Revoke(auth.Revoked{"launcher/l1": d.clock.Add(-time.Second)}) // certificates are as exact as a second
	files := place(t)
	if err := Join(t.Context(), d.address, token, files); err != nil {
		t.Fatal(err)
	}
	if keys, err = certs.Open(files, certs.Options{}); err == nil {
		err = Renew(t.Context(), d.address, keys, files)
	}
	if err != nil {
		t.Errorf("what it got since is not renewed: %v", err)
	}
}

// Requests of strangers are bounded in time and size, and nothing of them is kept.
func TestWhatStrangersSendIsBounded(t *testing.T) {
	ca := certstest.New(t)
	d := newDoor(t, ca)
	web := &http.Client{Transport: &http.Transport{TLSClientConfig: certs.Pinned(ca.Pin()), DisableKeepAlives: true}}
	for name, body := range map[string]string{
		"too much": `{"launcher":"` + strings.Repeat("x", 2*requestBytesMax) + `"}`, "no JSON": "hello", "unknown": `{"x":1}`, "nothing": "",
		"no key": `{"launcher":"l1","secret":"x"}`,
	} {
		answer, err := web.Post("https://"+d.address, "application/json", strings.NewReader(body))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		answer.Body.Close()
		if answer.StatusCode != http.StatusBadRequest && answer.StatusCode != http.StatusForbidden {
			t.Errorf("%s: %s", name, answer.Status)
		}
	}
	for _, text := range []string{"", "x", Prefix + "/a/b/c/d/e", d.token("l1").String()[1:], d.token("l1").String() + "/..", strings.ToUpper(d.token("l1").String())} {
		if got, err := ParseToken(text); err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}
	for _, ttl := range []time.Duration{0, -1, TTLMax + 1} {
		if _, err := Create(d.server.Folder, ca.Authority, "l1", Addresses{}, ttl, time.Now()); err == nil {
			t.Errorf("a token for %v", ttl)
		}
	}
}

// Silent connections don't keep a launcher from its certificate.
func TestSilentConnectionsKeepNoLauncherOut(t *testing.T) {
	d := newDoor(t, certstest.New(t))
	for range 500 {
		c, err := net.Dial("tcp", d.address)
		if err != nil {
			continue // it was closed before it was dialled
		}
		t.Cleanup(func() { c.Close() })
	}
	began := time.Now()
	if err := Join(t.Context(), d.address, d.token("l1"), place(t)); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > requestMax/2 {
		t.Errorf("it took %v", took)
	}
}
