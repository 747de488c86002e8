package faults

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Programs of one user speak to their launcher as workers: they forge ends, commits, progress and
// lost inputs of another user's attempts on it, and flood it. The other's job has its whole
// output, launcher and manager stay up, and the audit has a line of each forger.
func TestForgersHarmNobody(t *testing.T) {
	c := startCluster(t, options{launchers: 1, slots: 4})
	victim := c.submit("file", 0, 2, 1, "map")
	victim.reached("map", 2)
	forgeries := []string{"ends", "commits", "progress", "lost-inputs", "unknown-inputs", "large", "flood"}
	for _, forgery := range forgeries {
		cmd := exec.Command(filepath.Join(binaries, "forger"), forgery)
		cmd.Env = append(os.Environ(), "HAMADRYAD_MANAGER="+c.address, "HADOOP_USER_NAME=eve")
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), "the launcher ended the worker") {
			t.Errorf("%s: %v\n%s", forgery, err, out)
		}
		if found := victim.attempts("map"); found != 2 {
			t.Fatalf("after %s the other's job began %d attempts", forgery, found)
		}
	}
	victim.open("map")
	victim.succeeds()
	if c.manager.ended() || c.launchers[0].ended() {
		t.Error("the manager or the launcher ended")
	}
	if log := c.manager.log.String(); strings.Contains(log, "a launcher was lost") || strings.Contains(log, "a launcher's stream ended") {
		t.Errorf("the launcher was lost, or its stream broke:\n%s", log)
	}
	text, err := os.ReadFile(c.path("manager/audit/audit.jsonl"))
	if got := strings.Count(string(text), `"method":"Worker"`); err != nil || got != len(forgeries) {
		t.Errorf("the audit has %d lines of %d forgers (%v):\n%s", got, len(forgeries), err, text)
	}
	var bytes int64
	for _, path := range c.files("manager/log", func(string) bool { return true }) {
		if info, err := os.Stat(path); err == nil {
			bytes += info.Size()
		}
	}
	if bytes > 16<<20 {
		t.Errorf("the event log has %d bytes", bytes)
	}
	if said := fmt.Sprint(c.launchers[0].log); strings.Count(said, "a worker sent what it may not") != len(forgeries) || !strings.Contains(said, "user=eve") {
		t.Errorf("the launcher says:\n%s", tail(said, 4000))
	}
}
