package eventlog

import (
	"strings"
	"testing"
	"time"
)

// The reported checkpoint is the last one, from when the next file takes records.
func TestStateIsOfTheNewestFile(t *testing.T) {
	made := time.Unix(100, 0)
	l := begin(t, Options{Folder: t.TempDir(), Now: func() time.Time { return made }}, "c")
	appendN(t, l, 3)
	first := l.State()
	if first.Checkpoint <= 0 || first.File <= first.Checkpoint || !first.Made.Equal(made) {
		t.Errorf("at first: %+v", first)
	}
	made = time.Unix(200, 0)
	if err := l.Rotate(text(strings.Repeat("c", 1000))); err != nil {
		t.Fatal(err)
	}
	l.Settle()
	appendN(t, l, 1)
	if s := l.State(); s.Checkpoint != first.Checkpoint+999 || s.File <= s.Checkpoint || !s.Made.Equal(made) {
		t.Errorf("after a rotation: %+v, at first %+v", s, first)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}
