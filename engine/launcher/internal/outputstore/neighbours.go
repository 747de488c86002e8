package outputstore

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hamadryad/hamadryad/engine/wire"
)

const (
	// neighboursAge is how old the list of neighbours may be.
	neighboursAge = time.Second
	// neighboursWait is how long the disk may take to return the list. The caller holds the agent's
	// lock, and readers can still use the network.
	neighboursWait = 50 * time.Millisecond
)

// Neighbours are the launchers of this machine that share its cache folder. Their stores are read
// directly: no bytes go through a socket. Each launcher notes its store's folder under its data
// address.
type Neighbours struct {
	folder string
	own    *wire.LocalStore

	mu      sync.Mutex
	read    time.Time
	all     []*wire.LocalStore // ascending by address; always includes own
	reading bool               // at most one goroutine reads
}

// NewNeighbours notes this launcher's store for the others that share the cache folder.
func NewNeighbours(cache, address, store string) (*Neighbours, error) {
	n := &Neighbours{folder: filepath.Join(cache, "stores"), own: &wire.LocalStore{Address: address, Folder: store}}
	n.all = []*wire.LocalStore{n.own}
	if err := os.MkdirAll(n.folder, 0o700); err != nil {
		return nil, fmt.Errorf("launcher's cache: %w", err)
	}
	temporary := n.path() + ".new"
	if err := os.WriteFile(temporary, []byte(store), 0o600); err != nil {
		return nil, fmt.Errorf("launcher's cache: %w", err)
	}
	if err := os.Rename(temporary, n.path()); err != nil {
		return nil, fmt.Errorf("launcher's cache: %w", err)
	}
	return n, nil
}

func (n *Neighbours) path() string { return filepath.Join(n.folder, url.PathEscape(n.own.Address)) }

// List returns the stores of this machine. A note of a dead launcher names a folder without the
// wanted file; the reader then uses the network.
func (n *Neighbours) List() []*wire.LocalStore {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.reading || time.Since(n.read) < neighboursAge {
		return n.all
	}
	n.reading = true
	done := make(chan struct{})
	go func() {
		defer close(done)
		all, err := n.notes()
		n.mu.Lock()
		defer n.mu.Unlock()
		n.reading, n.read = false, time.Now()
		if err == nil {
			n.all = all
		}
	}()
	n.mu.Unlock()
	late := time.NewTimer(neighboursWait)
	select {
	case <-done:
	case <-late.C:
	}
	late.Stop()
	n.mu.Lock()
	return n.all
}

// notes reads the notes of all launchers of this machine.
func (n *Neighbours) notes() ([]*wire.LocalStore, error) {
	entries, err := os.ReadDir(n.folder)
	if err != nil {
		return nil, err
	}
	all := []*wire.LocalStore{n.own}
	for _, e := range entries {
		address, err := url.PathUnescape(e.Name())
		if err != nil || strings.HasSuffix(e.Name(), ".new") || address == n.own.Address {
			continue
		}
		if folder, err := os.ReadFile(filepath.Join(n.folder, e.Name())); err == nil {
			all = append(all, &wire.LocalStore{Address: address, Folder: string(folder)})
		}
	}
	slices.SortFunc(all, func(x, y *wire.LocalStore) int { return strings.Compare(x.Address, y.Address) })
	return all, nil
}

// Leave removes this launcher's note.
func (n *Neighbours) Leave() { _ = os.Remove(n.path()) }
