package policy

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Lines over the rate are counted, never lost without a word.
func TestLinesOverTheRateAreCounted(t *testing.T) {
	var out bytes.Buffer
	now := time.Unix(100, 0)
	l := newLineLog(slog.New(slog.NewTextHandler(&out, nil)), func() time.Time { return now })
	w := l.writer()
	for i := range linesPerWindow + 30 {
		fmt.Fprintf(w, "[WARN]  line %d\n", i)
	}
	if got := strings.Count(out.String(), "level=WARN msg=\"line "); got != linesPerWindow {
		t.Errorf("%d lines in the first second", got)
	}
	now = now.Add(lineWindow)
	fmt.Fprintln(w, "[ERROR] the next second")
	if !strings.Contains(out.String(), "dropped=30") || !strings.Contains(out.String(), "level=ERROR msg=\"the next second\"") {
		t.Errorf("the next second's log: %s", out.String()[max(0, out.Len()-400):])
	}
	for range linesPerWindow {
		fmt.Fprintln(w, "x")
	}
	l.flush()
	if !strings.Contains(out.String(), "dropped=1 ") {
		t.Error("what was dropped last is not said at the end")
	}
	if tail := strings.Split(l.tail(), "\n"); len(tail) != tailLines {
		t.Errorf("%d lines kept for the error", len(tail))
	}
}

// However a stream is split, its lines are the same, and none is longer than the bound.
func TestStreamIsCutIntoLines(t *testing.T) {
	long := strings.Repeat("y", 2*lineBytesMax+5)
	text := "first\n\nsecond\r\n" + long + "\n[DEBUG] third\nno end"
	for _, step := range []int{1, 3, 1000, len(text)} {
		var out bytes.Buffer
		l := newLineLog(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug})), time.Now)
		w := l.writer()
		for rest := []byte(text); len(rest) > 0; rest = rest[min(step, len(rest)):] {
			_, _ = w.Write(rest[:min(step, len(rest))])
		}
		w.flush()
		got := out.String()
		for _, want := range []string{"level=INFO msg=first ", "msg=second ", "level=DEBUG msg=third ", "msg=\"no end\""} {
			if !strings.Contains(got, want) {
				t.Errorf("in steps of %d: %s is missing", step, want)
			}
		}
		if n := strings.Count(got, "y"); n-strings.Count(got, "policy") != len(long) {
			t.Errorf("in steps of %d: the long line has %d characters", step, n-strings.Count(got, "policy"))
		}
		if n := strings.Count(got, "\n"); n != 7 {
			t.Errorf("in steps of %d: %d lines", step, n)
		}
	}
}

// A sweep removes what dead hosts left behind, and nothing else.
func TestSweepKeepsWhatLives(t *testing.T) {
	parent, err := os.MkdirTemp("", "hd-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(parent)
	living, err := newSocketDir(parent)
	if err != nil {
		t.Fatal(err)
	}
	dead := filepath.Join(parent, socketDirPrefix+"dead")
	other := filepath.Join(parent, "somebody-elses")
	for _, d := range []string{dead, other} {
		if err := os.MkdirAll(filepath.Join(d, "plugin-dir1"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	next, err := newSocketDir(parent)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{living.path: true, next.path: true, dead: false, other: true} {
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("%s: there %v, due %v", path, err == nil, want)
		}
	}
	for _, d := range []*socketDir{living, next} {
		if err := d.remove(); err != nil {
			t.Error(err)
		}
	}
}
