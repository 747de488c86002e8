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

// change is what touch says of one.
type change int

const (
	stateChanged change = iota // something of State
	listChanged                // jobs that ended are listed, or not any more, and did not end just now
)

// touch notes a change, and wakes who waits for one.
func (h *History) touch(what change) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.touched(what)
}

// touched is touch for who holds mu.
func (h *History) touched(what change) {
	h.state.Revision++
	if what == listChanged {
		h.state.Listed++
	}
	if h.waked != nil {
		close(h.waked)
		h.waked = nil
	}
}
