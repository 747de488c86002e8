package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/engine/client"
)

// Without the program of the laboratory, its commands say what is missing and where it has to be. It is found beside
// hamadryad wherever a link to that is, and in $PATH.
func TestTheLaboratoryIsFound(t *testing.T) {
	alone, beside, links := t.TempDir(), t.TempDir(), t.TempDir()
	link := func(name, folder string) {
		t.Helper()
		if err := os.Link(filepath.Join(binaries, name), filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	link("hamadryad", alone)
	link("hamadryad", beside)
	link("hamadryad-laboratory", beside)
	if err := os.Symlink(filepath.Join(beside, "hamadryad"), filepath.Join(links, "hamadryad")); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		folder, path string
		code         int
		says         string
	}{
		{alone, alone, client.ExitOther, "the program hamadryad-laboratory, which plays workloads, is neither in " + alone},
		{alone, beside, client.ExitOther, "open nothing.jsonl"},
		{beside, alone, client.ExitOther, "open nothing.jsonl"},
		{links, alone, client.ExitOther, "open nothing.jsonl"},
	} {
		cmd := exec.CommandContext(t.Context(), filepath.Join(x.folder, "hamadryad"), "workload", "describe", "nothing.jsonl")
		cmd.Env = append(os.Environ(), "PATH="+x.path)
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != x.code || !strings.Contains(string(out), x.says) {
			t.Errorf("from %s with the path %s: %v\n%s; want %d and %q", x.folder, x.path, err, out, x.code, x.says)
		}
	}
}

// A flag that says which manager to ask, or who asks, is refused in front of a command of the laboratory and behind it.
func TestTheLaboratoryAsksNoManager(t *testing.T) {
	for _, words := range []string{"--user x simulate day.jsonl", "--user=x simulate day.jsonl", "simulate --manager m1:7070 day.jsonl", "--wait 1m policy test days"} {
		cmd := exec.CommandContext(t.Context(), filepath.Join(binaries, "hamadryad"), strings.Fields(words)...)
		out, _ := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != client.ExitUsage || !strings.Contains(string(out), "asks none: leave it out") {
			t.Errorf("%s: %d\n%s", words, cmd.ProcessState.ExitCode(), out)
		}
	}
}
