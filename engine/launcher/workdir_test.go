package launcher

import (
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
		own.clear(id, left)
		if beside {
			other.clear(1000+id, left)
		}
		if list, err := os.ReadDir(base); err != nil || len(list) > 0 {
			t.Fatalf("after attempt %d, which made files: %t, there are %v (%v)", id, makes, list, err)
		}
	}
	if !quiet {
		t.Error("no folder counted as unchanged, though most attempts made none")
	}
}
