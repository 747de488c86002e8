//go:build !linux

package serve

// askDeathSignal does nothing here: only polling watches the host.
func askDeathSignal() {}
