//go:build !linux

package serve

// askDeathSignal does nothing here: only the poll watches the host.
func askDeathSignal() {}
