// Package proctest is for tests of processes and servers: it keeps their output, and waits for
// their effects.
package proctest

import (
	"bytes"
	"sync"
	"testing"
	"time"
)

// Output keeps all that is written to it. The zero value is empty. It is safe for
// concurrent use, so that a test may read it while a process or a logger writes.
type Output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write adds to the output; it never fails.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

// String is all that was written so far.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// lookEvery is the time between two checks of Until: short in comparison with a process's start.
const lookEvery = 5 * time.Millisecond

// Until waits until a condition holds, and ends the test if it does not within the limit. It is for
// conditions without another signal, such as a process's files. The test's own goroutine must call
// it.
func Until(t testing.TB, limit time.Duration, what string, holds func() bool) {
	t.Helper()
	late := time.NewTimer(limit)
	defer late.Stop()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for !holds() {
		select {
		case <-late.C:
			t.Fatalf("after %v still not: %s", limit, what)
		case <-look.C:
		}
	}
}
