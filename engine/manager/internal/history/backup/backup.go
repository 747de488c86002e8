// Package backup keeps a copy of a folder's files on another store, such as HDFS, and restores files that the folder
// lacks. So a new machine gets the folder of one that was lost.
//
//	m, err := backup.Start(backup.Options{Local: "data/history", Folders: …, URL: "hdfs:///hamadryad/history", Restored: index})
//	…
//	m.Remove("jobs/12.history")
//
// # Invariants
//
// Folder and store are compared every few seconds, so no list of due copies has to be kept. A store that was away gets
// all files afterwards. No caller waits for the store. A copy's name has the time of its file's last change. A newer copy
// replaces an older one once it is whole.
//
// Three kinds of copies are removed from the store. These are copies of files that Remove names,
// older ones of files that only grow, and older ones beyond SetOlderMax. Any other older copy may
// be of another cluster's job of the same number. The folder does not have its content, so State
// counts such copies.
//
// # Start on a new machine
//
// With manager.history.store set, files of jobs and of ends of logs are copied within seconds of their last change.
// Missing files are restored at the start, so a manager on a new machine shows the jobs of the lost one. While the store
// is away, status says so.
//
// Only the first start with new data waits for the store, 30 seconds at most. It asks for the largest number of a job,
// and records in the log's first step where its own numbers begin (ManagerStart.jobs_above). A file that a bound
// removes is removed from the store too. Samples and live jobs are not copied.
package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hamadryad/hamadryad/internal/atomicfile"
	"github.com/hamadryad/hamadryad/sdk/storage"
)

const (
	// lookEach is the time from one comparison to the next, and tryAgain that after the store failed.
	lookEach = 5 * time.Second
	tryAgain = 30 * time.Second
	// quiet is how long a file must be unchanged to be copied: one that grows is copied when it has stopped.
	quiet = 3 * time.Second
	// fetchFailuresMax is how many files may fail to be restored before the rest waits for the next comparison.
	fetchFailuresMax = 4
	// copyMax bounds the time of copying one file.
	copyMax = 10 * time.Minute
)

// Options say what is copied, and where to.
type Options struct {
	Local    string            // the folder whose files are copied
	Folders  map[string]string // folders in it that are copied, each with the suffix of its files' names
	GrowOnly []string          // those of Folders whose files only grow, so that a newer copy has all of an older one
	URL      string            // of the copy, without the folders' names; it is made if it does not exist
	// Restored is called for each restored file, with its name below Local.
	Restored func(name string)
	// Changed is called when a field of State except Waiting changed; nil: nothing is called.
	Changed func()
	Log     *slog.Logger     // nil: slog.Default
	Now     func() time.Time // nil: time.Now
	Look    time.Duration    // time from one comparison to the next; 0: lookEach

	again time.Duration // time to the next comparison after the store failed; 0: tryAgain
}

// State describes the copy.
type State struct {
	Waiting int       // number of files that are not copied yet, as far as known
	Behind  time.Time // since when the store, or a copy on it, can't be used; zero: it can
	Err     error     // why it can't be used; nil: it can
	// Older counts copies that were kept although their files have newer ones. OlderBytes is their size.
	Older      int
	OlderBytes int64
}

// Mirror keeps a copy. Safe for concurrent use.
type Mirror struct {
	o           Options
	store       storage.Store
	end         context.CancelFunc
	done        chan struct{}
	known       map[string]copies // copies by name, used by run alone; nil: not listed yet
	missing     []string          // names to restore, used by run alone; those that failed are last
	foldersMade atomic.Bool       // the folders of the copy were made; if they vanish later, a file system may be unmounted, and they are not made again

	mu       sync.Mutex
	removals map[string]bool // names whose copies must be removed
	olderMax int64           // size of the older copies that may stay
	state    State
}

