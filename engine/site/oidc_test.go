package site

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/engine/auth/oidc"
	"github.com/hamadryad/hamadryad/internal/proctest"
)

// What says whose tokens count is read with the rest of the file, and a mistake in it names
// the key and the line.
func TestWhoseTokensCountIsRead(t *testing.T) {
	p := newPlace(t)
	const good = "issuer: https://login.example.com\n    audience: hamadryad"
	for text, want := range map[string]string{
		good: "", good + "\n    groupsPrefix: 'sso:'": "",
		"issuer: https://login.example.com":                         "site.yaml:5: auth.oidc.audience: it is empty",
		"audience: hamadryad":                                       `site.yaml:5: auth.oidc.issuer: "" is no URL`,
		"issuer: http://login.example.com\n    audience: hamadryad": `site.yaml:6: auth.oidc.issuer: "http://login.example.com" is no URL`,
		good + "\n    ca: /nowhere/ca.pem":                          "site.yaml:8: auth.oidc.ca: stat /nowhere/ca.pem",
		good + "\n    userClaim: sub":                               "site.yaml:8: there is no auth.oidc.userClaim",
	} {
		p.configure("lease: 11s\nauth:\n  oidc:\n    " + text)
		s, err := Load(p.from)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, not %q", text, err, want)
		}
		if err == nil && (s.OIDC.Issuer != "https://login.example.com" || s.OIDC.NameClaim != oidc.NameClaimDefault || s.OIDC.GroupsClaim != oidc.GroupsClaimDefault) {
			t.Errorf("%s: %+v", text, s.OIDC)
		}
		if err == nil && s.Tokens(slog.Default()) != nil {
			t.Error("tokens count where auth.mode is off")
		}
	}
}

// A manager that takes no tokens says that it has to be started again for them.
func TestTokensThatComeLater(t *testing.T) {
	p := newPlace(t)
	p.configure("lease: 11s\nauth:\n  mode: tls\n  certificate: m.pem\n  oidc: {issuer: 'https://login.example.com', audience: hamadryad}")
	s, err := Load(p.from)
	if err != nil {
		t.Fatal(err)
	}
	var log proctest.Output
	s.changeTokens(nil, slog.New(slog.NewTextHandler(&log, nil)))
	if !strings.Contains(log.String(), "started again") {
		t.Errorf("the log says %q", log.String())
	}
	if s.Tokens(slog.Default()) == nil {
		t.Error("no tokens count")
	}
}
