package query

// Changed returns a channel that is closed when something has changed since.
func (m *Model) Changed() <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.waked == nil {
		m.waked = make(chan struct{})
	}
	return m.waked
}

// wake wakes all readers that wait for a change.
func (m *Model) wake() {
	if m.waked != nil {
		close(m.waked)
		m.waked = nil
	}
}
