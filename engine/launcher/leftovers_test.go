package launcher

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hamadryad/hamadryad/internal/proctest"
)

// The removal of a temporary folder is retried, ever later and a bounded number of times. The
// failure is logged once, and so is the outcome. A mount in the folder prevents its removal here.
func TestLeftoversAreTriedAgain(t *testing.T) {
	if os.Getuid() != 0 {
		t.Fatal("this needs the right to mount: run the tests as root, as CI does")
	}
	for _, goes := range []bool{true, false} {
		base, log := t.TempDir(), &proctest.Output{}
		held := filepath.Join(base, "w1", "a7")
		if err := os.MkdirAll(held, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := unix.Mount("tmpfs", held, "tmpfs", 0, "size=64k"); err != nil {
			t.Fatal(err)
		}
		unmount := func() { _ = unix.Unmount(held, unix.MNT_DETACH) }
		t.Cleanup(unmount)
		var waits []time.Duration
		var next []func()
		l := &leftovers{log: slog.New(slog.NewTextHandler(log, nil)), after: func(d time.Duration, do func()) { waits, next = append(waits, d), append(next, do) }}
		l.remove(base, "w1")
		l.remove(base, "w1") // one retry is running, not two
		for len(next) > 0 && len(waits) < 100 {
			if goes && len(waits) == 3 {
				unmount()
			}
			do := next[0]
			next = next[1:]
			do()
		}
		_, err := os.Lstat(filepath.Join(base, "w1"))
		want, says := leftoverTries, "is left behind: remove it"
		if goes {
			want, says = 3, "is removed after all"
		}
		if gone := err != nil; gone != goes || len(waits) != want || waits[0] != leftoverAfter || waits[1] != 2*leftoverAfter || waits[len(waits)-1] > leftoverAfterMax || len(l.wait) != 0 {
			t.Errorf("gone: %v, after waits %v; %d wait", err, waits, len(l.wait))
		}
		if said := log.String(); strings.Count(said, "\n") != 2 || !strings.Contains(said, "that is tried again") || !strings.Contains(said, says) || !strings.Contains(said, filepath.Join(base, "w1")) {
			t.Errorf("it says\n%s", said)
		}
	}
}
