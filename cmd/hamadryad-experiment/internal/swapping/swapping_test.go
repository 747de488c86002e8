package swapping

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// childVariable names the folder in which a child of the test makes its swap file.
const childVariable = "HAMADRYAD_SWAPPING_FOLDER"

const (
	given = 96 << 20 // bytes of memory that the child has
	held  = 160 << 20
)

func TestMain(m *testing.M) {
	if folder := os.Getenv(childVariable); folder != "" {
		if err := child(folder); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// child holds more memory than it is given, and still has what it wrote.
func child(folder string) (err error) {
	s, err := New(folder, 8*held) // the race detector holds more
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	before := Out()
	if err := s.Enter(given); err != nil {
		return err
	}
	memory := make([]byte, held)
	fill := func(to []byte) { _, _ = rand.NewChaCha8([32]byte{}).Read(to) }
	fill(memory)
	block, at := make([]byte, 1<<20), rand.NewChaCha8([32]byte{})
	for i := 0; i < len(memory); i += len(block) {
		if _, _ = at.Read(block); string(block) != string(memory[i:i+len(block)]) {
			return fmt.Errorf("what was written at %d is not there", i)
		}
	}
	if out := Out() - before; out < (held-given)/2 {
		return fmt.Errorf("%d bytes were swapped out, of at least %d", out, held-given)
	}
	return nil
}

// A process that is given less memory than it holds goes on, with the rest in a file that is gone
// afterwards.
func TestSwapping(t *testing.T) {
	folder := t.TempDir()
	s, err := New(folder, 1<<20)
	if err != nil {
		t.Fatalf("this machine can't swap to a file: %v; run the test as root, with its temporary folder on ext4 or xfs", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), childVariable+"="+folder)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if files, err := filepath.Glob(filepath.Join(folder, "*")); err != nil || len(files) > 0 {
		t.Errorf("%v stay (%v)", files, err)
	}
	if swaps, err := os.ReadFile("/proc/swaps"); err != nil || strings.Contains(string(swaps), folder) {
		t.Errorf("swap is on still (%v):\n%s", err, swaps)
	}
	if d, err := Raw(filepath.Join(folder, "raw"), 4<<20); err != nil || d <= 0 {
		t.Errorf("the disk takes %v (%v)", d, err)
	}
}
