package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/hamadryad/hamadryad/engine/client"
)

// A backup as docs/operations/SITE.md tells: a copy of the folder of a manager that was stopped has its jobs in another
// place, and gives none of their ids again. The folder of a manager that runs is refused to a second one.
func TestBackupAndRestore(t *testing.T) {
	dir := t.TempDir()
	serve := func(data string) (address string, stop func()) {
		t.Helper()
		at := newNotified(t)
		p := at.start("serve", "manager", "--data", data, "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0")
		at.hears("READY=1")
		eventually(t, "the manager serves", func() bool { return serves.MatchString(p.Log.String()) })
		return serves.FindStringSubmatch(p.Log.String())[1], func() {
			if err := p.Stop(syscall.SIGTERM, waitMax); err != nil {
				t.Fatal(err)
			}
		}
	}
	on := func(address, program string, args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), filepath.Join(binaries, program), args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "HAMADRYAD_MANAGER="+address)
		return cmd
	}
	jobs := func(address string) string {
		out, _ := on(address, "hamadryad", "jobs").CombinedOutput()
		return string(out)
	}
	// submit leaves a job behind that waits, since there is no launcher.
	submit := func(address, name string) {
		t.Helper()
		cmd := on(address, "noop", "-name", name, "1")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		eventually(t, name+" is there", func() bool { return strings.Contains(jobs(address), name) })
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	data, copied := filepath.Join(dir, "data"), filepath.Join(dir, "copied")
	address, stop := serve(data)
	submit(address, "before")
	out, err := on(address, "hamadryad", "serve", "manager", "--data", data, "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "is in use by another manager") {
		t.Errorf("a second manager on the same folder: %v\n%s", err, out)
	}
	stop()
	if out, err := exec.CommandContext(t.Context(), "cp", "-a", data, copied).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	address, stop = serve(data) // it gives an id that the copy does not know
	submit(address, "after")
	stop()
	address, stop = serve(copied)
	defer stop()
	submit(address, "restored")
	list := jobs(address)
	if !regexp.MustCompile(`(?m)^job-1 .*before`).MatchString(list) || !regexp.MustCompile(`(?m)^job-\d{3,} .*restored`).MatchString(list) || strings.Contains(list, "after") {
		t.Errorf("a manager on the copy has the jobs\n%s", list)
	}
}

// The guide for a site has the table of exit codes as it is.
func TestTheGuideHasTheExitCodes(t *testing.T) {
	text, err := os.ReadFile("../../docs/operations/SITE.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range client.ExitCodes() {
		if row := fmt.Sprintf("\n| %d | %s |\n", e.Code, e.Meaning); !strings.Contains(string(text), row) {
			t.Errorf("the guide lacks%s", row)
		}
	}
}