// Start starts the copy. The error says that the kind of store is unknown.
func Start(o Options) (*Mirror, error) {
	s, err := storage.For(o.URL)
	if err != nil {
		return nil, err
	}
	if o.URL, err = storage.Absolute(o.URL); err != nil {
		return nil, err
	}
	if o.Changed == nil {
		o.Changed = func() {}
	}
	o.Log, o.Look, o.again = cmp.Or(o.Log, slog.Default()), cmp.Or(o.Look, lookEach), cmp.Or(o.again, tryAgain)
	if o.Now == nil {
		o.Now = time.Now
	}
	ctx, end := context.WithCancel(context.Background())
	m := &Mirror{o: o, store: s, end: end, done: make(chan struct{}), removals: map[string]bool{}, olderMax: math.MaxInt64}
	go m.run(ctx)
	return m, nil
}

// Remove removes the copies of a file that was removed on purpose. It does not wait.
func (m *Mirror) Remove(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.removals[name] = true
}

func (m *Mirror) isRemoved(name string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.removals[name]
}

// SetOlderMax bounds the size of older copies. Until it is called, all stay.
func (m *Mirror) SetOlderMax(bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.olderMax = bytes
}

// Names lists all files that have copies, in no order. It asks the store; the error says that the store can't be reached.
func (m *Mirror) Names(ctx context.Context) ([]string, error) {
	there, err := m.list(ctx)
	return slices.Collect(maps.Keys(there)), err
}

// State returns the state of the copy now.
func (m *Mirror) State() State {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.state
}

// Close stops the copy. Files that are not copied yet are copied after the next Start.
func (m *Mirror) Close() {
	m.end()
	<-m.done
}

func (m *Mirror) run(ctx context.Context) {
	defer close(m.done)
	for wait := time.Duration(0); ; {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
		err := m.syncOnce(ctx)
		if ctx.Err() != nil {
			return
		}
		m.setErr(err)
		if wait = m.o.Look; err != nil {
			wait = max(wait, m.o.again)
		}
	}
}

// setErr records whether the store can be used.
func (m *Mirror) setErr(err error) {
	m.mu.Lock()
	was := m.state.Behind
	switch m.state.Err = err; {
	case err == nil:
		m.state.Behind = time.Time{}
	case was.IsZero():
		m.state.Behind = m.o.Now()
	}
	now := m.state.Behind
	m.mu.Unlock()
	switch {
	case now.Equal(was):
		return
	case err == nil:
		m.o.Log.Info("history's store can be used again", "store", m.o.URL, "behindSince", was)
	default:
		m.o.Log.Error("history's store can't be used: what could not be copied, or brought back, is tried again", "store", m.o.URL, "error", err)
	}
	m.o.Changed()
}

// syncOnce restores missing files, removes copies, and copies new files. A file that can't be restored does not stop the
// rest.
func (m *Mirror) syncOnce(ctx context.Context) error {
	if m.known == nil {
		there, err := m.list(ctx)
		if err != nil {
			return err
		}
		m.known, m.missing = there, slices.Sorted(maps.Keys(there))
	}
	lacking := m.restoreMissing(ctx)
	err := m.removeCopies(ctx)
	if err == nil {
		err = m.copyAll(ctx)
	}
	if err == nil {
		err = m.removeOlder(ctx)
	}
	if err != nil {
		m.known = nil // the store may have less when it is back
	}
	return errors.Join(lacking, err)
}

// restoreMissing restores the files that the folder lacks, in order of their names. After fetchFailuresMax failures it
// leaves the rest to the next comparison: the store may be away.
func (m *Mirror) restoreMissing(ctx context.Context) (first error) {
	brought, todo := 0, m.missing
	var failed []string
	for len(todo) > 0 && len(failed) < fetchFailuresMax {
		name := todo[0]
		todo = todo[1:]
		path := filepath.Join(m.o.Local, filepath.FromSlash(name))
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) || m.known[name].newest.version == 0 || m.isRemoved(name) {
			continue // the folder has it, or it was removed
		}
		if err := m.restore(ctx, name, path); err != nil {
			if failed = append(failed, name); first == nil {
				first = fmt.Errorf("%s can't be brought back: %w", name, err)
			}
			continue
		}
		brought++
		m.o.Restored(name)
	}
	if m.missing = append(slices.Clip(todo), failed...); len(m.missing) > 1 && first != nil {
		first = fmt.Errorf("%w (%d more are to come)", first, len(m.missing)-1)
	}
	if brought > 0 {
		m.o.Log.Info("history was brought back from its store", "files", brought, "store", m.o.URL)
	}
	return first
}

