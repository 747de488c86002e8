package policyhost

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/hamadryad/hamadryad/internal/atomicfile"
)

// acceptedFile is where the configuration that was last accepted is kept, beside the
// event log.
const acceptedFile = "configuration.accepted"

// Accepted returns the configuration that a manager with this data folder accepted
// last: the bytes of Policy.Source, nil when there are none. Who starts a manager
// falls back to it when the configuration can't be taken as it is now: work that
// runs would be lost with the lease otherwise.
func Accepted(data string) ([]byte, error) {
	b, err := os.ReadFile(filepath.Join(data, acceptedFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return b, err
}

// acceptedConfigStore keeps the configuration that was last accepted.
type acceptedConfigStore struct {
	folder string

	mu      sync.Mutex // of what follows
	wanted  []byte
	writing sync.Mutex
	written []byte
}

// want says what is to be kept; flush keeps it.
func (k *acceptedConfigStore) want(source []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.wanted = source
}

// flush writes what is wanted last, if it is not written yet: whole, durable and in
// the old one's place, or not at all.
func (k *acceptedConfigStore) flush() error {
	k.writing.Lock()
	defer k.writing.Unlock()
	k.mu.Lock()
	source := k.wanted
	k.mu.Unlock()
	if source == nil || string(source) == string(k.written) {
		return nil
	}
	if err := atomicfile.Replace(filepath.Join(k.folder, acceptedFile), source); err != nil {
		return fmt.Errorf("the accepted configuration can't be kept: %w", err)
	}
	k.written = source
	return nil
}
