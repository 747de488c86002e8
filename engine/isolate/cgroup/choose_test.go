package cgroup

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/internal/proctest"
)

// An impossible place for groups gives an error that says what to write, and leaves the machine as
// it was.
func TestPlacesThatCantBeHad(t *testing.T) {
	folder := t.TempDir()
	for where, says := range map[string]string{
		"hamadryad":                         `launcher.isolation.cgroup: "hamadryad": use auto, none, or the whole path`,
		folder:                              folder + " is no group of cgroup2; or set auto or none",
		filepath.Join(folder, "made"):       "is no group of cgroup2",
		filepath.Join(folder, "none", "of"): "no such file",
	} {
		p, err := Choose(where, "x", slog.New(slog.DiscardHandler))
		if p != nil || err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", where, err)
		}
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("left: %v (%v)", left, err)
	}
}

// Whether there are limits, and why, is logged once. Without them there is an error only if a place
// was configured.
func TestChooseSaysWhy(t *testing.T) {
	for where, says := range map[string]string{None: `no limits by cgroup2" why="launcher.isolation.cgroup says so"`, Auto: "limits by cgroup2"} {
		said := &proctest.Output{}
		p, err := Choose(where, "says", slog.New(slog.NewTextHandler(said, nil)))
		if err != nil {
			t.Fatal(err)
		}
		if text := said.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, says) || strings.Contains(text, "no limits") != (p == nil) {
			t.Errorf("%s says %s", where, text)
		}
		if p != nil {
			p.Close()
		}
	}
}
