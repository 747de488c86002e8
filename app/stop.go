package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

const (
	// signalsTogether is how long further signals count as the first one. timeout(1) signals the
	// program and then its group, so the program gets two at once.
	signalsTogether = time.Second
	// killPatience is how long the second signal waits until the manager has confirmed the kill.
	killPatience = 5 * time.Second
)

var errInterrupted = errors.New("interrupted")

// interruptible returns a context that ends with the first signal to stop. A second signal, after
// signalsTogether, ends the process: at once when no submitted job is left to kill, else after the
// manager has confirmed the kill, or after killPatience.
func interruptible(unkilled *inHand, errors io.Writer) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		stopTwice(signals, func() { cancel(errInterrupted) }, signalsTogether)
		if !unkilled.wait(0) {
			fmt.Fprintln(errors, "the manager has not confirmed yet that it kills the job; waiting for that up to", killPatience)
			if !unkilled.wait(killPatience) {
				fmt.Fprintln(errors, "the job may still run: see \"hamadryad jobs\", and end it with \"hamadryad kill JOB\"")
			}
		}
		os.Exit(ExitInterrupted)
	}()
	return ctx, func() { signal.Stop(signals) }
}

// stopTwice calls first at the first signal. It returns at the first signal later than together.
func stopTwice(signals <-chan os.Signal, first func(), together time.Duration) {
	<-signals
	at := time.Now()
	first()
	for range signals {
		if time.Since(at) >= together {
			return
		}
	}
}

// inHand counts the jobs that are being submitted or run, and whose kill is not yet confirmed. A
// nil inHand counts nothing. It is safe for concurrent use.
type inHand struct {
	mu    sync.Mutex
	count int
	none  chan struct{} // closed when count is 0 again; nil while it is 0
}

// begin counts a job. The function end uncounts it; it may be called more than once.
func (h *inHand) begin() (end func()) {
	if h == nil {
		return func() {}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.count++; h.none == nil {
		h.none = make(chan struct{})
	}
	return sync.OnceFunc(func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.count--; h.count == 0 {
			close(h.none)
			h.none = nil
		}
	})
}

// wait reports whether the count reached 0 within d.
func (h *inHand) wait(d time.Duration) bool {
	h.mu.Lock()
	none := h.none
	h.mu.Unlock()
	if none == nil {
		return true
	}
	select {
	case <-none:
		return true
	case <-time.After(d):
		return false
	}
}
