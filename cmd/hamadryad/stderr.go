package main

import (
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"
)

const (
	// linesMax is how many lines of the log may wait for who takes stderr.
	linesMax = 4096
	// lastLinesMax is how long the end of the process waits for the last of them.
	lastLinesMax = time.Second
)

// standardError takes the log of managers and launchers. What is behind stderr may be
// a full pipe or a disk that answers nothing: heartbeats must not wait for it.
var standardError = newLines(os.Stderr)

// lines writes in a goroutine of its own, in order. What finds no room is dropped, and
// the next line tells how much. Safe for concurrent use.
type lines struct {
	to      io.Writer
	queue   chan line
	dropped atomic.Int64
}

// line is what is to be written, or who waits for all before it.
type line struct {
	text    []byte
	missing int64 // lines that were dropped before it
	done    chan struct{}
}

func newLines(to io.Writer) *lines {
	l := &lines{to: to, queue: make(chan line, linesMax)}
	go l.run()
	return l
}

// Write never waits and never fails.
func (l *lines) Write(p []byte) (int, error) {
	missing := l.dropped.Swap(0)
	select {
	case l.queue <- line{text: append([]byte(nil), p...), missing: missing}:
	default:
		l.dropped.Add(missing + 1)
	}
	return len(p), nil
}

func (l *lines) run() {
	for next := range l.queue {
		if next.done != nil {
			close(next.done)
			continue
		}
		if next.missing > 0 {
			fmt.Fprintf(l.to, "[%d lines of the log were dropped here: nobody took them]\n", next.missing)
		}
		_, _ = l.to.Write(next.text) // there is nowhere to tell it
	}
}

// flush waits until what came before is written, but not for long.
func (l *lines) flush(max time.Duration) {
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
