package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/cmd/internal/processes"
	"github.com/hamadryad/hamadryad/internal/proctest"
)

// waitMax bounds every wait of these tests, on a machine that is slow and busy.
const waitMax = 3 * time.Minute

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	proctest.Until(t, waitMax, what, holds)
}

// localRun is one run of "hamadryad local" with its processes.
type localRun struct {
	t    *testing.T
	dir  string
	gate string // of the job steady
	cmd  *exec.Cmd
	out  *proctest.Output
	done chan error
}

// startLocal starts a local cluster with the job steady of so many tasks, of which
// half wait until finish is called.
func startLocal(t *testing.T, tasks int, flags ...string) *localRun {
	t.Helper()
	dir := t.TempDir()
	r := &localRun{t: t, dir: dir, gate: filepath.Join(dir, "gate"), out: &proctest.Output{}, done: make(chan error, 1)}
	args := append([]string{"local", "--data", filepath.Join(r.dir, "c")}, flags...)
	args = append(args, "--", filepath.Join(binaries, "steady"), strconv.Itoa(tasks), r.gate)
	r.cmd = exec.Command(filepath.Join(binaries, "hamadryad"), args...)
	r.cmd.Stdout, r.cmd.Stderr = r.out, r.out
	r.cmd.WaitDelay = time.Second
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { r.done <- r.cmd.Wait() }()
	t.Cleanup(func() {
		_ = r.cmd.Process.Kill()
		if t.Failed() {
			t.Logf("it printed:\n%s\nthe manager logged:\n%s", r.out, r.managerLog())
		}
		eventually(t, "nothing of the cluster is left", func() bool { return len(r.processes("")) == 0 })
	})
	return r
}

// finish lets the job go on to its end, which must be a good one.
func (r *localRun) finish(tasks int) {
	r.t.Helper()
	if err := os.WriteFile(r.gate, nil, 0o600); err != nil {
		r.t.Fatal(err)
	}
	if err := r.wait(); err != nil || !strings.Contains(r.out.String(), fmt.Sprintf("steady %d/%d", tasks, tasks)) {
		r.t.Fatalf("not all tasks are done: %v", err)
	}
}

func (r *localRun) managerLog() string {
	b, _ := os.ReadFile(filepath.Join(r.dir, "c", "manager.log"))
	return string(b)
}

// processes lists the cluster's processes whose command line contains a text.
func (r *localRun) processes(text string) []int {
	entries, _ := os.ReadDir("/proc")
	var pids []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		environ, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		command := strings.ReplaceAll(string(line), "\x00", " ")
		if strings.Contains(command+string(environ), r.dir) && strings.Contains(command, text) {
			pids = append(pids, pid)
		}
	}
	return pids
}

func (r *localRun) wait() error {
	r.t.Helper()
	select {
	case err := <-r.done:
		return err
	case <-time.After(waitMax):
		r.t.Fatal("it does not end")
		return nil
	}
}

// pluginOf finds the policy's process below the cluster's manager.
func (r *localRun) pluginOf() []int {
	managers := r.processes("hamadryad serve manager")
	if len(managers) != 1 {
		return nil
	}
	return processes.Below(managers[0])
}

// Whatever part is killed in mid-job, the job ends with the same result.
func TestPartsAreKilledInMidJob(t *testing.T) {
	for _, part := range []struct {
		name string
		find func(r *localRun) []int
	}{
		{"manager", func(r *localRun) []int { return r.processes("hamadryad serve manager") }},
		{"launcher", func(r *localRun) []int { return r.processes("--name launcher-2") }},
		{"worker", func(r *localRun) []int { return r.processes("/c/cache/") }},
		{"policy", (*localRun).pluginOf},
	} {
		t.Run(part.name, func(t *testing.T) {
			t.Parallel()
			const tasks = 2000
			r := startLocal(t, tasks, "--launchers", "2", "--slots", "2")
			eventually(t, "the job is under way", func() bool { return progressOf(r) > 100 })
			var victims []int
			eventually(t, "the "+part.name+" is found", func() bool { victims = part.find(r); return len(victims) > 0 })
			if err := syscall.Kill(victims[0], syscall.SIGKILL); err != nil && err != syscall.ESRCH {
				t.Fatal(err)
			}
			r.finish(tasks)
		})
	}
}

