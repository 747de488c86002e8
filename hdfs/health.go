package hdfs

import (
	"maps"
	"sync"
	"time"
)

const (
	// avoidFor is how long a DataNode that failed is used only as a last choice.
	avoidFor = time.Minute
	// failuresMax bounds the remembered failures of DataNodes.
	failuresMax = 1024
)

// health remembers recent failures of DataNodes, by address. Safe for concurrent use.
type health struct {
	mu     sync.Mutex
	failed map[string]time.Time
}

func (h *health) fail(address string, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.failed == nil || len(h.failed) >= failuresMax {
		h.failed = map[string]time.Time{} // with so many failures none is a reason to avoid a DataNode
	}
	h.failed[address] = now
}

// troubled reports whether any DataNode failed so far: if none has, HDFS's suggestion is best.
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

// choose picks the DataNode to read a block from. asked is the library's choice; replicas are the
// block's holders in HDFS's order, nearest first. It returns the first that has not failed for
// avoidFor, or else the one whose failure is longest ago.
//
// The library never returns to a near DataNode that failed once, as long as there is another;
// choose does.
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
