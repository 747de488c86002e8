package recovery

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/hamadryad/hamadryad/engine/eventlog"
	"github.com/hamadryad/hamadryad/engine/manager/internal/blobs"
	"github.com/hamadryad/hamadryad/engine/plan"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/internal/atomicfile"
)

// GraphStore keeps the graphs that are too large for the event log, in a folder beside it, each
// under its SHA-256. A log file has only the hash, so a graph stays as long as a log file that may
// name it.
type GraphStore struct {
	Folder string // the graphs are here
	log    *slog.Logger

	reading sync.Mutex // one graph is decoded at a time: it takes several times its size

	mu    sync.Mutex
	ready map[string]*readyGraph // decoded, for a submission in progress
}

type readyGraph struct {
	graph *wire.Graph // nil once the core took it
	users int
}

// OpenGraphs returns the graphs kept in a folder, which is made when it is needed.
func OpenGraphs(folder string, log *slog.Logger) *GraphStore {
	return &GraphStore{Folder: folder, log: log, ready: map[string]*readyGraph{}}
}

// StoreGraph makes a graph durable here, from the submitter's blob, and decodes it for the core.
// The caller calls done when the submission was answered.
func (g *GraphStore) StoreGraph(hash string, blob func() (io.ReadCloser, error)) (done func(), err error) {
	g.reading.Lock()
	defer g.reading.Unlock()
	g.mu.Lock()
	r := g.ready[hash]
	g.mu.Unlock()
	if r == nil || r.graph == nil {
		graph, err := g.fetch(hash, blob)
		if err != nil {
			return nil, err
		}
		r = &readyGraph{graph: graph}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if old := g.ready[hash]; old != nil {
		old.graph, r = r.graph, old
	}
	g.ready[hash] = r
	r.users++
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if r.users--; r.users == 0 {
			delete(g.ready, hash)
		}
	}, nil
}

// fetch reads the folder's own file, or makes it of the blob.
func (g *GraphStore) fetch(hash string, blob func() (io.ReadCloser, error)) (*wire.Graph, error) {
	if graph, err := g.read(hash); err == nil {
		return graph, g.use(hash)
	}
	f, err := blob()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, wire.GraphBytesMax+1))
	if err != nil {
		return nil, err
	}
	graph, err := decodeGraph(hash, data)
	if err != nil {
		return nil, err
	}
	return graph, g.write(hash, data)
}

func decodeGraph(hash string, data []byte) (*wire.Graph, error) {
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != hash {
		return nil, fmt.Errorf("graph %s: what is kept of it has another SHA-256: %w", hash, blobs.ErrDamaged)
	}
	return plan.DecodeGraph(data)
}

func (g *GraphStore) path(hash string) string { return filepath.Join(g.Folder, hash) }

func (g *GraphStore) read(hash string) (*wire.Graph, error) {
	if !blobs.IsHash(hash) {
		return nil, fmt.Errorf("%q is no SHA-256 in hexadecimal digits", hash)
	}
	data, err := os.ReadFile(g.path(hash))
	if err != nil {
		return nil, err
	}
	return decodeGraph(hash, data)
}

// write makes the file, durably: it is there before the log names it.
func (g *GraphStore) write(hash string, data []byte) error {
	if err := os.MkdirAll(g.Folder, 0o700); err != nil {
		return err
	}
	if err := atomicfile.Replace(g.path(hash), data); err != nil {
		return err
	}
	return atomicfile.SyncFolder(filepath.Dir(g.Folder))
}

// use notes that a graph is needed now.
func (g *GraphStore) use(hash string) error { return os.Chtimes(g.path(hash), time.Time{}, time.Now()) }

// Load is core.Graphs: the core becomes the graph's owner.
func (g *GraphStore) Load(hash string) (*wire.Graph, error) {
	g.mu.Lock()
	if r := g.ready[hash]; r != nil && r.graph != nil {
		graph := r.graph
		r.graph = nil
		g.mu.Unlock()
		return graph, nil
	}
	g.mu.Unlock()
	return g.read(hash)
}

// Check reports whether Load will succeed.
func (g *GraphStore) Check(hash string) error {
	g.mu.Lock()
	r := g.ready[hash]
	there := r != nil && r.graph != nil
	g.mu.Unlock()
	if there {
		return nil
	}
	graph, err := g.read(hash)
	if err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if r := g.ready[hash]; r != nil {
		r.graph = graph
	}
	return nil
}

// KeepOnly notes that the new file of the log needs these graphs: live jobs have them.
func (g *GraphStore) KeepOnly(live []string) {
	var errs []error
	for _, hash := range live {
		errs = append(errs, g.use(hash))
	}
	if err := errors.Join(errs...); err != nil {
		g.log.Warn("graphs that jobs need could not be marked as needed", "folder", g.Folder, "error", err)
	}
}

// Prune removes the graphs that no log file can need. It keeps the graphs in live, which live jobs
// have, and those used since the oldest file began.
func (g *GraphStore) Prune(live []string, log string) {
	g.KeepOnly(live)
	if err := g.removeOld(log); err != nil {
		g.log.Warn("graphs that no event log file needs could not be removed", "folder", g.Folder, "error", err)
	}
}

func (g *GraphStore) removeOld(log string) error {
	entries, err := os.ReadDir(g.Folder)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	files, err := eventlog.Files(log)
	if err != nil || len(files) == 0 {
		return err
	}
	oldest, err := eventlog.ReadHeader(files[0])
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && info.ModTime().Before(time.Unix(0, oldest.Created).Add(-graphGrace)) {
			errs = append(errs, os.Remove(filepath.Join(g.Folder, e.Name())))
		}
	}
	return errors.Join(errs...)
}

// graphGrace covers the time between the use of a graph and the log record that names it.
const graphGrace = 10 * time.Minute
