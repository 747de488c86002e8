package policy

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// Bounds of a plug-in's lines in the manager's log.
const (
	// linesPerWindow lines of a plug-in are logged in each lineWindow; the others
	// are counted.
	linesPerWindow = 100
	lineWindow     = time.Second
	// lineBytesMax is where a line is broken in two.
	lineBytesMax = 8 << 10
	// handshakeBytesMax bounds the handshake's line; a longer one is no handshake.
	handshakeBytesMax = 16 << 10
	// tailLines are kept for the error when a plug-in dies.
	tailLines = 20
	// tailBytesMax bounds the kept bytes of each of them.
	tailBytesMax = 512
)

// lineLog passes a plug-in's lines on to the manager's log, so many a second.
// Its methods may be called from any goroutine.
type lineLog struct {
	log *slog.Logger
	now func() time.Time

	mu      sync.Mutex
	since   time.Time // start of the window
	logged  int       // in the window
	dropped int       // since the last report of it
	last    []string
	crash   []string // from the line where the Go runtime began to report a crash; at most tailLines
}

func newLineLog(log *slog.Logger, now func() time.Time) *lineLog {
	return &lineLog{log: log, now: now}
}

// line logs one line.
func (l *lineLog) line(level slog.Level, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	kept := text
	if len(kept) > tailBytesMax {
		kept = kept[:tailBytesMax] + " ..."
	}
	if l.last = append(l.last, kept); len(l.last) > tailLines {
		l.last = l.last[1:]
	}
	if (len(l.crash) > 0 || tellsCrash(text)) && len(l.crash) < tailLines {
		l.crash = append(l.crash, kept)
	}
	now := l.now()
	if now.Sub(l.since) >= lineWindow {
		l.sayDropped()
		l.since, l.logged = now, 0
	}
	if l.logged >= linesPerWindow {
		l.dropped++
		return
	}
	l.logged++
	l.log.Log(context.Background(), level, text, "from", "policy plug-in")
}

// sayDropped logs how many lines are missing from the log.
func (l *lineLog) sayDropped() {
	if l.dropped > 0 {
		l.log.Warn("policy plug-in logs too much: lines dropped", "dropped", l.dropped, "most", linesPerWindow, "per", lineWindow)
		l.dropped = 0
	}
}

// flush logs the lines that were dropped last.
func (l *lineLog) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sayDropped()
}

// tellsCrash recognises the first line of the Go runtime's report of a crash. The cause is there;
// stacks follow.
func tellsCrash(text string) bool {
	return strings.HasPrefix(text, "panic: ") || strings.HasPrefix(text, "fatal error: ") || strings.HasPrefix(text, "runtime: ")
}

// tail returns the last lines, or the first ones of a crash.
func (l *lineLog) tail() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.crash) > 0 {
		return strings.Join(l.crash, "\n")
	}
	return strings.Join(l.last, "\n")
}

// copyLog logs the lines of a stream until its end.
func (l *lineLog) copyLog(from io.Reader) {
	w := l.writer()
	_, _ = io.Copy(w, from) // a stream that breaks has ended
	w.flush()
}

// copyPrinted reads a plug-in's standard output until its end. The first line is the handshake, and
// is not logged. The lines that follow are.
func (l *lineLog) copyPrinted(from io.Reader, handshake io.WriteCloser) {
	r := bufio.NewReaderSize(from, handshakeBytesMax)
	line, _ := r.ReadSlice('\n') // also what there is of a line that is too long, or has no end
	_, _ = handshake.Write(line) // an error: nobody waits for a handshake any more
	handshake.Close()
	l.copyLog(r)
}

// lineWriter cuts a stream into lines. Each stream has its own.
type lineWriter struct {
	l       *lineLog
	partial []byte
}

func (l *lineLog) writer() *lineWriter { return &lineWriter{l: l} }

// Write takes the next bytes of the stream. It never fails.
func (w *lineWriter) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		i := bytes.IndexByte(p, '\n')
		if room := lineBytesMax - len(w.partial); i < 0 && len(p) >= room || i > room {
			w.partial = append(w.partial, p[:room]...)
			p = p[room:]
			w.flush()
			continue
		}
		if i < 0 {
			w.partial = append(w.partial, p...)
			break
		}
		w.partial = append(w.partial, p[:i]...)
		p = p[i+1:]
		w.flush()
	}
	return n, nil
}

// flush passes on the line so far.
func (w *lineWriter) flush() {
	if text := strings.TrimRight(string(w.partial), "\r"); text != "" {
		level, text := levelOf(text)
		w.l.line(level, text)
	}
	w.partial = w.partial[:0]
}

// levelOf strips the level from a line that starts with one in brackets; other lines are
// information.
func levelOf(text string) (slog.Level, string) {
	for _, p := range []struct {
		prefix string
		level  slog.Level
	}{
		{"[TRACE]", slog.LevelDebug},
		{"[DEBUG]", slog.LevelDebug},
		{"[INFO]", slog.LevelInfo},
		{"[WARN]", slog.LevelWarn},
		{"[ERROR]", slog.LevelError},
	} {
		if rest, ok := strings.CutPrefix(text, p.prefix); ok {
			return p.level, strings.TrimLeft(rest, " ")
		}
	}
	return slog.LevelInfo, text
}
