package deploy

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/internal/proctest"
)

// waitMax bounds each wait; it is long beside what a slow machine takes.
const waitMax = 10 * time.Minute

// programs is the folder of what is released, built once, and man that of its pages.
var programs, man string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "hamadryad-deploy")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		programs, man = filepath.Join(dir, "programs"), filepath.Join(dir, "man")
		for _, cmd := range [][]string{
			{"go", "build", "-ldflags=-s -w", "-o", programs + "/", "../cmd/hamadryad", "../cmd/hamadryad-laboratory", "../cmd/hamadryad-isolate", "../cmd/hamadryad-streaming", "../plugins/..."},
			{filepath.Join(programs, "hamadryad"), "man", man},
			{filepath.Join(programs, "hamadryad-laboratory"), "man", man},
		} {
			if out, err := exec.Command(cmd[0], cmd[1:]...).CombinedOutput(); err != nil {
				fmt.Fprintf(os.Stderr, "%v: %v\n%s", cmd, err, out)
				return 1
			}
		}
		return m.Run()
	}())
}

// run runs a command to its end and returns what it printed to its standard output.
func run(t *testing.T, env []string, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), waitMax) // a test cleans up, too
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	var out, errors bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.Env = &out, &errors, append(os.Environ(), env...)
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %v: %v\n%s%s", name, args, err, out.String(), errors.String())
	}
	return strings.TrimSpace(out.String())
}

// machine runs in namespaces, with its own systemd: software installed there is not on this
// machine.
type machine struct {
	t     *testing.T
	name  string // of its host
	first int    // the process here that started it
	pid   string // of its systemd, here
}

// boot starts a machine that nobody reaches, which ends with the test.
func boot(t *testing.T) *machine {
	t.Helper()
	m := begin(t, "alone", "", func(cmd *exec.Cmd) error {
		cmd.Args = append([]string{cmd.Args[0], "--net"}, cmd.Args[1:]...)
		return cmd.Start()
	})
	m.awaitUp()
	return m
}

// begin starts a machine with a name, which ends with the test. The folder shared is its /srv/shared, "": it has none.
// The command start starts it, in a network namespace.
func begin(t *testing.T, name, shared string, start func(*exec.Cmd) error) *machine {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Fatal("a machine in namespaces takes root: run this test as root")
	}
	folder, err := os.MkdirTemp("", "machine-of-a-test") // launchers end the processes in groups whose names begin with theirs
	if err != nil {
		t.Fatal(err)
	}
	script, err := filepath.Abs("testdata/boot")
	if err != nil {
		t.Fatal(err)
	}
	log := &proctest.Output{}
	cmd := exec.Command("unshare", "--mount", "--pid", "--uts", "--ipc", "--fork", "--kill-child", script, folder, name, shared)
	cmd.Stdout, cmd.Stderr = log, log
	if err := start(cmd); err != nil {
		t.Fatalf("start a machine in namespaces: %v: it needs unshare of util-linux, and a kernel that lets root make namespaces", err)
	}
	m := &machine{t: t, name: name, first: cmd.Process.Pid}
	t.Cleanup(func() {
		if t.Failed() && m.pid != "" {
			out, _ := m.command(context.Background(), "journalctl --no-pager --lines 200").CombinedOutput()
			t.Logf("the journal of the machine %s:\n%s%s", name, out, log)
		}
		_ = cmd.Process.Kill() // and with it all that it started
		_ = cmd.Wait()
		removeGroups(t, filepath.Base(folder))
		_ = os.Remove(folder)
	})
	return m
}

// awaitUp waits until the machine's systemd has started.
func (m *machine) awaitUp() {
	m.t.Helper()
	proctest.Until(m.t, waitMax, "the machine has a first process", func() bool {
		children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", m.first))
		m.pid = strings.TrimSpace(string(children))
		return m.pid != ""
	})
	proctest.Until(m.t, waitMax, "the machine is up", func() bool {
		out, _ := m.command(m.t.Context(), "systemctl is-system-running").Output()
		state := strings.TrimSpace(string(out))
		return state == "running" || state == "degraded"
	})
}

// removeGroups removes the control groups of a machine that has ended. Its processes may take a moment to be gone.
func removeGroups(t *testing.T, name string) {
	all, _ := filepath.Glob("/sys/fs/cgroup/*/" + name)
	for _, top := range append(all, "/sys/fs/cgroup/"+name) {
		proctest.Until(t, waitMax, "its groups are removed", func() bool {
			_ = exec.Command("find", top, "-depth", "-type", "d", "-exec", "rmdir", "{}", ";").Run()
			_, err := os.Stat(top)
			return err != nil
		})
	}
}

// command is a line of a shell there.
func (m *machine) command(ctx context.Context, line string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "nsenter", "--target", m.pid, "--mount", "--pid", "--net", "--uts", "--ipc", "--root", "--wd", "bash", "-ec", line)
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND=noninteractive", "HOME=/root"}
	return cmd
}

// try runs a line there and returns all that it printed.
func (m *machine) try(line string) (string, error) {
	ctx, cancel := context.WithTimeout(m.t.Context(), waitMax)
	defer cancel()
	out, err := m.command(ctx, line).CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func (m *machine) must(line string) string {
	m.t.Helper()
	out, err := m.try(line)
	if err != nil {
		m.t.Fatalf("%s: %v\n%s", line, err, out)
	}
	return out
}

// eventually waits until a line prints a text.
func (m *machine) eventually(line, text string) string {
	m.t.Helper()
	var out string
	proctest.Until(m.t, waitMax, line+" prints "+text, func() bool {
		out, _ = m.try(line)
		return strings.Contains(out, text)
	})
	return out
}

// path is the path here of a file on that machine.
func (m *machine) path(name string) string { return filepath.Join("/proc", m.pid, "root", name) }
