package window

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/cmd/internal/processes"
	"github.com/hamadryad/hamadryad/internal/proctest"
)

// binaries is the folder of the programs under test, built once.
var binaries string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "hamadryad-window")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		binaries = dir
		build := exec.Command("go", "build", "-o", dir+"/", "../hamadryad", "../hamadryad-isolate", "../../plugins/...", "../../examples/noop", "./testdata/load")
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "building the programs: %v\n%s", err, out)
			return 1
		}
		return m.Run()
	}())
}

const (
	// waitMax bounds each wait, on a machine that is slow and busy.
	waitMax = time.Minute
	endMax  = 20 * time.Second
)

// site is a manager and launchers as processes, with files of its own.
type site struct {
	t       testing.TB
	folder  string
	address string // of the manager
	web     string // where its pages are
	manager *processes.Process
}

// start starts a manager whose policy is set by lines of YAML, and launchers with slots each.
func start(t testing.TB, policy string, launchers, slots int) *site {
	t.Helper()
	address, http := freeAddress(t), freeAddress(t)
	s := &site{t: t, folder: t.TempDir(), address: address, web: "http://" + http + "/"}
	s.write("site.yaml", "manager:\n  listen: "+address+"\n  http: "+http+"\n  data: manager\npolicy:\n"+policy)
	s.manager = s.begin("manager", "serve", "manager", "--config", "site.yaml")
	for i := range launchers {
		name := fmt.Sprint("node-", i+1)
		s.begin(name, "serve", "launcher", "--manager", address, "--name", name, "--slots", fmt.Sprint(slots), "--memory", "4GiB", "--data", s.path(name), "--bind", "127.0.0.1")
	}
	proctest.Until(t, waitMax, "policy and launchers are there", func() bool {
		policy, err := s.command("policy", "-o", "json")
		there, errThere := s.command("launchers", "-o", "json")
		return errors.Join(err, errThere) == nil && strings.Contains(policy, `"state": "running"`) && strings.Count(there, `"up"`) == launchers
	})
	return s
}

func freeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func (s *site) path(name string) string { return filepath.Join(s.folder, name) }

func (s *site) write(name, text string) {
	s.t.Helper()
	if err := os.WriteFile(s.path(name), []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) read(name string) string {
	s.t.Helper()
	text, err := os.ReadFile(s.path(name))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}

// begin starts a program of ours, which ends with the test.
func (s *site) begin(name string, args ...string) *processes.Process {
	s.t.Helper()
	return s.run(name, exec.Command(filepath.Join(binaries, "hamadryad"), args...))
}

func (s *site) run(name string, cmd *exec.Cmd) *processes.Process {
	s.t.Helper()
	cmd.Dir, cmd.Env = s.folder, append(os.Environ(), "HAMADRYAD_MANAGER="+s.address)
	p, err := processes.Start(name, cmd)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if err := p.Stop(syscall.SIGTERM, endMax); err != nil {
			s.t.Error(err)
		}
		if s.t.Failed() {
			text := p.Log.String()
			s.t.Logf("---- %s\n%s", name, text[max(0, len(text)-4000):])
		}
	})
	return p
}

// submit runs the load program: tasks of two stages, how long each takes, and how.
func (s *site) submit(user, pool, name string, maps, reduces, milliseconds int, how string) *processes.Process {
	s.t.Helper()
	return s.run(name, exec.Command(filepath.Join(binaries, "load"), "--quiet", "--user", user, "--pool", pool, "--name", name,
		fmt.Sprint(maps), fmt.Sprint(reduces), fmt.Sprint(milliseconds), how))
}

// command runs the command line and returns what it prints.
func (s *site) command(args ...string) (string, error) {
	cmd := exec.Command(filepath.Join(binaries, "hamadryad"), args...)
	cmd.Env = append(os.Environ(), "HAMADRYAD_MANAGER="+s.address)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// says waits until a command prints all of some texts.
func (s *site) says(texts []string, args ...string) {
	s.t.Helper()
	var last string
	defer func() {
		if s.t.Failed() {
			s.t.Logf("%v printed:\n%s", args, last)
		}
	}()
	proctest.Until(s.t, waitMax, fmt.Sprintf("%v prints %q", args, texts), func() bool {
		var err error
		last, err = s.command(args...)
		for _, text := range texts {
			if !strings.Contains(last, text) {
				return false
			}
		}
		return err == nil
	})
}
