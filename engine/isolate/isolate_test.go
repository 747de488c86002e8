package isolate_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/hamadryad/hamadryad/engine/isolate"
	"github.com/hamadryad/hamadryad/engine/isolate/sandboxinit"
)

// modeVariable makes the test binary another program.
const modeVariable = "HAMADRYAD_TEST_ISOLATE"

// groupsVariable makes the test binary print the groups of workers of daemon. It names the file to
// use as /etc/group.
const groupsVariable = "HAMADRYAD_TEST_GROUPS"

// groupsWith are the groups of workers of daemon without a list, and with one.
func groupsWith(file string) (none, listed []int, err error) {
	err = errors.Join(syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""), syscall.Mount(file, "/etc/group", "", syscall.MS_BIND, ""))
	if err != nil {
		return nil, nil, err
	}
	for _, list := range [][]string{nil, {"mail", "games"}} {
		s := isolate.Settings{User: isolate.Submitter, LeastUID: 1, Groups: list}
		g, err := isolate.Open(s, []string{os.Args[0], "isolate"})
		if err != nil {
			return nil, nil, err
		}
		who, err := g.Find("daemon")
		if err != nil {
			return nil, nil, err
		}
		none, listed = listed, g.Order(who).Groups
	}
	return none, listed, nil
}

// A worker is in the listed ones of its user's groups, and in no others: not in a group that is as
// good as root.
func TestGroups(t *testing.T) {
	needRoot(t)
	group := t.TempDir() + "/group"
	lines := "root:x:0:daemon\ndaemon:x:1:\ndisk:x:6:daemon\nmail:x:8:daemon\ngames:x:60:\n"
	if err := os.WriteFile(group, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Path, cmd.Args = os.Args[0], os.Args[:1]
	cmd.Env = []string{groupsVariable + "=" + group}
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if said, err := cmd.CombinedOutput(); err != nil || strings.TrimSpace(string(said)) != "[] [8] <nil>" {
		t.Errorf("it says %s (%v)", said, err)
	}
}

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "isolate" {
		sandboxinit.Main(os.Args[2:])
	}
	if file := os.Getenv(groupsVariable); file != "" {
		fmt.Println(groupsWith(file))
		return
	}
	if os.Getenv(modeVariable) != "" {
		_, err := isolate.Open(isolate.Settings{User: isolate.Submitter}, []string{os.Args[0], "isolate"})
		fmt.Println(err)
		return
	}
	os.Exit(m.Run())
}

// Settings that make no sense are refused; the error names the key and the remedy.
func TestCheck(t *testing.T) {
	for want, s := range map[string]isolate.Settings{
		`user: "root": use none or submitter`:    {User: "root"},
		"leastUID: -1: use 1 or more":            {User: isolate.Submitter, LeastUID: -1},
		"temporary: 5 bytes: use at least":       {TemporaryBytes: 5},
		"processes: 1: use at least 64":          {Processes: 1},
		"openFiles: 2: use at least 64":          {OpenFiles: 2},
		`"a" is on both lists`:                   {User: isolate.Submitter, Allow: []string{"a", "b"}, Deny: []string{"a"}},
		"set launcher.isolation.user to submitt": {Deny: []string{"a"}},
	} {
		if err := s.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", s, err)
		}
	}
	for _, s := range []isolate.Settings{{}, {User: isolate.None}, {User: isolate.Submitter, LeastUID: 1, Allow: []string{"a"}, Deny: []string{"b"}}} {
		if err := s.Check(); err != nil {
			t.Errorf("%+v: %v", s, err)
		}
	}
}

// needRoot skips a test that needs root.
func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Fatal("this test starts processes as others, so it needs root")
	}
}

// Only root can start workers as other users, and a launcher without root reports that at its
// start.
func TestWithoutRoot(t *testing.T) {
	needRoot(t)
	if g, err := isolate.Open(isolate.Settings{}, nil); g != nil || err != nil {
		t.Errorf("without isolation: %v, %v", g, err)
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = []string{modeVariable + "=1"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	said, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(said), "this launcher runs as user 65534: only root can start workers as others") {
		t.Errorf("it says %s (%v)", said, err)
	}
}

// A launcher does not start if it can't do what its settings say: with lists of users who don't
// exist or may not run anyway, or with a sandboxinit that others can change.
func TestOpen(t *testing.T) {
	needRoot(t)
	on := func(change func(*isolate.Settings)) isolate.Settings {
		s := isolate.Settings{User: isolate.Submitter, LeastUID: 3}
		change(&s)
		return s
	}
	own := []string{os.Args[0], "isolate"}
	writable := t.TempDir() + "/step"
	if err := errors.Join(os.WriteFile(writable, nil, 0o600), os.Chmod(writable, 0o777)); err != nil { //nolint:gosec // that this is refused is tested
		t.Fatal(err)
	}
	for want, c := range map[string]struct {
		s       isolate.Settings
		program []string
	}{
		`launcher.isolation.deny: user "no-such-user"`: {on(func(s *isolate.Settings) { s.Deny = []string{"no-such-user"} }), own},
		`launcher.isolation.groups: group "no-such"`:   {on(func(s *isolate.Settings) { s.Groups = []string{"no-such"} }), own},
		`group "root" is root's`:                       {on(func(s *isolate.Settings) { s.Groups = []string{"root"} }), own},
		"launcher.isolation.leastUID is 3":             {on(func(s *isolate.Settings) { s.Allow = []string{"daemon"} }), own},
		"is to lie beside hamadryad":                   {on(func(*isolate.Settings) {}), []string{"/nothing/there"}},
		"chmod go-w":                                   {on(func(*isolate.Settings) {}), []string{writable}},
		"the step before a worker":                     {on(func(*isolate.Settings) {}), []string{"/bin/false"}},
	} {
		if _, err := isolate.Open(c.s, c.program); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q: %v", want, err)
		}
	}
	g, err := isolate.Open(on(func(s *isolate.Settings) { s.Allow = []string{"games"} }), own)
	if err != nil {
		t.Fatal(err)
	}
	if who, err := g.Find("games"); err != nil || who.UID != 5 || len(who.Groups) != 0 {
		t.Errorf("%+v, %v", who, err)
	}
	if _, err := g.Find("nobody"); !errors.Is(err, isolate.ErrRefused) || !strings.Contains(err.Error(), "not in launcher.isolation.allow") {
		t.Error(err)
	}
}
