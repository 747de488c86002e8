// Package cache keeps programs and plans by the hash of their content.
//
//	c, err := cache.New(folder, 8<<30, fetch)
//	path, err := c.Get(ctx, hash)
//
// A file is verified once after it appeared under its name. The files that were unused for longest
// are removed first.
//
// # Invariants
//
// A path that Get returns has the content of its hash.
package cache

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// temporaryMax is the age from which an unfinished download counts as left behind by a launcher
// that died.
const temporaryMax = time.Hour

// Cache keeps programs and plans by content hash. Several launchers of one machine may share its
// folder: files appear whole, and a file that another launcher removed is fetched again.
type Cache struct {
	folder string
	max    int64 // bytes
	fetch  Fetch

	mu       sync.Mutex // never held over the disk or the network
	flying   map[string]*flight
	verified map[string]identity
}

// Fetch writes a blob's content as the manager has it, without a check of its hash. If doubted is
// set, the manager verifies its own copy first.
type Fetch func(ctx context.Context, hash string, doubted bool, to io.Writer) error

// errWrongContent: the manager sent content with another hash.
var errWrongContent = errors.New("the manager sent other content")

// flight is a fetch that other callers may wait for.
type flight struct {
	done chan struct{}
	err  error
}

// identity shows whether a file is still the one that was verified.
type identity struct {
	inode   uint64
	size    int64
	changed time.Time
}

// New keeps at most max bytes in a folder, which it makes. Get fetches missing blobs by fetch.
func New(folder string, max int64, fetch Fetch) (*Cache, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("launcher's cache: %w", err)
	}
	// An existing folder may belong to another user; its permissions then stay as they are.
	if err := os.Chmod(folder, 0o700); err != nil && !errors.Is(err, fs.ErrPermission) {
		return nil, fmt.Errorf("launcher's cache: %w", err)
	}
	if err := checkExec(folder); err != nil {
		return nil, fmt.Errorf("launcher's cache: %w", err)
	}
	return &Cache{folder: folder, max: max, fetch: fetch, flying: map[string]*flight{}, verified: map[string]identity{}}, nil
}

// Get returns the path of a blob with the content of the hash. It fetches a missing or damaged
// blob; concurrent callers for the same blob share the fetch.
func (c *Cache) Get(ctx context.Context, hash string) (string, error) {
	if len(hash) != 2*sha256.Size || strings.Trim(hash, "0123456789abcdef") != "" {
		return "", fmt.Errorf("%q is no SHA-256 in hex", hash)
	}
	path := filepath.Join(c.folder, hash)
	c.mu.Lock()
	if f := c.flying[hash]; f != nil {
		c.mu.Unlock()
		select {
		case <-f.done:
			return path, f.err
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
	f := &flight{done: make(chan struct{})}
	c.flying[hash] = f
	c.mu.Unlock()
	f.err = c.ensure(ctx, hash, path)
	c.mu.Lock()
	delete(c.flying, hash)
	c.mu.Unlock()
	close(f.done)
	return path, f.err
}

// ensure makes path hold the blob.
func (c *Cache) ensure(ctx context.Context, hash, path string) error {
	if c.holds(hash, path) {
		return nil
	}
	err := c.download(ctx, hash, false, path)
	if errors.Is(err, errWrongContent) { // damaged in transit, or in the manager's storage: the manager verifies its copy
		err = c.download(ctx, hash, true, path)
	}
	if err != nil {
		return fmt.Errorf("fetch %s into the cache: %w", path, err)
	}
	if !c.holds(hash, path) { // compares its times only, unless it is another file by now
		return fmt.Errorf("%s does not hold what was just written to it: is the disk damaged, or does something else change the folder?", path)
	}
	c.shrink(hash)
	return nil
}

// holds reports whether the file is there with the right content, and marks it as
// used. The content is read once for each file that appears under the name.
func (c *Cache) holds(hash, path string) bool {
	info, err := os.Stat(path)
	if err != nil {
		return false
	}
	id := identityOf(info)
	c.mu.Lock()
	same := c.verified[hash] == id
	c.mu.Unlock()
	if !same {
		sum, err := sumFile(path)
		if err != nil || sum != hash {
			_ = os.Remove(path) // damaged: it is fetched again and replaced
			return false
		}
		c.verify(hash, id)
	}
	// The access time records the last use; the modification time stays. Where it can't be set, the
	// blob is only evicted sooner.
	_ = os.Chtimes(path, time.Now(), info.ModTime())
	return true
}

// Doubt has a blob's content read again before its next use.
func (c *Cache) Doubt(hash string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.verified, hash)
}

// verify notes that a file has the right content.
func (c *Cache) verify(hash string, id identity) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.verified[hash] = id
}

func identityOf(info fs.FileInfo) identity {
	id := identity{size: info.Size(), changed: info.ModTime()}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		id.inode = st.Ino
	}
	return id
}

func sumFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// download fetches a blob to a temporary file, verifies it while it is written, and renames it to
// its path.
func (c *Cache) download(ctx context.Context, hash string, doubted bool, path string) error {
	f, err := os.CreateTemp(c.folder, "fetch-*.tmp")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	h := sha256.New()
	var info fs.FileInfo
	err = c.fetch(ctx, hash, doubted, io.MultiWriter(f, h))
	if err == nil {
		err = f.Chmod(0o755)
	}
	if err == nil {
		info, err = f.Stat()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	if sum := hex.EncodeToString(h.Sum(nil)); sum != hash {
		return fmt.Errorf("%w, with the hash %s", errWrongContent, sum)
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	c.verify(hash, identityOf(info))
	return nil
}

// shrink removes the least recently used blobs until the rest fits, but never the blob keep. A
// worker whose program is removed keeps running.
func (c *Cache) shrink(keep string) {
	entries, err := os.ReadDir(c.folder)
	if err != nil {
		return // the next blob tries again
	}
	type blob struct {
		name string
		size int64
		used time.Time
	}
	var blobs []blob
	total := int64(0)
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		if strings.HasSuffix(e.Name(), ".tmp") {
			if time.Since(info.ModTime()) > temporaryMax {
				_ = os.Remove(filepath.Join(c.folder, e.Name()))
			}
			continue
		}
		blobs = append(blobs, blob{e.Name(), info.Size(), accessTime(info)})
		total += info.Size()
	}
	slices.SortFunc(blobs, func(a, b blob) int { return cmp.Or(a.used.Compare(b.used), cmp.Compare(a.name, b.name)) })
	for _, b := range blobs {
		if total <= c.max {
			return
		}
		if b.name == keep {
			continue
		}
		if err := os.Remove(filepath.Join(c.folder, b.name)); err == nil || errors.Is(err, fs.ErrNotExist) {
			total -= b.size
		}
	}
}

func accessTime(info fs.FileInfo) time.Time {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return time.Unix(st.Atim.Unix())
	}
	return info.ModTime()
}

// DiskFull reports whether an error means that the disk is full.
func DiskFull(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) || errors.Is(err, unix.EFBIG)
}
