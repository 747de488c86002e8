package history

// Changed returns a channel that is closed when State has another Revision or Listed.
func (h *History) Changed() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.waked == nil {
		h.waked = make(chan struct{})
	}
	return h.waked
}

// What touch says of a change.
const (
	stateChanged = false // something of State
	listChanged  = true  // jobs that ended are listed, or not any more, and did not end just now
)

// touch notes a change, and wakes who waits for one.
func (h *History) touch(what bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.touched(what)
}

// touched is touch for who holds mu.
func (h *History) touched(what bool) {
	h.state.Revision++
	if what == listChanged {
		h.state.Listed++
	}
	if h.waked != nil {
		close(h.waked)
		h.waked = nil
	}
}