// restore writes a file from its newest copy.
func (m *Mirror) restore(ctx context.Context, name, path string) error {
	ctx, cancel := context.WithTimeout(ctx, copyMax)
	defer cancel()
	r, err := m.store.Open(ctx, m.url(name, m.known[name].newest.version), 0, -1)
	if err != nil {
		return err
	}
	defer r.Close()
	return atomicfile.ReplaceFrom(path, r, time.Unix(0, int64(m.known[name].newest.version)))
}

// removeCopies removes the copies of all files that Remove named.
func (m *Mirror) removeCopies(ctx context.Context) error {
	m.mu.Lock()
	gone := slices.Sorted(maps.Keys(m.removals))
	m.mu.Unlock()
	for _, name := range gone {
		for c := m.known[name]; c.newest.version != 0; c = m.known[name] { // the newest last, or an older one would count as the newest
			if err := m.removeCopy(ctx, name, c.next()); err != nil {
				return err
			}
		}
		m.mu.Lock()
		delete(m.removals, name)
		m.mu.Unlock()
	}
	return nil
}

// copyAll copies all files that are newer than their copies.
func (m *Mirror) copyAll(ctx context.Context) error {
	var names []string
	newer := map[string]version{}
	for folder, ending := range m.o.Folders {
		entries, err := os.ReadDir(filepath.Join(m.o.Local, folder))
		if err != nil {
			return err
		}
		for _, e := range entries {
			name := folder + "/" + e.Name()
			info, err := e.Info()
			if err != nil || !info.Mode().IsRegular() || !strings.HasSuffix(name, ending) || atomicfile.IsTemporary(e.Name()) {
				continue // removed meanwhile, or not a file to copy
			}
			if v := version(info.ModTime().UnixNano()); v > m.known[name].newest.version {
				names, newer[name] = append(names, name), v
			}
		}
	}
	slices.Sort(names)
	for i, name := range names {
		m.setWaiting(len(names) - i)
		if m.o.Now().Sub(time.Unix(0, int64(newer[name]))) < quiet {
			continue
		}
		if err := m.copy(ctx, name, newer[name]); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	m.setWaiting(0)
	return nil
}

func (m *Mirror) setWaiting(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.state.Waiting = n
}

// copy copies a file. For a file that only grows, it removes the copy before.
func (m *Mirror) copy(ctx context.Context, name string, v version) error {
	ctx, cancel := context.WithTimeout(ctx, copyMax)
	defer cancel()
	path := filepath.Join(m.o.Local, filepath.FromSlash(name))
	from, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // removed meanwhile
	}
	if err != nil {
		return err
	}
	defer from.Close()
	switch changed, err := m.send(ctx, from, name, v); {
	case changed:
		return nil // it is copied when it has stopped changing
	case err != nil && !errors.Is(err, fs.ErrExist): // an earlier process copied it
		return err
	}
	old := m.known[name].newest
	info, err := from.Stat()
	if err != nil {
		return err
	}
	m.known[name] = m.known[name].with(stored{v, info.Size()})
	if folder, _, _ := strings.Cut(name, "/"); old.version == 0 || !slices.Contains(m.o.GrowOnly, folder) {
		return nil
	}
	return m.removeCopy(ctx, name, old)
}

// send writes a copy. If the file changes meanwhile, it writes none.
func (m *Mirror) send(ctx context.Context, from *os.File, name string, v version) (changed bool, err error) {
	to, err := m.store.Create(ctx, m.url(name, v))
	if err != nil {
		return false, err
	}
	_, err = io.Copy(to, from)
	info, wrong := from.Stat()
	if err = errors.Join(err, wrong); err != nil || version(info.ModTime().UnixNano()) != v {
		return err == nil, errors.Join(err, to.Abort())
	}
	return false, to.Commit()
}
