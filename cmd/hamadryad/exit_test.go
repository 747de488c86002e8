package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/client"
)

// codeAfter runs the program and returns its exit code and what it printed.
func codeAfter(t *testing.T, args ...string) (int, string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(binaries, "hamadryad"), args...)
	cmd.WaitDelay = time.Second
	cmd.Dir = t.TempDir()
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// Each kind of mistake that is found without a manager has its exit code.
func TestExitCodes(t *testing.T) {
	for args, want := range map[string]int{
		"version":                 client.ExitDone,
		"lunch":                   client.ExitUsage,
		"jobs surplus":            client.ExitUsage,
		"jobs --no-such-flag":     client.ExitUsage,
		"jobs -o xml":             client.ExitUsage,
		"status job-x":            client.ExitUsage,
		"set-priority job-1 SOON": client.ExitUsage,
		"config aply":             client.ExitUsage,
		"config check":            client.ExitUsage,
		"simulate --seeds 0 x":    client.ExitUsage,
		"local -- ./nothing":      client.ExitUsage,
		"local -- sh -c exit":/* the shell's own */ client.ExitDone,
		"config check nothing.yaml":              client.ExitFailed,
		"policy check ./nothing":                 client.ExitOther,
		"workload describe nothing.jsonl":        client.ExitOther,
		"--manager 127.0.0.1:1 --wait 50ms jobs": client.ExitUnreachable,
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			if code, out := codeAfter(t, strings.Fields(args)...); code != want {
				t.Errorf("exit code %d, want %d\n%s", code, want, out)
			}
		})
	}
}

// Help shows the table of exit codes, in which each code stands once.
func TestHelpHasTheExitCodes(t *testing.T) {
	_, out := codeAfter(t, "help", "exit-codes")
	codes := []int{}
	for _, e := range client.ExitCodes() {
		codes = append(codes, e.Code)
		if line := fmt.Sprintf("%d  %s\n", e.Code, e.Meaning); !strings.Contains(out, line) {
			t.Errorf("%q is not in\n%s", line, out)
		}
	}
	if !slices.IsSorted(codes) || len(slices.Compact(codes)) != len(client.ExitCodes()) {
		t.Errorf("the codes are %v", codes)
	}
}
