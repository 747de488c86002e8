package site

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/engine/auth/access"
	"github.com/hamadryad/hamadryad/engine/config"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// place is a folder with a policy and a configuration that names it.
type place struct {
	t    *testing.T
	dir  string
	from config.Sources
}

func newPlace(t *testing.T) *place {
	p := &place{t: t, dir: t.TempDir()}
	p.from = config.Sources{File: filepath.Join(p.dir, "site.yaml"), CoreKeys: CoreKeys()}
	p.write(config.PolicyPrefix+"mine", "")
	return p
}

func (p *place) write(name, text string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o700); err != nil {
		p.t.Fatal(err)
	}
}

// configure writes the configuration, with a line below manager.
func (p *place) configure(line string) {
	p.t.Helper()
	p.write("site.yaml", "manager:\n  data: "+filepath.Join(p.dir, "data")+"\n  "+line+"\npolicy:\n  name: mine\n  folder: "+p.dir+"\n")
}

// accept keeps a configuration as a manager does that ran with it.
func (p *place) accept(s *Site) {
	p.t.Helper()
	if err := os.MkdirAll(s.Manager.Data, 0o700); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.Manager.Data, "configuration.accepted"), s.Plugin.Source, 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// The first start of a data folder refuses a configuration with mistakes. A later one goes
// on with what was accepted last, and tells of the mistakes.
func TestStartWithMistakes(t *testing.T) {
	p := newPlace(t)
	p.configure("lease: nonsense")
	if _, _, _, err := Start(p.from); err == nil || !strings.Contains(err.Error(), "lease") {
		t.Errorf("the first start: %v", err)
	}
	p.configure("lease: 11s")
	now, last, problem, err := Start(p.from)
	if err != nil || problem != nil || last != nil || now.Plugin.Path != filepath.Join(p.dir, config.PolicyPrefix+"mine") {
		t.Fatalf("%+v, last %v, problem %v, error %v", now, last, problem, err)
	}
	p.accept(now)
	p.configure("lease: 12s")
	now, last, problem, err = Start(p.from)
	if err != nil || problem != nil || last == nil || now.ManagerConfig().Lease.String() != "12s" {
		t.Fatalf("a right change: %+v, last %v, problem %v, error %v", now, last, problem, err)
	}
	p.configure("lease: nonsense")
	now, last, problem, err = Start(p.from)
	if err != nil || problem == nil || last != nil || now.ManagerConfig().Lease.String() != "11s" {
		t.Fatalf("a wrong change: %+v, last %v, problem %v, error %v", now, last, problem, err)
	}
	if text := problem.Error(); !strings.Contains(text, "lease") || !strings.Contains(text, "in force is what was accepted") {
		t.Errorf("%q", text)
	}
}

// A policy that is not there is told with those that are.
func TestPoliciesThatAreThereAreNamed(t *testing.T) {
	p := newPlace(t)
	if _, err := FindPolicy(config.Policy{Name: "yours", Folder: p.dir}); err == nil || !strings.HasSuffix(err.Error(), "that folder has mine") {
		t.Error(err)
	}
	if _, err := FindPolicy(config.Policy{Name: "yours", Folder: t.TempDir()}); err == nil || !strings.Contains(err.Error(), "has no policies") {
		t.Error(err)
	}
	if _, err := FindPolicy(config.Policy{Path: filepath.Join(p.dir, "nothing")}); err == nil || !strings.HasPrefix(err.Error(), "policy.path: ") {
		t.Error(err)
	}
}

// Who may do what is read with the rest of the file, which is refused as a whole for a
// mistake in it, with its line. It counts where access control is on.
func TestWhoMayDoWhatIsRead(t *testing.T) {
	if !slices.Equal(config.AccessKeys, access.Keys) {
		t.Errorf("config hands over %v, and access reads %v", config.AccessKeys, access.Keys)
	}
	p := newPlace(t)
	for _, story := range []struct{ auth, want string }{
		{"roles: {user: {users: [ann]}}", ""},
		{"mode: tls\n  certificate: m.pem\n  roles: {user: {users: [ann]}}", ""},
		{"mode: 'off'\n  roles:\n    operatr: {users: [ann]}", `site.yaml:7: auth.roles: there is no role "operatr": there are viewer, user, operator, administrator`},
		{"pools:\n    a//b: {}", `site.yaml:6: auth.pools: "a//b" is no pool`},
		{"role: {}", "site.yaml:5: there is no auth.role"},
	} {
		p.configure("lease: 11s\nauth:\n  " + story.auth)
		s, err := Load(p.from)
		if (err == nil) != (story.want == "") || err != nil && !strings.Contains(err.Error(), story.want) {
			t.Errorf("%s: %v, not %q", story.auth, err, story.want)
		}
		if err != nil {
			continue
		}
		on := strings.Contains(story.auth, "tls")
		if !s.Rules.Has(access.Caller{Name: "ann"}, access.User) || (s.CoreSettings.Access != nil) != on {
			t.Errorf("%s: %+v, for the core %+v", story.auth, s.Rules, s.CoreSettings.Access)
		}
		shown := slices.ContainsFunc(s.Shown, func(x *wire.Setting) bool {
			return x.Key == "auth.roles" && strings.Contains(x.Value, "ann") && strings.Contains(x.From, "site.yaml:")
		})
		if !shown {
			t.Errorf("%s is not shown: %v", story.auth, s.Shown)
		}
	}
}

// A text in the file's place is read as the file would be; the file itself, and what is a secret in
// a text, are not shown.
func TestReads(t *testing.T) {
	p := newPlace(t)
	p.configure("lease: nonsense")
	reads := Reads(p.from, nil, slog.Default())
	if _, err := reads(nil); err == nil || !strings.Contains(err.Error(), "site.yaml:1: nothing is set here") {
		t.Errorf("an empty text: %v", err)
	}
	for text, want := range map[string]string{
		"log: {level: info}\npolicy:\n  name: yours\n  folder: " + p.dir:                                                 `site.yaml:3: there is no policy "yours"`,
		"policy:\n  path: /nowhere/at/all":                                                                               "site.yaml:2: policy.path: the plug-in can't be looked at",
		"policy:\n  settings: {}\n  folder: /nowhere":                                                                    `site.yaml:1: there is no policy "fifo"`,
		"policy: {name: mine, folder: " + p.dir + "}\ncore:\n  jobsMax: -1\n  jobsKept: 0\n  graph: {Nodes: 5000000000}": "site.yaml:3: core.jobsMax is -1: use 1 or more",
	} {
		if _, err := reads([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := Reads(config.Sources{CoreKeys: CoreKeys()}, nil, slog.Default())([]byte("log:\n  level: loud\n")); err == nil || !strings.HasPrefix(err.Error(), "configuration:2: log.level is") {
		t.Errorf("where there is no file: %v", err)
	}
	policy := "policy: {name: mine, folder: " + p.dir + "}\n"
	if _, err := reads([]byte(policy + "manager: {lisen: x}\n")); err == nil || !strings.Contains(err.Error(), "site.yaml:2: there is no manager.lisen") {
		t.Errorf("a mistake: %v", err)
	}
	text := policy + "auth: {token: hamadryad-join-2/secret}\nmanager: {lease: 15s}\n"
	u, err := reads([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{"auth.token": hidden, "manager.lease": "15s"} {
		i := slices.IndexFunc(u.Shown, func(s *wire.Setting) bool { return s.Key == key })
		if i < 0 || u.Shown[i].Value != want || string(u.Text) != text {
			t.Errorf("%s is shown as %v", key, u.Shown[i])
		}
	}
}
