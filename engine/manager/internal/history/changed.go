package history

// Changed returns a channel that is closed when Revision or Listed of State changes.
func (h *History) Changed() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.changed == nil {
		h.changed = make(chan struct{})
	}
	return h.changed
}

// change is a kind of change of State.
type change int

const (
	stateChanged change = iota // something of State
	listChanged                // the list of ended jobs changed, otherwise than by a job's end
)

// notify counts a change, and closes the channel of Changed.
func (h *History) notify(what change) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.notifyLocked(what)
}

// notifyLocked is notify. The caller holds mu.
func (h *History) notifyLocked(what change) {
	h.state.Revision++
	if what == listChanged {
		h.state.Listed++
	}
	if h.changed != nil {
		close(h.changed)
		h.changed = nil
	}
}
