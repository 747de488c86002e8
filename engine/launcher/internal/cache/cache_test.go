package cache_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hamadryad/hamadryad/engine/launcher/internal/cache"
)

// manager is the source of a cache's blobs.
type manager struct {
	blobs   map[string]string
	fetches atomic.Int32
	first   func(content string) string // content sent for a blob that is not doubted; nil: its own
}

func (m *manager) fetch(_ context.Context, hash string, doubted bool, to io.Writer) error {
	m.fetches.Add(1)
	content, ok := m.blobs[hash]
	if !ok {
		return errors.New("no such blob")
	}
	if m.first != nil && !doubted {
		content = m.first(content)
	}
	_, err := io.WriteString(to, content)
	return err
}

// start returns a cache before a manager that has some blobs, and their hashes.
func start(t *testing.T, max int64, contents ...string) (*cache.Cache, *manager, string, []string) {
	t.Helper()
	m := &manager{blobs: map[string]string{}}
	var hashes []string
	for _, c := range contents {
		sum := sha256.Sum256([]byte(c))
		hashes = append(hashes, hex.EncodeToString(sum[:]))
		m.blobs[hashes[len(hashes)-1]] = c
	}
	folder := filepath.Join(t.TempDir(), "cache")
	c, err := cache.New(folder, max, m.fetch)
	if err != nil {
		t.Fatal(err)
	}
	return c, m, folder, hashes
}

func get(t *testing.T, c *cache.Cache, hash, want string) {
	t.Helper()
	path, err := c.Get(t.Context(), hash)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("it holds %q (%v), want %q", got, err, want)
	}
}

// A blob is fetched once for all callers. A blob that is damaged, or that misbehaves, is verified
// again.
func TestFetchesWhatIsMissingOrDamaged(t *testing.T) {
	c, m, folder, hashes := start(t, 1<<20, "program")
	var callers sync.WaitGroup
	for range 8 {
		callers.Go(func() {
			if _, err := c.Get(t.Context(), hashes[0]); err != nil {
				t.Error(err)
			}
		})
	}
	callers.Wait()
	get(t, c, hashes[0], "program")
	c.Doubt(hashes[0])
	get(t, c, hashes[0], "program")
	if n := m.fetches.Load(); n != 1 {
		t.Errorf("it was fetched %d times", n)
	}
	if err := os.WriteFile(filepath.Join(folder, hashes[0]), []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.Doubt(hashes[0])
	get(t, c, hashes[0], "program")
	if n := m.fetches.Load(); n != 2 {
		t.Errorf("it was fetched %d times", n)
	}
}

// Wrong content is fetched again once as doubted, and never kept.
func TestWrongContentIsNotKept(t *testing.T) {
	c, m, folder, hashes := start(t, 1<<20, "program")
	m.first = func(string) string { return "wrong" }
	get(t, c, hashes[0], "program")
	if n := m.fetches.Load(); n != 2 {
		t.Errorf("it was fetched %d times", n)
	}
	for _, hash := range []string{strings.Repeat("0", 64), "../" + hashes[0], ""} {
		if _, err := c.Get(t.Context(), hash); err == nil {
			t.Errorf("there is a %q", hash)
		}
	}
	if entries, err := os.ReadDir(folder); err != nil || len(entries) != 1 {
		t.Errorf("it keeps %v (%v)", entries, err)
	}
}

// The least recently used blobs are removed to make room.
func TestShrinks(t *testing.T) {
	c, _, folder, hashes := start(t, 25, "aaaaaaaaaa", "bbbbbbbbbb", "cccccccccc")
	get(t, c, hashes[0], "aaaaaaaaaa")
	get(t, c, hashes[1], "bbbbbbbbbb")
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(folder, hashes[1]), old, old); err != nil {
		t.Fatal(err)
	}
	get(t, c, hashes[2], "cccccccccc")
	for i, want := range []bool{true, false, true} {
		if _, err := os.Stat(filepath.Join(folder, hashes[i])); (err == nil) != want {
			t.Errorf("blob %d is there: %t", i, err == nil)
		}
	}
}

// A launcher refuses to start on a file system from which no program may start. It would lose each
// attempt.
func TestNoexecIsRefused(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Fatal("only root may mount: run this test as root")
	}
	folder := t.TempDir()
	if err := unix.Mount("tmpfs", folder, "tmpfs", unix.MS_NOEXEC, "size=1m"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(folder, unix.MNT_DETACH) })
	_, err := cache.New(filepath.Join(folder, "cache"), 1<<20, nil)
	if err == nil || !strings.Contains(err.Error(), "noexec") || !strings.Contains(err.Error(), "launcher.data") {
		t.Errorf("%v", err)
	}
}