// progressOf is the last count of finished tasks that the program printed.
func progressOf(r *localRun) int {
	out := r.out.String()
	const before = "steady: steady "
	i := strings.LastIndex(out, before)
	if i < 0 {
		return 0
	}
	number, _, _ := strings.Cut(out[i+len(before):], "/")
	n, _ := strconv.Atoi(number)
	return n
}

func TestKilledLocalLeavesNothing(t *testing.T) {
	r := startLocal(t, 100, "--launchers", "2", "--slots", "1")
	eventually(t, "a worker runs", func() bool { return len(r.processes("/cache/")) > 0 && progressOf(r) > 0 })
	if err := r.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = r.wait()
	eventually(t, "nothing is left", func() bool { return len(r.processes("")) == 0 })
}

func TestInterruptEndsTheJobAndTheCluster(t *testing.T) {
	r := startLocal(t, 100, "--launchers", "1", "--slots", "1")
	eventually(t, "the job is under way", func() bool { return progressOf(r) > 0 })
	if err := syscall.Kill(-r.cmd.Process.Pid, syscall.SIGINT); err != nil { // as a terminal does
		t.Fatal(err)
	}
	err := r.wait()
	if code := r.cmd.ProcessState.ExitCode(); code != 130 {
		t.Fatalf("exit code %d: %v", code, err)
	}
	if !strings.Contains(r.out.String(), "kill") {
		t.Fatal("the job was not killed")
	}
}

