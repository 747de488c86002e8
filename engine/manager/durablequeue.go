package manager

import "sync"

// durableQueue keeps actions until the log reports that their cause is durable. They run in the
// order in which they were added, one at a time, and must not block.
type durableQueue struct {
	mu      sync.Mutex
	durable uint64
	waiting []pendingAction
	busy    bool // a goroutine is working on the queue
}

// pendingAction is an action to run when record seq is durable.
type pendingAction struct {
	seq uint64
	do  func()
}

// add runs do when record seq is durable, at once if it is.
func (h *durableQueue) add(seq uint64, do func()) {
	h.mu.Lock()
	h.waiting = append(h.waiting, pendingAction{seq, do})
	h.release()
}

// reached notes that all records up to seq are durable.
func (h *durableQueue) reached(seq uint64) {
	h.mu.Lock()
	h.durable = max(h.durable, seq)
	h.release()
}

// release runs the due actions and unlocks. If a goroutine runs them already, release leaves them
// to it, so that they keep their order.
func (h *durableQueue) release() {
	defer h.mu.Unlock()
	if h.busy {
		return
	}
	h.busy = true
	for len(h.waiting) > 0 && h.waiting[0].seq <= h.durable {
		do := h.waiting[0].do
		h.waiting[0].do = nil
		h.waiting = h.waiting[1:]
		h.mu.Unlock()
		do()
		h.mu.Lock()
	}
	h.busy = false
}
