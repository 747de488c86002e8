// Package logsample makes a log count repeated lines, where strangers can cause any number of them.
package logsample

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

const (
	// First is how many lines with the same message are written within a Window. Further ones are
	// counted, and their number is written when the window ends.
	First = 10
	// Window is how long repeated lines are counted before their number is written.
	Window = time.Minute
	// messagesMax bounds the distinct messages; they are constants of the program.
	messagesMax = 1000
)

// New returns a log that writes to another one. Of the lines with one message and level it writes
// the first in each window, and the number of further ones.
func New(log *slog.Logger) *slog.Logger { return newLogger(log, Window) }

func newLogger(log *slog.Logger, window time.Duration) *slog.Logger {
	return slog.New(handler{log.Handler(), &counts{window: window, of: map[string]*count{}}})
}

// counts is shared by all handlers derived from one.
type counts struct {
	window time.Duration
	mu     sync.Mutex
	of     map[string]*count
}

type count struct{ lines, unwritten int }

type handler struct {
	slog.Handler
	counts *counts
}

// Handle implements slog.Handler.
func (h handler) Handle(ctx context.Context, r slog.Record) error {
	if !h.counts.writes(h.Handler, r) {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return handler{h.Handler.WithAttrs(attrs), h.counts}
}

// WithGroup implements slog.Handler.
func (h handler) WithGroup(name string) slog.Handler {
	return handler{h.Handler.WithGroup(name), h.counts}
}

// writes counts a line and reports whether to write it.
func (c *counts) writes(to slog.Handler, r slog.Record) bool {
	key := r.Level.String() + " " + r.Message
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.of[key]
	if n == nil {
		if len(c.of) >= messagesMax {
			return true
		}
		n = &count{}
		c.of[key] = n
		time.AfterFunc(c.window, func() { c.end(to, r.Level, r.Message, key) })
	}
	if n.lines++; n.lines <= First {
		return true
	}
	n.unwritten++
	return false
}

// end ends a window, and logs the number of lines that were not written.
func (c *counts) end(to slog.Handler, level slog.Level, message, key string) {
	c.mu.Lock()
	n := c.of[key].unwritten
	delete(c.of, key)
	c.mu.Unlock()
	if n > 0 {
		line := slog.NewRecord(time.Now(), level, fmt.Sprintf("%s: %d more like this", message, n), 0)
		line.Add("within", c.window)
		_ = to.Handle(context.Background(), line) // as slog does
	}
}
