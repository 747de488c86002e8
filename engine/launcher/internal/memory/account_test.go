package memory_test

import (
	"os"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/engine/launcher/internal/memory"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// An attempt is to be ended once, when it holds more than its memory and the slack.
func TestNote(t *testing.T) {
	a := memory.NewAccount(1 << 30)
	for _, step := range []struct {
		held int64
		ends bool
	}{{1 << 20, false}, {1<<30 + 1<<28, false}, {1<<30 + 1<<28 + 1, true}, {1 << 40, false}, {1, false}} {
		if got := a.Note(step.held); got != step.ends {
			t.Errorf("with %d bytes it is to be ended: %t", step.held, got)
		}
	}
	if f := a.Excess(); f == nil || f.Kind != wire.ErrorKind_ERROR_KIND_PROGRAM || !strings.Contains(f.Message, "--memory 1344MiB or more") || a.Peak() != 1<<40 {
		t.Errorf("%v, peak %d", a.Excess(), a.Peak())
	}
	small := memory.NewAccount(1 << 20)
	if small.Note(60<<20) || !small.Note(66<<20) {
		t.Error("the slack of a small attempt is not 64 MiB")
	}
	free := memory.NewAccount(0)
	if free.Note(1<<40) || free.Excess() != nil || free.Peak() != 1<<40 {
		t.Error("an attempt without a limit has one")
	}
}

// The failure of an attempt that the kernel ended at its own limit names the limit, what the
// attempt may use, and what to ask for.
func TestRanOut(t *testing.T) {
	a := memory.NewAccount(1 << 30)
	limit := memory.Most(1 << 30)
	f := a.RanOut(limit)
	if f.Kind != wire.ErrorKind_ERROR_KIND_PROGRAM || a.Peak() != limit {
		t.Errorf("%v, peak %d", f, a.Peak())
	}
	for _, part := range []string{"ran out of memory", "memory.max, which is 1.3 GiB", "may use 1.0 GiB", "--memory 1280MiB or more"} {
		if !strings.Contains(f.Message, part) {
			t.Errorf("no %q in %q", part, f.Message)
		}
	}
}

// A living process is measured; an ended one holds nothing.
func TestLook(t *testing.T) {
	w := memory.NewWatch(false)
	held := w.Measure([]memory.Root{{PID: os.Getpid(), Memory: 1 << 40}, {PID: 1 << 30, Memory: 1 << 40}}, false)
	if len(held) != 2 || held[0] < 1<<20 || held[1] != 0 {
		t.Errorf("%v bytes", held)
	}
}
