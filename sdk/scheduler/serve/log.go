package serve

import (
	"context"
	"io"
	"log/slog"
	"sync"
)

// newLogHandler writes each record as a line that starts with its level in brackets, from which a
// host parses the level.
func newLogHandler(to io.Writer) slog.Handler {
	w := &levelWriter{to: to}
	return &logHandler{w: w, inner: slog.NewTextHandler(w, &slog.HandlerOptions{
		Level: slog.LevelDebug,
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			// The host adds the time; levelWriter adds the level.
			if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey) {
				return slog.Attr{}
			}
			return a
		},
	})}
}

// levelWriter writes a level before each record.
type levelWriter struct {
	mu    sync.Mutex
	to    io.Writer
	level slog.Level
	line  []byte
}

// Write writes one record. The caller holds mu.
func (w *levelWriter) Write(p []byte) (int, error) {
	w.line = append(append(w.line[:0], prefix(w.level)...), p...)
	if _, err := w.to.Write(w.line); err != nil {
		return 0, err
	}
	return len(p), nil
}

func prefix(l slog.Level) string {
	switch {
	case l < slog.LevelInfo:
		return "[DEBUG] "
	case l < slog.LevelWarn:
		return "[INFO]  "
	case l < slog.LevelError:
		return "[WARN]  "
	}
	return "[ERROR] "
}

type logHandler struct {
	w     *levelWriter
	inner slog.Handler
}

// Enabled reports whether a level is written; the host filters what it shows.
func (h *logHandler) Enabled(ctx context.Context, l slog.Level) bool { return h.inner.Enabled(ctx, l) }

// Handle writes a record.
func (h *logHandler) Handle(ctx context.Context, r slog.Record) error {
	h.w.mu.Lock()
	defer h.w.mu.Unlock()
	h.w.level = r.Level
	return h.inner.Handle(ctx, r)
}

// WithAttrs returns a handler that adds attributes.
func (h *logHandler) WithAttrs(a []slog.Attr) slog.Handler {
	return &logHandler{w: h.w, inner: h.inner.WithAttrs(a)}
}

// WithGroup returns a handler that opens a group.
func (h *logHandler) WithGroup(name string) slog.Handler {
	return &logHandler{w: h.w, inner: h.inner.WithGroup(name)}
}
