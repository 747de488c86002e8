package client

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/engine/auth/certs"
)

const twoContexts = `version: 1
current: production
clusters:
  production: {manager: "10.0.0.1:7070", ca: ca.pem}
  trial: {manager: "127.0.0.1:7171"}
users:
  ann: {certificate: ann.pem}
contexts:
  production: {cluster: production, user: ann}
  trial: {cluster: trial}
`

// userFile writes the user's file of contexts, and clears the environment's settings.
func userFile(t *testing.T, text string) (folder string) {
	t.Helper()
	home := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", home)
	for _, v := range []string{AddressVariable, CertificateVariable, keyVariable, caVariable, BearerVariable, ServiceVariable, ModeVariable} {
		t.Setenv(v, "")
	}
	file, err := ContextsFile()
	if err == nil {
		err = os.MkdirAll(filepath.Dir(file), 0o700)
	}
	if err == nil {
		err = os.WriteFile(file, []byte(text), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Dir(file)
}

// The current context gives the manager's address and the credentials. The environment's manager,
// and a call's options, come first.
func TestTheCurrentContext(t *testing.T) {
	folder := userFile(t, twoContexts)
	own := certs.Files{CA: folder + "/ca.pem", Certificate: folder + "/ann.pem"}
	filled := func(address string, o Options) Options {
		t.Helper()
		target, err := ContextTarget("")
		if err != nil {
			t.Fatal(err)
		}
		target.Fill(address, &o)
		return o
	}
	if got := DefaultAddress(); got != "10.0.0.1:7070" {
		t.Errorf("the manager is %s", got)
	}
	if got := filled("10.0.0.1:7070", Options{}); got.Auth != own {
		t.Errorf("shown is %+v", got.Auth)
	}
	if got := filled("10.0.0.1:7070", Options{Bearer: "/token"}); got.Bearer != "/token" || got.Auth != (certs.Files{CA: own.CA}) {
		t.Errorf("with a token: %+v", got)
	}
	if got := filled("10.0.0.2:7070", Options{}); got.Auth != (certs.Files{}) {
		t.Errorf("another manager is shown %+v", got.Auth)
	}
	t.Setenv(CertificateVariable, "/other.pem")
	if got := filled("10.0.0.1:7070", Options{}); got.Auth != (certs.Files{CA: own.CA, Certificate: "/other.pem"}) {
		t.Errorf("with the environment's certificate: %+v", got.Auth)
	}
	t.Setenv(AddressVariable, "10.0.0.1:7070")
	if got := filled("10.0.0.1:7070", Options{}); got.Auth != (certs.Files{}) || DefaultAddress() != "10.0.0.1:7070" {
		t.Errorf("with the environment's manager: %+v", got.Auth)
	}
}

// Contexts are named, used and added. A mistake is reported with its file, and a newer file is left
// to a newer program.
func TestContexts(t *testing.T) {
	folder := userFile(t, twoContexts)
	file := filepath.Join(folder, "config.yaml")
	c, err := ReadContexts(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Use("trail"); err == nil || !strings.Contains(err.Error(), "did you mean trial?") {
		t.Error(err)
	}
	if err := c.Use("trial"); err != nil {
		t.Error(err)
	}
	if err := c.Add("new", ContextCluster{Manager: "m:1"}, ContextUser{Service: "hamadryad/m"}); err != nil || c.Current != "trial" {
		t.Errorf("current is %s, %v", c.Current, err)
	}
	text, err := c.Text()
	if err != nil {
		t.Fatal(err)
	}
	again := &Contexts{file: file}
	if err := again.parse(text); err != nil || strings.Join(again.Names(), " ") != "new production trial" {
		t.Errorf("%v, %v", again, err)
	}
	if got, err := again.Target("new"); err != nil || *got != (Target{Manager: "m:1", Service: "hamadryad/m"}) {
		t.Errorf("%+v, %v", got, err)
	}
	unknownUser := strings.Replace(twoContexts, "user: ann}", "user: anne}", 1)
	for text, want := range map[string]string{
		"version: 2\nteams: {}\n":                         "they have version 2, and this program reads 1: use the version of Hamadryad that wrote them, or a newer one",
		"version: 1\ncurent: x\n":                         "line 2",
		"version: 1\ncurrent: x\n":                        "there is no context \"x\", and no other",
		"version: 1\nclusters: {a: {manager: nowhere}}\n": "cluster a: \"nowhere\" is no address",
		"version: 1\ncontexts: {a: {cluster: b}}\n":       "context a: there is no cluster \"b\"",
		unknownUser:    "there is no user \"anne\"; did you mean ann?",
		"current: x\n": "there is no context",
	} {
		userFile(t, text)
		if _, err := Dial("127.0.0.1:1", Options{}); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "config.yaml") {
			t.Errorf("%q: %v, want one with %q", text, err, want)
		}
	}
	if none, err := ReadContexts(filepath.Join(folder, "none")); err != nil || len(none.Names()) != 0 {
		t.Errorf("%v, %v", none, err)
	}
}
