package hdfs

import (
	"maps"
	"sync"
	"time"
)

const (
	// avoidFor is how long a DataNode that failed is asked last.
	avoidFor = time.Minute
	// failuresMax bounds the DataNodes whose failure is remembered.
	failuresMax = 1024
)

// health remembers which DataNodes failed lately, by address. Safe for concurrent
// use.
type health struct {
	mu     sync.Mutex
	failed map[string]time.Time
}

func (h *health) fail(address string, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.failed == nil || len(h.failed) >= failuresMax {
		h.failed = map[string]time.Time{} // that many at once are no reason to avoid any
	}
	h.failed[address] = now
}

// troubled reports whether any DataNode ever failed: while none has, what HDFS
// suggests is best.
func (h *health) troubled() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.failed) > 0
}

func (h *health) snapshot() map[string]time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return maps.Clone(h.failed)
}

// choose picks the DataNode to read a block from: the library asks for one, others
// hold the block too, in HDFS's order, nearest first. Those that have not failed for
// avoidFor come first, in that order; then the one whose failure is longest ago.
//
// The library never again asks for a near DataNode that failed once, as long as
// there is another: choose makes it come back.
func choose(asked string, replicas []string, failed map[string]time.Time, now time.Time) string {
	best, bestFailed := "", time.Time{}
	for _, address := range replicas {
		at, bad := failed[address]
		if !bad || now.Sub(at) >= avoidFor {
			return address
		}
		if best == "" || at.Before(bestFailed) {
			best, bestFailed = address, at
		}
	}
	if best == "" {
		return asked
	}
	return best
}
