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

// copies are those of a file.
type copies struct {
	newest one
	older  []one
}

// one is a copy.
type one struct {
	version version
	bytes   int64
}

// with is these and another one: the newest counts.
func (c copies) with(o one) copies {
	if o.version > c.newest.version {
		c.newest, o = o, c.newest
	}
	if o.version != 0 {
		c.older = append(slices.Clip(c.older), o)
	}
	return c
}

// next is which one goes next when all go: the newest last.
func (c copies) next() one {
	if len(c.older) > 0 {
		return c.older[0]
	}
	return c.newest
}

// without is these but for one.
func (c copies) without(o one) copies {
	if o == c.newest {
		return copies{}
	}
	c.older = slices.DeleteFunc(slices.Clone(c.older), func(x one) bool { return x == o })
	return c
}

// version is which state of a file a copy is of: the time of its last change, in nanoseconds since 1970.
type version int64

// list finds what copies there are.
func (m *Mirror) list(ctx context.Context) (map[string]copies, error) {
	if !m.made.Load() {
		if err := m.makeFolders(ctx); err != nil {
			return nil, err
		}
		m.made.Store(true)
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
			there[name] = there[name].with(one{v, f.Size})
		}
	}
	return there, nil
}

// makeFolders makes those of the copy, with all above.
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

// url is that of a copy.
func (m *Mirror) url(name string, v version) string {
	return storage.Join(m.o.URL, fmt.Sprintf("%s.%x", name, int64(v)))
}

// named reads the name of a copy.
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

// removeOne removes a copy.
func (m *Mirror) removeOne(ctx context.Context, name string, o one) error {
	if err := m.store.Delete(ctx, m.url(name, o.version)); err != nil {
		return err
	}
	if m.there[name] = m.there[name].without(o); m.there[name].newest == (one{}) {
		delete(m.there, name)
	}
	return nil
}

// removeOlder removes older copies for which there is no room, the oldest first, and notes how many are
// left.
func (m *Mirror) removeOlder(ctx context.Context) error {
	type named struct {
		name string
		one
	}
	var all []named
	bytes := int64(0)
	for name, c := range m.there {
		for _, o := range c.older {
			all = append(all, named{name, o})
			bytes += o.bytes
		}
	}
	slices.SortFunc(all, func(x, y named) int {
		return cmp.Or(cmp.Compare(x.version, y.version), strings.Compare(x.name, y.name))
	})
	defer func() { m.leaves(len(all), bytes) }()
	for ; len(all) > 0 && bytes > m.olderBytesMax(); all = all[1:] {
		if err := m.removeOne(ctx, all[0].name, all[0].one); err != nil {
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

// leaves notes how many older copies there are.
func (m *Mirror) leaves(n int, bytes int64) {
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
