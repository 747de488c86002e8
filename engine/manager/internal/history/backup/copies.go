package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/hamadryad/hamadryad/sdk/storage"
)

// copies are the copies of a file.
type copies struct {
	newest stored
	older  []stored
}

// stored is a copy of a file.
type stored struct {
	version version
	bytes   int64
}

// with returns the copies with another one.
func (c copies) with(o stored) copies {
	if o.version > c.newest.version {
		c.newest, o = o, c.newest
	}
	if o.version != 0 {
		c.older = append(slices.Clip(c.older), o)
	}
	return c
}

// next returns the copy to remove next when all are removed: the newest last.
func (c copies) next() stored {
	if len(c.older) > 0 {
		return c.older[0]
	}
	return c.newest
}

// without returns the copies except one.
func (c copies) without(o stored) copies {
	if o == c.newest {
		return copies{}
	}
	c.older = slices.DeleteFunc(slices.Clone(c.older), func(x stored) bool { return x == o })
	return c
}

// version is the time of a file's last change, in nanoseconds since 1970.
type version int64

// list lists all copies on the store, by the names of their files.
func (m *Mirror) list(ctx context.Context) (map[string]copies, error) {
	if !m.foldersMade.Load() {
		if err := m.makeFolders(ctx); err != nil {
			return nil, err
		}
		m.foldersMade.Store(true)
	}
	there := map[string]copies{}
	for folder := range m.o.Folders {
		found, err := m.store.List(ctx, storage.Join(m.o.URL, folder))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for _, f := range found {
			name, v, ok := m.named(folder, f.Path[strings.LastIndexByte(f.Path, '/')+1:])
			if !ok || f.Folder {
				continue
			}
			there[name] = there[name].with(stored{v, f.Size})
		}
	}
	return there, nil
}

// makeFolders makes the folders of the copy, and those above them.
func (m *Mirror) makeFolders(ctx context.Context) error {
	for folder := range m.o.Folders {
		if err := m.makeFolder(ctx, storage.Join(m.o.URL, folder)); err != nil {
			return err
		}
	}
	return nil
}

func (m *Mirror) makeFolder(ctx context.Context, url string) error {
	err := m.store.Mkdir(ctx, url)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return nil
	}
	above := url[:max(strings.LastIndexByte(url, '/'), 0)]
	if !errors.Is(err, fs.ErrNotExist) || above == "" || strings.HasSuffix(above, "/") {
		return err
	}
	if err := m.makeFolder(ctx, above); err != nil {
		return err
	}
	if err := m.store.Mkdir(ctx, url); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// url returns the URL of a copy.
func (m *Mirror) url(name string, v version) string {
	return storage.Join(m.o.URL, fmt.Sprintf("%s.%x", name, int64(v)))
}

// named parses the name of a copy. Ok is false if a copy can't have the name.
func (m *Mirror) named(folder, base string) (name string, v version, ok bool) {
	file, text, ok := cutLast(base, ".")
	n, err := strconv.ParseInt(text, 16, 64)
	if !ok || err != nil || n <= 0 || fmt.Sprintf("%x", n) != text || !strings.HasSuffix(file, m.o.Folders[folder]) {
		return "", 0, false
	}
	return folder + "/" + file, version(n), true
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// removeCopy removes a copy.
func (m *Mirror) removeCopy(ctx context.Context, name string, o stored) error {
	if err := m.store.Delete(ctx, m.url(name, o.version)); err != nil {
		return err
	}
	if m.known[name] = m.known[name].without(o); m.known[name].newest == (stored{}) {
		delete(m.known, name)
	}
	return nil
}

// removeOlder removes older copies beyond the bound, the oldest first, and counts the rest.
func (m *Mirror) removeOlder(ctx context.Context) error {
	type named struct {
		name string
		stored
	}
	var all []named
	bytes := int64(0)
	for name, c := range m.known {
		for _, o := range c.older {
			all = append(all, named{name, o})
			bytes += o.bytes
		}
	}
	slices.SortFunc(all, func(x, y named) int {
		return cmp.Or(cmp.Compare(x.version, y.version), strings.Compare(x.name, y.name))
	})
	defer func() { m.setOlder(len(all), bytes) }()
	for ; len(all) > 0 && bytes > m.olderBytesMax(); all = all[1:] {
		if err := m.removeCopy(ctx, all[0].name, all[0].stored); err != nil {
			return err
		}
		bytes -= all[0].bytes
	}
	return nil
}

func (m *Mirror) olderBytesMax() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.olderMax
}

// setOlder records how many older copies there are.
func (m *Mirror) setOlder(n int, bytes int64) {
	m.mu.Lock()
	was := m.state.Older
	m.state.Older, m.state.OlderBytes = n, bytes
	m.mu.Unlock()
	if n > was {
		m.o.Log.Warn("history's store has older files of jobs that have newer ones: the newest is shown", "store", m.o.URL, "olderFiles", n, "bytes", bytes, "remedy", "if another cluster has the same store, give it one of its own")
	}
	if n != was {
		m.o.Changed()
	}
}