// Changing the policy in the file takes effect in the running manager, a file with
// mistakes changes nothing, and no task is lost over it.
func TestPolicyIsSwitchedInTheFile(t *testing.T) {
	plugins := t.TempDir()
	original, err := os.ReadFile(filepath.Join(binaries, "hamadryad-policy-fifo"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"fifo", "other"} {
		if err := os.WriteFile(filepath.Join(plugins, "hamadryad-policy-"+name), original, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(plugins, "site.yaml")
	configure := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(fmt.Sprintf("policy:\n  folder: %s\n%s", plugins, text)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	configure("  name: fifo\n")
	const tasks = 4000
	r := startLocal(t, tasks, "--launchers", "2", "--slots", "2", "--config", file)
	logged := func(text string) {
		t.Helper()
		eventually(t, "the log says "+text, func() bool { return strings.Contains(r.managerLog(), text) })
	}
	eventually(t, "the job is under way", func() bool { return progressOf(r) > 0 })
	configure("  name: fifo\n  settings:\n    collectAfter: soon\n")
	logged("the policy rejects its new settings: the old ones stand")
	configure("  name: [\n")
	logged("the configuration has mistakes: what was accepted before stays in force")
	configure("  name: other\n")
	logged("msg=\"the policy runs\" policy=other")
	r.finish(tasks)
}

// A manager that is killed while its file is wrong restarts with the last accepted configuration,
// and running work continues. It takes the file once that is right.
func TestManagerRestartsWhileTheFileIsWrong(t *testing.T) {
	for name, wrong := range map[string]string{
		"no YAML":                   "policy:\n  name: [\n",
		"unknown key":               "policy:\n  name: fifo\nmanager:\n  lisen: 1\n",
		"no such policy":            "policy:\n  name: fare\n",
		"settings that it rejects":  "policy:\n  name: fifo\n  settings:\n    nonsense: 1\n",
		"a file that is not there":  "",
		"a policy's file that went": "policy:\n  name: fifo\n  files: [nothing]\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "site.yaml")
			write := func(text string) {
				t.Helper()
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			const right = "policy:\n  name: fifo\n  settings:\n    collect-after: 17s\n"
			write(right)
			const tasks = 60
			r := startLocal(t, tasks, "--launchers", "1", "--slots", "2", "--config", file)
			eventually(t, "the job is under way", func() bool { return progressOf(r) > 0 })
			kept := filepath.Join(r.dir, "c", "manager", "configuration.accepted")
			eventually(t, "the configuration is kept", func() bool { _, err := os.Stat(kept); return err == nil })
			before := r.processes("hamadryad serve manager")
			if wrong == "" {
				if err := os.Remove(file); err != nil {
					t.Fatal(err)
				}
			} else {
				write(wrong)
			}
			for _, pid := range before {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
			eventually(t, "the manager goes on and says what is wrong", func() bool {
				said := strings.Contains(r.managerLog(), "what was accepted before stays in force") || strings.Contains(r.managerLog(), "those that were accepted last stay in force")
				now := r.processes("hamadryad serve manager")
				return said && strings.Count(r.managerLog(), "the manager serves") == 2 && len(now) == 1 && now[0] != before[0]
			})
			look := r.command("policy")
			eventually(t, "the old settings are in force, and status says what is wrong", func() bool {
				text := look()
				return strings.Contains(text, "running") && strings.Contains(text, "collect-after: 17s") && strings.Contains(text, "problem (")
			})
			write(strings.Replace(right, "17s", "19s", 1))
			eventually(t, "the file is taken", func() bool {
				text := look()
				return strings.Contains(text, "collect-after: 19s") && !strings.Contains(text, "problem (")
			})
			r.finish(tasks)
			if log, err := os.ReadFile(filepath.Join(r.dir, "c", "launcher-1.log")); err != nil || strings.Contains(string(log), "lease") {
				t.Errorf("the launcher gave up its work: %v\n%s", err, log)
			}
		})
	}
}

// A launcher that is killed while its file is wrong comes back with what it had joined
// with. Without it nothing could run here.
func TestLauncherRestartsWhileTheFileIsWrong(t *testing.T) {
	for name, wrong := range map[string]string{
		"no YAML":           "launcher:\n  slots: [\n",
		"unknown key":       "launcher:\n  solts: 3\n",
		"no slots at all":   "launcher:\n  slots: {default: 0}\n",
		"an unknown policy": "policy:\n  name: fare\nlauncher:\n  slots: 0\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "site.yaml")
			if err := os.WriteFile(file, []byte("launcher:\n  slots: 3\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			const tasks = 60
			r := startLocal(t, tasks, "--launchers", "1", "--config", file)
			eventually(t, "the job is under way", func() bool { return progressOf(r) > 0 })
			kept := filepath.Join(r.dir, "c", "launcher-1", "configuration.accepted")
			eventually(t, "the configuration is kept", func() bool { _, err := os.Stat(kept); return err == nil })
			if err := os.WriteFile(file, []byte(wrong), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, pid := range r.processes("--name launcher-1") {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
			log := func() string {
				text, _ := os.ReadFile(filepath.Join(r.dir, "c", "launcher-1.log"))
				return string(text)
			}
			eventually(t, "the launcher joins again and says what is wrong", func() bool {
				return strings.Count(log(), "joined the manager") == 2 && strings.Contains(log(), "what the launcher joined with last stays in force")
			})
			look := r.command("launchers")
			eventually(t, "it has its slots", func() bool { return strings.Contains(look(), "default=3") })
			r.finish(tasks)
		})
	}
}

// command runs a command of the command line against the cluster, again and again.
func (r *localRun) command(args ...string) func() string {
	r.t.Helper()
	address := regexp.MustCompile(`msg="the manager serves" address=(\S+)`).FindStringSubmatch(r.managerLog())
	if address == nil {
		r.t.Fatal("the manager's address is not in its log")
	}
	return func() string {
		out, _ := exec.Command(filepath.Join(binaries, "hamadryad"), append([]string{"--manager", address[1]}, args...)...).CombinedOutput()
		return string(out)
	}
}
