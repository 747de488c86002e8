package logsample

import (
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/internal/proctest"
)

// lines is a place that a log writes to.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func TestRepeatedLinesAreCounted(t *testing.T) {
	to := &lines{}
	log := newLogger(slog.New(slog.NewTextHandler(to, nil)), 200*time.Millisecond)
	for i := range 11_000 {
		log.With("launcher", "l1").Warn("a connection is refused", "port", i)
	}
	log.Warn("something else")
	proctest.Until(t, 2*time.Minute, "a line counts those that were not written", func() bool { return strings.Contains(to.String(), "more like this") })
	text := to.String()
	if n := strings.Count(text, "a connection is refused\""); n > 3*First {
		t.Errorf("%d lines were written", n)
	}
	if !strings.Contains(text, "something else") || !strings.Contains(text, "launcher=l1") {
		t.Errorf("another line is missing, or an attribute:\n%s", text)
	}
}
