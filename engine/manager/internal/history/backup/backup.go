// Package backup keeps a copy of a folder's files on a store of any kind, such as HDFS, and
// restores missing ones. On a new machine the folder becomes what it was on the lost one.
//
//	m, err := backup.Start(backup.Options{Local: "data/history", Folders: …, URL: "hdfs:///hamadryad/history", Took: index})
//	…
//	m.Gone("jobs/12.history")
//
// # Invariants
//
// Files are compared again and again, so nothing has to be remembered of copies that are due. A
// store that can't be reached for a while gets everything afterwards. Nobody waits for the store. A
// copy has the time of its file's last change in its name. A newer copy replaces an older one once
// it is whole.
//
// Removed from the store are only files that Gone names, older copies of files that only grow, and
// copies for which KeepOlder leaves no room. Other older copies may be of another cluster's job of
// the same number. No file here has their content, so State says how many there are.
//
// # Start on a new machine
//
// With manager.history.store set, files of jobs and of logs are copied within seconds of their last
// change. Missing files are brought back at the start, so a manager on a new machine shows the jobs
// of the lost one. While the store is away, status says so.
//
// The first start of new data is the only one that waits for the store, 30 seconds at most. It asks
// whether there were jobs, and records in the log's first step where its own count begins
// (ManagerStart.jobs_above). What a bound removes here is removed there. Samples of pools and live
// jobs are not copied: the event log has those.
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
	// lookEach is the time from one look at the local folder to the next, and tryAgain that to the
	// next try after the store failed.
	lookEach = 5 * time.Second
	tryAgain = 30 * time.Second
	// quiet is how long a file must not have changed to be copied: one that grows is copied when it
	// has stopped.
	quiet = 3 * time.Second
	// fetchFailuresMax is how many copies may not be brought back before the rest waits for the next turn.
	fetchFailuresMax = 4
	// copyMax bounds the copy of one file.
	copyMax = 10 * time.Minute
)

// Options say what is copied and where to.
type Options struct {
	Local   string            // the folder
	Folders map[string]string // those below it that are copied, each with the ending of its files' names
	Grow    []string          // those folders whose files only grow: a newer copy has all that an older one has
	URL     string            // of the copy, without the folders' names; it is made where it is missing
	// Took hears of each file that was brought back, by its name below Local.
	Took func(name string)
	// Changed hears that something of State changed, but for Waiting; nil: nobody does.
	Changed func()
	Log     *slog.Logger     // nil: slog.Default
	Now     func() time.Time // nil: time.Now
	Look    time.Duration    // from one look to the next; 0: lookEach

	again time.Duration // to the next try after the store failed; 0: tryAgain
}

// State is how the copy is.
type State struct {
	Waiting int       // files that are to be copied, as far as is known
	Behind  time.Time // since when the store, or a copy on it, can't be used; zero: all can
	Why     error     // that it can't
	// Older copies are those of files that have newer ones and were not replaced by them, and
	// OlderBytes what they take.
	Older      int
	OlderBytes int64
}

// Mirror keeps a copy. Safe for concurrent use.
type Mirror struct {
	o     Options
	store storage.Store
	end   context.CancelFunc
	done  chan struct{}
	there map[string]copies // by name; run's alone; nil: not known yet
	lacks []string          // names that are to be brought back, those that could not be last; run's alone
	made  atomic.Bool       // the folders of the copy were: ones that vanish later may be those of a mount, and are not made in its place

	mu       sync.Mutex
	gone     map[string]bool // names whose copies are to be removed
	olderMax int64           // bytes of older copies that may stay
	state    State
}

// Start begins to keep a copy. The error says that there is no such kind of store.
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
	m := &Mirror{o: o, store: s, end: end, done: make(chan struct{}), gone: map[string]bool{}, olderMax: math.MaxInt64}
	go m.run(ctx)
	return m, nil
}

// Gone says that a file was removed on purpose: its copy goes, too.
func (m *Mirror) Gone(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.gone[name] = true
}

func (m *Mirror) isGone(name string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.gone[name]
}

// KeepOlder says how many bytes of older copies may stay. Until it is said, all do.
func (m *Mirror) KeepOlder(bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.olderMax = bytes
}

// Names are those of all files that have copies, in no order. The store is asked for them, which the
// error says is not to be reached.
func (m *Mirror) Names(ctx context.Context) ([]string, error) {
	there, err := m.list(ctx)
	return slices.Collect(maps.Keys(there)), err
}

// State is how the copy is.
func (m *Mirror) State() State {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.state
}

// Close ends it. What is not copied by then is when it is started again.
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
		err := m.turn(ctx)
		if ctx.Err() != nil {
			return
		}
		m.note(err)
		if wait = m.o.Look; err != nil {
			wait = max(wait, m.o.again)
		}
	}
}

