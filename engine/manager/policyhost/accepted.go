package policyhost

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/hamadryad/hamadryad/internal/atomicfile"
)

// acceptedFile is the file of the last accepted configuration, beside the event log.
const acceptedFile = "configuration.accepted"

// Accepted returns the configuration that a manager with this data folder accepted last: the bytes
// of Policy.Source, nil when there are none. A starting manager uses it when the current
// configuration has mistakes: otherwise running work would be lost with the lease.
func Accepted(data string) ([]byte, error) {
	b, err := os.ReadFile(filepath.Join(data, acceptedFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return b, err
}

// acceptance puts the whole configuration in force once a policy has accepted its part of it. It
// also keeps that configuration for a manager that starts while the file is wrong. Safe for
// concurrent use.
type acceptance struct {
	folder string

	mu     sync.Mutex
	newest *Policy // accepted last; nil: none

	flushing sync.Mutex // held while a configuration is put in force; it guards the fields below
	done     *Policy    // took effect last
	written  []byte     // is in the file
}

// accept notes a configuration that a policy has accepted; flush puts it in force.
func (a *acceptance) accept(spec Policy) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.newest = &spec
}

// has reports whether the policy that accepted last has this program and these settings.
func (a *acceptance) has(spec Policy) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.newest != nil && SameSettings(*a.newest, spec)
}

// flush puts the last accepted configuration in force, unless it is, and replaces the file durably
// and as a whole. An older waiting one is skipped. The error is of the file alone.
func (a *acceptance) flush() error {
	a.flushing.Lock()
	defer a.flushing.Unlock()
	a.mu.Lock()
	newest := a.newest
	a.mu.Unlock()
	if newest != a.done && newest.InForce != nil {
		newest.InForce()
	}
	a.done = newest
	if newest.Source == nil || string(newest.Source) == string(a.written) {
		return nil
	}
	if err := atomicfile.Replace(filepath.Join(a.folder, acceptedFile), newest.Source); err != nil {
		return fmt.Errorf("the accepted configuration can't be kept: %w", err)
	}
	a.written = newest.Source
	return nil
}
