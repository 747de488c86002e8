package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/engine/auth/oidc/oidctest"
)

// Users have a token of the organisation's issuer, and no certificate. With a real manager and the
// real command line, the test checks their rights, whom they may act for, and the effects of a
// changed configuration and of the issuer's end.
func TestUsersWithTokens(t *testing.T) {
	issuer := oidctest.New(t)
	s := &secured{t: t, dir: t.TempDir()}
	s.must("", "hamadryad", "ca", "init", "--cluster", "production")
	s.must("", "hamadryad", "ca", "issue", "manager/m1")
	configure := func(url, prefix string) {
		t.Helper()
		text := "auth:\n  oidc: {issuer: '" + url + "', ca: '" + issuer.CA + "', audience: " + oidctest.Audience + ", namePrefix: '" + prefix + "'}\n" +
			"  roles:\n    administrator: {groups: [ops]}\n    user: {users: [bob, gateway]}\n    viewer: {users: [sso-bob]}\n  pools:\n    research: {submit: {users: [bob]}}\n" +
			"  impersonators:\n    - {users: [gateway], for: {users: [bob]}}\n"
		file := filepath.Join(s.dir, "manager.yaml")
		writeFile(t, file+".new", text)
		if err := os.Rename(file+".new", file); err != nil {
			t.Fatal(err)
		}
	}
	configure("https://127.0.0.1:1", "")
	log := s.begin("serve", "manager", "--config", "manager.yaml", "--auth", "tls", "--certificate", "hamadryad-ca/manager/m1.pem", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--data", "manager")
	eventually(t, "the manager serves", func() bool { return serves.MatchString(log.String()) })
	s.manager = serves.FindStringSubmatch(log.String())[1]
	eventually(t, "it says that the issuer is down", func() bool { return strings.Contains(log.String(), "connection refused") })
	as := func(token string, args ...string) (string, error) {
		file := filepath.Join(s.dir, "token")
		writeFile(t, file, token+"\n")
		return s.run("", "hamadryad", append([]string{"--ca", "hamadryad-ca/ca.pem", "--bearer", file}, args...)...)
	}
	says := func(token, want string, args ...string) {
		t.Helper()
		if out, err := as(token, args...); !strings.Contains(out, want) || strings.Contains(out, token) {
			t.Errorf("%v: %v\n%s\nit is to say %q", args, err, out, want)
		}
	}
	ops, bob := issuer.Token("ann", "ops"), issuer.Token("bob")
	says(ops, "can't be asked for its keys", "jobs")
	configure(issuer.URL, "")
	eventually(t, "another issuer counts", func() bool { _, err := as(ops, "access", "bob"); return err == nil })
	says(ops, "administrator", "access", "ann", "-o", "json")
	says(bob, "research", "access")
	says(bob, "bob may not", "drain", "l1")
	says(issuer.Token("gateway"), "research", "--for", "bob", "access")
	says(issuer.Token("gateway"), "bob may not", "--for", "bob", "drain", "l1")
	says(issuer.Token("gateway"), "may not", "--for", "ann", "access")
	says(oidctest.Sign(t, oidctest.RSA("rsa-1"), issuer.Claims("ann", map[string]any{"aud": "mail"})), "expected audience", "jobs")
	says("garbage", "no JSON Web Token", "jobs")
	if out, err := s.run("", "hamadryad", "--ca", "hamadryad-ca/ca.pem", "jobs"); err == nil {
		t.Errorf("without a token: %s", out)
	}
	configure(issuer.URL, "sso-")
	eventually(t, "the prefix counts", func() bool { out, _ := as(bob, "access"); return strings.Contains(out, "sso-bob") })
	says(bob, "viewer", "access")
	audit := folder(t, filepath.Join(s.dir, "manager", "audit"))
	for _, want := range []string{`"who":"bob","proof":"oidc","address"`, `"who":"bob","proof":"oidc","by":"gateway","address"`, `"proof":"unproven"`} {
		if !strings.Contains(audit, want) {
			t.Errorf("the audit has no %s:\n%s", want, audit)
		}
	}
	if strings.Contains(audit+log.String(), strings.Split(bob, ".")[2]) {
		t.Errorf("the audit or the log has a token:\n%s", audit)
	}
}
