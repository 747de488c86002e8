package launcher

import (
	"errors"
	"log/slog"
	"os"
	"testing"
	"time"
)

// An attempt's temporary files are removed whenever it made them, also beside attempts that make
// none, and even if a program changes the folder's times.
func TestTemporaryFilesAreRemoved(t *testing.T) {
	base := t.TempDir()
	own, other := sharedWorkDir(base, ""), sharedWorkDir(base, "")
	left := newLeftovers(slog.New(slog.DiscardHandler), nil)
	defer own.close(left)
	defer other.close(left)
	forge := func() {
		past := time.Now().Add(-time.Hour)
		if err := os.Chtimes(base, past, past); err != nil {
			t.Fatal(err)
		}
	}
	quiet := false
	for id := range uint64(200) {
		makes, beside, late := id%3 == 0, id%5 == 0, id%7 == 0
		if late { // the folder has not changed for longer than a tick
			for own.recordState(); own.before.seen.Sub(own.before.changed) <= stampTick; own.recordState() {
			}
		}
		own.recordState()
		if beside {
			other.recordState()
			if err := os.Mkdir(other.scratchOf(1000+id), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if makes {
			if err := os.Mkdir(own.scratchOf(id), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if id%2 == 0 {
			forge()
		}
		quiet = quiet || own.unchanged()
		own.clear(id, false, left)
		if beside {
			other.clear(1000+id, false, left)
		}
		if list, err := os.ReadDir(base); err != nil || len(list) > 0 {
			t.Fatalf("after attempt %d, which made files: %t, there are %v (%v)", id, makes, list, err)
		}
	}
	if !quiet {
		t.Error("no folder counted as unchanged, though most attempts made none")
	}
}

// The empty folder of a finished attempt is kept for the next one, and nothing else: no file, no other
// folder, no link, nothing of an attempt that failed. It goes when the worker is gone.
func TestASpareFolderIsKept(t *testing.T) {
	elsewhere := t.TempDir()
	for _, c := range []struct {
		what     string
		make     func(path string) error
		finished bool
		kept     bool
	}{
		{"empty", func(path string) error { return os.Mkdir(path, 0o700) }, true, true},
		{"of a failed attempt", func(path string) error { return os.Mkdir(path, 0o700) }, false, false},
		{"with a file", func(path string) error {
			return errors.Join(os.Mkdir(path, 0o700), os.WriteFile(path+"/x", nil, 0o600))
		}, true, false},
		{"open to others", func(path string) error { return errors.Join(os.Mkdir(path, 0o700), os.Chmod(path, 0o777)) }, true, false},
		{"a link", func(path string) error { return os.Symlink(elsewhere, path) }, true, false},
		{"a file", func(path string) error { return os.WriteFile(path, nil, 0o700) }, true, false},
	} {
		base := t.TempDir()
		left := newLeftovers(slog.New(slog.DiscardHandler), nil)
		h := sharedWorkDir(base, "")
		for id := range uint64(2) { // a second one replaces what was not used
			h.recordState()
			if err := c.make(h.scratchOf(id)); err != nil {
				t.Fatal(err)
			}
			h.clear(id, c.finished, left)
			list, err := os.ReadDir(base)
			if err != nil || len(list) > 1 || len(list) == 1 != c.kept || c.kept && h.spare != h.scratchOf(id) || !c.kept && h.spare != "" {
				t.Errorf("%s: %v is kept, and %q for the next (%v)", c.what, list, h.spare, err)
			}
		}
		h.close(left)
		if list, err := os.ReadDir(base); err != nil || len(list) > 0 {
			t.Errorf("%s: after its worker there is %v (%v)", c.what, list, err)
		}
	}
}
