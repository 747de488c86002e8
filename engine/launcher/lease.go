package launcher

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// lease is how long the launcher may go on without a word from its manager. It
// stands apart from the agent: whatever the rest of the launcher waits for, its
// workers end with the lease. They are told when that is, and end themselves (a
// launcher may be frozen); watch ends those that do not.
type lease struct {
	length atomic.Int64 // ns; 0 before the first welcome
	ends   atomic.Int64 // by the machine's monotonic clock, ns; 0: there is none

	granted chan struct{} // holds one: the watch is to look at ends again

	mu      sync.Mutex // held for a moment only
	workers map[*proc]struct{}
}

func newLease() *lease {
	return &lease{granted: make(chan struct{}, 1), workers: map[*proc]struct{}{}}
}

const (
	// leaseLook is how often the workers are killed while the lease is over.
	leaseLook = 50 * time.Millisecond
	// noLease is how long the watch sleeps when there is no lease: a grant wakes it.
	noLease = time.Hour
)

// monotonic is the machine's clock that never goes back, the same for all its
// processes.
func monotonic() int64 {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) != nil {
		panic("this machine has no monotonic clock") // Linux always has
	}
	return t.Nano()
}

// grant begins a lease.
func (l *lease) grant(length time.Duration) {
	l.length.Store(int64(length))
	if length > 0 {
		l.ends.Store(monotonic() + int64(length))
	}
	select {
	case l.granted <- struct{}{}:
	default:
	}
}

// renew counts the lease from when something was sent that the manager answered.
func (l *lease) renew(sent time.Time) {
	ends := monotonic() - int64(time.Since(sent)) + l.length.Load()
	for {
		before := l.ends.Load()
		if before == 0 || ends <= before || l.ends.CompareAndSwap(before, ends) {
			return
		}
	}
}

// end forgets the lease, when all that stood under it is gone.
func (l *lease) end() { l.ends.Store(0) }

// over reports whether the lease ran out. Before the first welcome there is none.
func (l *lease) over() bool {
	ends := l.ends.Load()
	return ends != 0 && monotonic() > ends
}

// left is how long the watch may sleep. A renewal meanwhile only means that it wakes
// too early.
func (l *lease) left() time.Duration {
	ends := l.ends.Load()
	if ends == 0 {
		return noLease
	}
	return max(time.Duration(ends-monotonic())+time.Millisecond, leaseLook)
}

// part is one in so many of the lease, at most max, which also holds while no lease
// is known.
func (l *lease) part(n int, max time.Duration) time.Duration {
	if length := time.Duration(l.length.Load()); length > 0 {
		return min(length/time.Duration(n), max)
	}
	return max
}

// covers has a worker end with the lease, until it is gone.
func (l *lease) covers(p *proc) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.workers[p] = struct{}{}
}

func (l *lease) gone(p *proc) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.workers, p)
}

// watch kills all workers when the lease has run out. It waits for nothing: what they
// started dies with them, and p.wait sees to what does not.
func (l *lease) watch(ctx context.Context) {
	for {
		select {
		case <-time.After(l.left()):
		case <-l.granted:
		case <-ctx.Done():
			return
		}
		if !l.over() {
			continue
		}
		l.mu.Lock()
		for p := range l.workers {
			_ = p.cmd.Process.Kill() // it has ended already, or it ends now
		}
		l.mu.Unlock()
	}
}
