package site

import (
	"bytes"
	"crypto"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/engine/auth/certs"
	"github.com/hamadryad/hamadryad/engine/auth/certs/certstest"
	"github.com/hamadryad/hamadryad/engine/auth/join"
	"github.com/hamadryad/hamadryad/engine/config"
	"github.com/hamadryad/hamadryad/internal/connlimit"
)

// A launcher joins once with each token that it is given: a new one replaces a certificate
// that was revoked, and one that was used does no harm where a certificate is.
func TestEachTokenCountsOnce(t *testing.T) {
	ca, dir := certstest.New(t), t.TempDir()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	server := &join.Server{Folder: t.TempDir(), Authority: ca.Authority, Keys: ca.Keys(auth.Manager, "m"), Log: slog.New(slog.DiscardHandler)}
	served := make(chan struct{})
	go func() { defer close(served); _ = server.Serve(l, connlimit.New(connlimit.Limits{}, server.Log)) }()
	t.Cleanup(func() { l.Close(); <-served })
	c := &config.Config{}
	c.Auth.Mode, c.Auth.Join, c.Auth.Certificate, c.Auth.Token = "tls", l.Addr().String(), filepath.Join(dir, "l1.pem"), filepath.Join(dir, "token")
	token := func() {
		t.Helper()
		made, err := join.Create(server.Folder, ca.Authority, "l1", join.Addresses{}, time.Minute, time.Now())
		if err == nil {
			err = os.WriteFile(c.Auth.Token, []byte(made.String()), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	start := func() *certs.Keys {
		t.Helper()
		keys, _, err := launcherKeys(c, logger)
		if err != nil {
			t.Fatal(err)
		}
		return keys
	}
	same := func(a, b *certs.Keys) bool {
		x, _ := a.Signer()
		y, _ := b.Signer()
		return x.Public().(interface{ Equal(crypto.PublicKey) bool }).Equal(y.Public())
	}
	token()
	first := start()
	if again := start(); !same(first, again) || strings.Contains(log.String(), "gives no new certificate") {
		t.Errorf("the same token was tried again:\n%s", &log)
	}
	token()
	second := start()
	if same(first, second) {
		t.Error("a new token gave no new certificate")
	}
	if err := os.Remove(c.Auth.Certificate + ".token"); err != nil {
		t.Fatal(err)
	}
	if third := start(); !same(second, third) || !strings.Contains(log.String(), "goes on with the one that it has") || !strings.Contains(log.String(), "it was used already") {
		t.Errorf("a token that was used stops a launcher with a certificate, or nobody is told:\n%s", &log)
	}
	if err := os.Remove(c.Auth.Token); err != nil {
		t.Fatal(err)
	}
	start()
	if err := os.Remove(c.Auth.Certificate); err != nil {
		t.Fatal(err)
	}
	if _, _, err := launcherKeys(c, logger); err == nil {
		t.Error("with neither certificate nor token it starts")
	}
}

// A token is all that a launcher is told: it says where the manager is, which name the launcher
// has, and so where its ports are to listen. What is said otherwise counts before it, and the
// same token still says it when it was used.
func TestATokenSaysWhereTheManagerIs(t *testing.T) {
	ca, dir := certstest.New(t), t.TempDir()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &join.Server{Folder: t.TempDir(), Authority: ca.Authority, Keys: ca.Keys(auth.Manager, "m"), Log: slog.New(slog.DiscardHandler)}
	served := make(chan struct{})
	go func() { defer close(served); _ = server.Serve(l, connlimit.New(connlimit.Limits{}, server.Log)) }()
	t.Cleanup(func() { l.Close(); <-served })
	token, err := join.Create(server.Folder, ca.Authority, "l1", join.Addresses{Manager: "127.0.0.1:7170", Join: l.Addr().String()}, time.Minute, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "token")
	if err := os.WriteFile(file, []byte(token.String()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	quiet := func(config.Log) *slog.Logger { return slog.New(slog.DiscardHandler) }
	for _, c := range []struct {
		token, manager, want string
	}{{token.String(), "", "127.0.0.1:7170"}, {token.String(), "", "127.0.0.1:7170"}, {file, "", "127.0.0.1:7170"}, {file, "127.0.0.1:7270", "127.0.0.1:7270"}} {
		flags := map[string]string{"auth.token": c.token, "launcher.data": dir}
		if c.manager != "" {
			flags["launcher.manager"] = c.manager
		}
		got, err := StartLauncher(config.Sources{Flags: flags, CoreKeys: CoreKeys()}, quiet)
		if err != nil || got.Manager != c.want || got.Name != "l1" || got.Bind != "127.0.0.1" || got.Keys == nil || got.Renew == nil {
			t.Errorf("%+v: %+v, %v", c, got, err)
		}
	}
	got, err := StartLauncher(config.Sources{Flags: map[string]string{"auth.token": token.String(), "launcher.data": dir}, CoreKeys: CoreKeys()}, quiet)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "configuration.accepted"), got.Source, 0o600); err != nil { // it has joined
		t.Fatal(err)
	}
	if strings.Contains(string(got.Source), token.String()) {
		t.Error("the token is kept")
	}
	// Without the token, or with its file gone, it knows its manager; also in a user's shell.
	for _, c := range []config.Sources{
		{},
		{Flags: map[string]string{"auth.token": filepath.Join(dir, "gone")}},
		{Environ: []string{"HAMADRYAD_AUTH_CERTIFICATE=/home/ann/ann.pem", "HAMADRYAD_AUTH_MODE=off"}, Manager: "other:7070"},
	} {
		if c.Flags == nil {
			c.Flags = map[string]string{}
		}
		c.Flags["launcher.data"], c.CoreKeys = dir, CoreKeys()
		again, err := StartLauncher(c, quiet)
		if err != nil || again.Manager != "127.0.0.1:7170" || again.Name != "l1" || again.Keys == nil || again.Renew == nil || again.Problem != nil {
			t.Errorf("%+v: %+v, %v", c, again, err)
		}
	}
	flags := map[string]string{"auth.token": token.String(), "launcher.data": t.TempDir(), "launcher.name": "l2"}
	if _, err := StartLauncher(config.Sources{Flags: flags}, quiet); err == nil || !strings.Contains(err.Error(), "it is a token for launcher l1, and launcher.name is l2") {
		t.Errorf("under another name: %v", err)
	}
	if got := asReached("0.0.0.0:7070"); got == "" || strings.HasPrefix(got, "0.") || asReached("127.0.0.1:0") != "" {
		t.Errorf("a manager on all interfaces is reached at %q", got)
	}
}
