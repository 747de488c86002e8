package process

import (
	"slices"
	"strings"
	"sync"
)

// refusedNamed bounds how many system calls a failure names.
const refusedNamed = 8

// refusals are the system calls that the kernel refused an attempt. Safe for concurrent use.
type refusals struct {
	mu    sync.Mutex
	names []string // each once, in the order in which they came first
}

// add notes a call; false if it is noted already. There are some seventy names.
func (r *refusals) add(call string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if slices.Contains(r.names, call) {
		return false
	}
	r.names = append(r.names, call)
	return true
}

func (r *refusals) clear() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.names = nil
}

// text names the calls for a failure.
func (r *refusals) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.names) == 0 {
		return ""
	}
	named, more := r.names[:min(len(r.names), refusedNamed)], ""
	if len(named) < len(r.names) {
		more = " and others"
	}
	return "isolation refused it the system call " + strings.Join(named, ", ") + more + "; launcher.isolation.calls lists those that are allowed all the same"
}
