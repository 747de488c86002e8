package store

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/hamadryad/hamadryad/engine/channel"
	"github.com/hamadryad/hamadryad/sdk/job"
)

const (
	// fetchesMax bounds the concurrent requests of a Fetcher, and so the connections in use at
	// once, over all stores.
	fetchesMax = 16
	// idleConnsMax is how many unused connections a Fetcher keeps, over all stores.
	idleConnsMax = 32
	// dialMax is how long one attempt to connect may take.
	dialMax = 5 * time.Second
	// silenceMax is how long a store may send nothing in the middle of an answer.
	silenceMax = 20 * time.Second
	// triesMax is how often a window is requested before the store counts as unreachable.
	// retryPause is the wait after the first failure, and doubles.
	triesMax   = 4
	retryPause = 100 * time.Millisecond

	// BudgetDefault is the memory of all open sources when Options set none.
	BudgetDefault = 64 << 20
	// Bounds of a source's window; the budget decides between them.
	windowLeast = 64 << 10
	windowMost  = 1 << 20
)

// Options of a Fetcher. The zero value is ready to use.
type Options struct {
	// Dial opens a connection to the store of a launcher, and fails if another launcher answers.
	// nil means plain TCP, which does not check that.
	Dial func(ctx context.Context, addr, launcher string) (net.Conn, error)
	// Budget bounds the memory, in bytes, of fetched and undecoded data of all open sources
	// together; 0 means BudgetDefault. Each open source holds at least two windows of 64 KiB. What
	// Batch fetches comes on top: at most 8 KiB for each of its sources.
	Budget int64
	// RetryPause is the wait before a retry after a failed connection. It doubles each time; 0
	// means 100 ms.
	RetryPause time.Duration
}

// Fetcher fetches partitions over a bounded number of connections. Use one for each process. Safe
// for concurrent use.
type Fetcher struct {
	dial   func(ctx context.Context, addr, launcher string) (net.Conn, error)
	budget int64
	pause  time.Duration // before the second try
	slots  chan struct{} // one for each request under way
	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup // windows that are being fetched
	files  *openFiles
	merged mergedFiles

	mu     sync.Mutex
	idle   []*link // unused connections, oldest first
	open   int64   // sources that fetch
	closed bool
}

// NewFetcher makes a Fetcher; Close it after its sources.
func NewFetcher(o Options) *Fetcher {
	f := &Fetcher{dial: o.Dial, budget: o.Budget, pause: o.RetryPause, slots: make(chan struct{}, fetchesMax), files: newOpenFiles()}
	if f.dial == nil {
		f.dial = func(ctx context.Context, addr, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", addr)
		}
	}
	if f.budget <= 0 {
		f.budget = BudgetDefault
	}
	if f.pause <= 0 {
		f.pause = retryPause
	}
	f.ctx, f.cancel = context.WithCancel(context.Background())
	return f
}

// Want names one partition to fetch and where it is.
type Want struct {
	Key
	Addr      string // host:port of the store
	Launcher  string // the launcher of that store
	Token     string
	Partition int
	From      int   // index of the producing node in its stage
	Bytes     int64 // its stored size, or -1
	// Path is the file's path if it is on this machine. Then it is opened directly, and Addr and
	// Token are not used.
	Path string
	// Copies finds a merged copy of the file, by the folder of the launcher's store and the number of the
	// connection; nil: there is none. It is used with Path only.
	Copies     *Copies
	Folder     string
	Connection int
}

// Source returns the partition as a source. Nothing is opened before the first
// Next. Its errors match channel.ErrUnreachable, channel.ErrLost,
// channel.ErrDamaged or channel.ErrRefused and are final.
func (f *Fetcher) Source(w Want) job.Source {
	if w.Path != "" {
		return newLocal(f.files, w)
	}
	return newRemote(f, w)
}

// Close closes the connections and waits for the running fetches. Sources that are still open fail.
func (f *Fetcher) Close() error {
	f.mu.Lock()
	f.closed = true
	idle := f.idle
	f.idle = nil
	f.mu.Unlock()
	f.cancel()
	f.files.close()
	for _, l := range idle {
		l.close()
	}
	f.work.Wait()
	return nil
}

// begin runs one fetch in the background, unless the Fetcher is closed.
func (f *Fetcher) begin(fetch func()) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return fmt.Errorf("fetcher: %w", channel.ErrClosed)
	}
	f.work.Go(fetch)
	return nil
}

// count changes the number of sources that share the budget.
func (f *Fetcher) count(by int64) {
	f.mu.Lock()
	f.open += by
	f.mu.Unlock()
}

// window is the size of a source's request. A source holds two windows.
func (f *Fetcher) window() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return min(max(f.budget/(2*max(f.open, 1)), windowLeast), windowMost)
}

// link returns a connection to a store, an idle one if there is one, and whether it was used
// before.
func (f *Fetcher) link(ctx context.Context, at location) (*link, bool, error) {
	f.mu.Lock()
	for i := len(f.idle) - 1; i >= 0; i-- {
		if l := f.idle[i]; l.at == at {
			f.idle = append(f.idle[:i], f.idle[i+1:]...)
			f.mu.Unlock()
			return l, true, nil
		}
	}
	f.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, dialMax)
	defer cancel()
	c, err := f.dial(ctx, at.addr, at.launcher)
	if err != nil {
		return nil, false, err
	}
	return newLink(c, at), false, nil
}

// keep puts a connection back for the next request.
func (f *Fetcher) keep(l *link) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		l.close()
		return
	}
	if len(f.idle) == idleConnsMax {
		f.idle[0].close()
		f.idle = f.idle[1:]
	}
	f.idle = append(f.idle, l)
}
