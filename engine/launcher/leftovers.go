package launcher

import (
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/hamadryad/hamadryad/engine/isolate/safepath"
)

// Folders that could not be removed are tried again after leftoverAfter, doubling up to
// leftoverAfterMax, at most leftoverTries times. At most leftoversMax folders wait for that.
const (
	leftoverAfter    = time.Second
	leftoverAfterMax = 5 * time.Minute
	leftoverTries    = 20
	leftoversMax     = 1000
)

// leftovers removes temporary folders, and retries failures: a process that is about to end may
// still write there, or a disk may be read-only for a while. The folders' names are never reused in
// a launcher's run. The zero value needs log, and after, which runs a function later. Its methods
// are safe for concurrent use.
type leftovers struct {
	log   *slog.Logger
	after func(d time.Duration, do func())

	mu   sync.Mutex
	wait map[string]bool // folders whose removal is retried
}

// newLeftovers returns leftovers that retry nothing once over closes: the launcher's next run
// begins with an empty folder.
func newLeftovers(log *slog.Logger, over <-chan struct{}) *leftovers {
	return &leftovers{log: log, after: func(d time.Duration, do func()) {
		time.AfterFunc(d, func() {
			select {
			case <-over:
			default:
				do()
			}
		})
	}}
}

// remove removes name below folder. A failure is logged once, and so is the outcome of its retries.
func (l *leftovers) remove(folder, name string) {
	err := safepath.RemoveAll(folder, name)
	if err == nil {
		return
	}
	path := filepath.Join(folder, name)
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.wait[path]:
	case len(l.wait) >= leftoversMax:
		l.log.Warn("a temporary folder can't be removed, and is left behind", "folder", path, "error", err)
	default:
		if l.wait == nil {
			l.wait = map[string]bool{}
		}
		l.wait[path] = true
		l.log.Warn("a temporary folder can't be removed: that is tried again", "folder", path, "times", leftoverTries, "error", err)
		l.retryLater(folder, name, 1)
	}
}

// retryLater retries a removal later.
func (l *leftovers) retryLater(folder, name string, tries int) {
	l.after(min(leftoverAfter<<(tries-1), leftoverAfterMax), func() {
		path := filepath.Join(folder, name)
		err := safepath.RemoveAll(folder, name)
		l.mu.Lock()
		defer l.mu.Unlock()
		switch {
		case err == nil:
			l.log.Info("a temporary folder is removed after all", "folder", path)
		case tries == leftoverTries:
			l.log.Warn("a temporary folder is left behind: remove it", "folder", path, "times", tries, "error", err)
		default:
			l.retryLater(folder, name, tries+1)
			return
		}
		delete(l.wait, path)
	})
}
