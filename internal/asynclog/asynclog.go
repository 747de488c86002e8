// Package asynclog writes lines to a destination that may block, and never waits for it.
package asynclog

import (
	"fmt"
	"io"
	"sync/atomic"
	"time"
)

// linesMax is how many lines may wait.
const linesMax = 4096

// Writer is an io.Writer that writes in its own goroutine, in order. Lines beyond its queue are
// dropped, and the next line gives their number. The caller flushes it at the end (Flush). Safe for
// concurrent use.
type Writer struct {
	to      io.Writer
	queue   chan line
	dropped atomic.Int64
}

// line is a text to write, or a caller of Flush that waits for all lines before it.
type line struct {
	text    []byte
	missing int64 // lines that were dropped before it
	done    chan struct{}
}

// New returns a Writer that writes to another writer.
func New(to io.Writer) *Writer {
	l := &Writer{to: to, queue: make(chan line, linesMax)}
	go l.run()
	return l
}

// Write never waits and never fails.
func (l *Writer) Write(p []byte) (int, error) {
	missing := l.dropped.Swap(0)
	select {
	case l.queue <- line{text: append([]byte(nil), p...), missing: missing}:
	default:
		l.dropped.Add(missing + 1)
	}
	return len(p), nil
}

func (l *Writer) run() {
	for next := range l.queue {
		if next.done != nil {
			close(next.done)
			continue
		}
		if next.missing > 0 {
			fmt.Fprintf(l.to, "[%d lines of the log were dropped here: nobody took them]\n", next.missing)
		}
		_, _ = l.to.Write(next.text) // there is nowhere to report the error
	}
}

// Flush waits until all earlier lines are written, at most max.
func (l *Writer) Flush(max time.Duration) {
	late := time.After(max)
	done := make(chan struct{})
	select {
	case l.queue <- line{done: done}:
	case <-late:
		return
	}
	select {
	case <-done:
	case <-late:
	}
}