// note keeps whether the store can be used.
func (m *Mirror) note(err error) {
	m.mu.Lock()
	was := m.state.Behind
	switch m.state.Why = err; {
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

// turn makes the copy what the folder is. A copy that can't be brought back keeps no other file from its
// turn.
func (m *Mirror) turn(ctx context.Context) error {
	if m.there == nil {
		there, err := m.list(ctx)
		if err != nil {
			return err
		}
		m.there, m.lacks = there, slices.Sorted(maps.Keys(there))
	}
	lacking := m.fetch(ctx)
	err := m.remove(ctx)
	if err == nil {
		err = m.copyAll(ctx)
	}
	if err == nil {
		err = m.removeOlder(ctx)
	}
	if err != nil {
		m.there = nil // it may come back with less than it had
	}
	return errors.Join(lacking, err)
}

// fetch brings back what is not here, folder by folder in order of their names. After fetchFailuresMax it
// leaves the others to the next turn: the store may be away.
func (m *Mirror) fetch(ctx context.Context) (first error) {
	brought, todo := 0, m.lacks
	var failed []string
	for len(todo) > 0 && len(failed) < fetchFailuresMax {
		name := todo[0]
		todo = todo[1:]
		path := filepath.Join(m.o.Local, filepath.FromSlash(name))
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) || m.there[name].newest.version == 0 || m.isGone(name) {
			continue // it is here, or not to be anywhere
		}
		if err := m.bring(ctx, name, path); err != nil {
			if failed = append(failed, name); first == nil {
				first = fmt.Errorf("%s can't be brought back: %w", name, err)
			}
			continue
		}
		brought++
		m.o.Took(name)
	}
	if m.lacks = append(slices.Clip(todo), failed...); len(m.lacks) > 1 && first != nil {
		first = fmt.Errorf("%w (%d more are to come)", first, len(m.lacks)-1)
	}
	if brought > 0 {
		m.o.Log.Info("history was brought back from its store", "files", brought, "store", m.o.URL)
	}
	return first
}

// bring makes a file of its copy.
func (m *Mirror) bring(ctx context.Context, name, path string) error {
	ctx, cancel := context.WithTimeout(ctx, copyMax)
	defer cancel()
	r, err := m.store.Open(ctx, m.url(name, m.there[name].newest.version), 0, -1)
	if err != nil {
		return err
	}
	defer r.Close()
	return atomicfile.ReplaceFrom(path, r, time.Unix(0, int64(m.there[name].newest.version)))
}

// remove removes the copies of what is gone.
func (m *Mirror) remove(ctx context.Context) error {
	m.mu.Lock()
	gone := slices.Sorted(maps.Keys(m.gone))
	m.mu.Unlock()
	for _, name := range gone {
		for c := m.there[name]; c.newest.version != 0; c = m.there[name] { // the newest last: without it an older one would be taken for it
			if err := m.removeOne(ctx, name, c.next()); err != nil {
				return err
			}
		}
		m.mu.Lock()
		delete(m.gone, name)
		m.mu.Unlock()
	}
	return nil
}

// copyAll copies what is newer here.
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
				continue // it went meanwhile, or is none of ours
			}
			if v := version(info.ModTime().UnixNano()); v > m.there[name].newest.version {
				names, newer[name] = append(names, name), v
			}
		}
	}
	slices.Sort(names)
	for i, name := range names {
		m.waits(len(names) - i)
		if m.o.Now().Sub(time.Unix(0, int64(newer[name]))) < quiet {
			continue
		}
		if err := m.copy(ctx, name, newer[name]); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	m.waits(0)
	return nil
}

func (m *Mirror) waits(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.state.Waiting = n
}

// copy copies a file, and removes the copy of what it was before.
func (m *Mirror) copy(ctx context.Context, name string, v version) error {
	ctx, cancel := context.WithTimeout(ctx, copyMax)
	defer cancel()
	path := filepath.Join(m.o.Local, filepath.FromSlash(name))
	from, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it went meanwhile
	}
	if err != nil {
		return err
	}
	defer from.Close()
	switch changed, err := m.send(ctx, from, name, v); {
	case changed:
		return nil // it is copied when it is quiet
	case err != nil && !errors.Is(err, fs.ErrExist): // which an earlier life copied
		return err
	}
	old := m.there[name].newest
	info, err := from.Stat()
	if err != nil {
		return err
	}
	m.there[name] = m.there[name].with(one{v, info.Size()})
	if folder, _, _ := strings.Cut(name, "/"); old.version == 0 || !slices.Contains(m.o.Grow, folder) {
		return nil
	}
	return m.removeOne(ctx, name, old)
}

// send writes a copy, unless the file changes meanwhile.
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
