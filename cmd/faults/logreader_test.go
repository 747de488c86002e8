package faults

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// A log program that is restarted leaves managers and launchers without a reader of their stderr
// for a while. They go on without a log.
func TestLogReaderEnds(t *testing.T) {
	dir, address := t.TempDir(), ownAddress(t)
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	read.Close() // nothing reads what they write
	start := func(args ...string) *exec.Cmd {
		cmd := exec.Command(filepath.Join(binaries, "hamadryad"), args...)
		cmd.Stderr = write
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Signal(syscall.SIGTERM)
			_ = cmd.Wait()
		})
		return cmd
	}
	manager := start("serve", "manager", "--listen", address, "--http", "127.0.0.1:0", "--data", filepath.Join(dir, "manager"))
	launcher := start("serve", "launcher", "--manager", address, "--data", filepath.Join(dir, "launcher"), "--slots", "1")
	write.Close()
	if err := os.WriteFile(filepath.Join(dir, "in"), []byte("a line\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	job := exec.Command(filepath.Join(binaries, "hamadryad-streaming"), "--quiet", "--", "-input", filepath.Join(dir, "in"), "-output", filepath.Join(dir, "out"), "-mapper", "cat")
	job.Env = append(os.Environ(), "HAMADRYAD_MANAGER="+address, "HAMADRYAD_WAIT="+waitMax.String())
	if out, err := job.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for name, cmd := range map[string]*exec.Cmd{"manager": manager, "launcher": launcher} {
		if err := cmd.Process.Signal(syscall.Signal(0)); err != nil {
			t.Errorf("the %s ended: %v", name, err)
		}
	}
}
