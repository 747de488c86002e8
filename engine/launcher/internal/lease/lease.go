// Package lease bounds the time that a launcher runs without contact to its manager, and ends
// all workers when it is over.
//
//	l := lease.New()
//	go l.Watch(ctx)
//	l.Grant(30 * time.Second)
//	l.Covers(cmd.Process)
//
// # Invariants
//
// A covered worker ends with the lease, even if the rest of the launcher hangs. The lease is
// shorter than the manager's launcherLostAfter. It needs no lock that is held during disk or
// network access. Workers receive the end of the lease, and end themselves. A watch that uses only
// atomics and kill(2) ends those that do not.
package lease

import (
	"context"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hamadryad/hamadryad/engine/worker/ipc"
)

// Lease is independent of the rest of the launcher: workers end with the lease whatever else hangs.
// They receive its end and end themselves, because a launcher may be frozen; Watch kills those that
// do not. Safe for concurrent use.
type Lease struct {
	length atomic.Int64 // ns; 0 before the first welcome
	ends   atomic.Int64 // by the machine's monotonic clock, ns; 0: there is no lease

	granted chan struct{} // holds one: the watch has to read ends again

	mu      sync.Mutex               // held for a moment only
	workers map[*os.Process]struct{} // workers that are not known to have ended
}

// New returns a lease that has not been granted.
func New() *Lease {
	return &Lease{granted: make(chan struct{}, 1), workers: map[*os.Process]struct{}{}}
}

const (
	// leaseLook is how often the workers are killed while the lease is over.
	leaseLook = 50 * time.Millisecond
	// noLease is how long the watch sleeps when there is no lease: a grant wakes it.
	noLease = time.Hour
)

// Grant begins a lease.
func (l *Lease) Grant(length time.Duration) {
	l.length.Store(int64(length))
	if length > 0 {
		l.ends.Store(ipc.Now() + int64(length))
	}
	select {
	case l.granted <- struct{}{}:
	default:
	}
}

// Renew extends the lease, counted from when the message was sent that the manager answered.
func (l *Lease) Renew(sent time.Time) {
	ends := ipc.Now() - int64(time.Since(sent)) + l.length.Load()
	for {
		before := l.ends.Load()
		if before == 0 || ends <= before || l.ends.CompareAndSwap(before, ends) {
			return
		}
	}
}

// End forgets the lease, when all workers under it are gone.
func (l *Lease) End() { l.ends.Store(0) }

// Over reports whether the lease ran out. Before the first welcome there is no lease.
func (l *Lease) Over() bool {
	ends := l.ends.Load()
	return ends != 0 && ipc.Now() > ends
}

// Terms returns the lease's length, and its end by the clock of ipc.Now, both in nanoseconds; 0
// while there is no lease.
func (l *Lease) Terms() (length, ends int64) { return l.length.Load(), l.ends.Load() }

// left returns how long the watch may sleep. A renewal meanwhile only makes it wake too early.
func (l *Lease) left() time.Duration {
	ends := l.ends.Load()
	if ends == 0 {
		return noLease
	}
	return max(time.Duration(ends-ipc.Now())+time.Millisecond, leaseLook)
}

// Part returns 1/n of the lease, at most max; max while no lease is known.
func (l *Lease) Part(n int, max time.Duration) time.Duration {
	if length := time.Duration(l.length.Load()); length > 0 {
		return min(length/time.Duration(n), max)
	}
	return max
}

// Covers has a worker end with the lease, until Gone.
func (l *Lease) Covers(p *os.Process) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.workers[p] = struct{}{}
}

// Gone notes that a worker has ended.
func (l *Lease) Gone(p *os.Process) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.workers, p)
}

// Watch kills all workers when the lease has run out. It waits for nothing: their child processes
// die with them, and the goroutine that waits for a worker ends the rest.
func (l *Lease) Watch(ctx context.Context) {
	for {
		select {
		case <-time.After(l.left()):
		case <-l.granted:
		case <-ctx.Done():
			return
		}
		if !l.Over() {
			continue
		}
		l.mu.Lock()
		for p := range l.workers {
			_ = p.Kill() // it has ended already, or it ends now
		}
		l.mu.Unlock()
	}
}
