package manager

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// blobs keeps programs and plans in a folder, each under its SHA-256. It holds at
// most a number of bytes: the ones that were not used for longest go, but never
// one that a live job needs or that is being written or read.
type blobs struct {
	folder string
	max    int64
	// needed tells which blobs live jobs need.
	needed func() (map[string]bool, error)

	mu      sync.Mutex
	kept    map[string]*blob
	total   int64 // of kept, and of what is being written
	writing int
}

type blob struct {
	bytes int64
	used  time.Time
	open  int // readers
}

// uploadsMax is how many blobs are written at the same time.
const uploadsMax = 32

var (
	errBlobMissing = errors.New("the manager does not have it")
	errBlobsBusy   = errors.New("too many programs are being sent at once: try again")
)

// openBlobs reads the folder, without the contents: what has its name was
// verified when it came.
func openBlobs(folder string, max int64) (*blobs, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("programs: %w", err)
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("programs: %w", err)
	}
	b := &blobs{folder: folder, max: max, kept: map[string]*blob{}}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !isHash(e.Name()) {
			os.Remove(filepath.Join(folder, e.Name())) // left by an upload that was cut off
			continue
		}
		b.kept[e.Name()] = &blob{bytes: info.Size(), used: info.ModTime()}
		b.total += info.Size()
	}
	return b, nil
}

// isHash accepts a SHA-256 in lower-case hex: what may become a file name.
func isHash(s string) bool {
	return len(s) == 2*sha256.Size && strings.Trim(s, "0123456789abcdef") == ""
}

func (b *blobs) has(hash string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	k, ok := b.kept[hash]
	if ok {
		k.used = time.Now()
	}
	return ok
}

// reader opens a blob. It is not removed before it is closed.
func (b *blobs) reader(hash string) (io.ReadCloser, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	k, ok := b.kept[hash]
	if !ok {
		return nil, errBlobMissing
	}
	f, err := os.Open(filepath.Join(b.folder, hash))
	if err != nil {
		return nil, err
	}
	k.open++
	k.used = time.Now()
	return &blobReader{File: f, b: b, k: k}, nil
}

type blobReader struct {
	*os.File
	b    *blobs
	k    *blob
	once sync.Once
}

func (r *blobReader) Close() error {
	r.once.Do(func() {
		r.b.mu.Lock()
		r.k.open--
		r.b.mu.Unlock()
	})
	return r.File.Close()
}

// upload is a blob that is being written. Finish or abort ends it.
type upload struct {
	b      *blobs
	hash   string
	file   *os.File
	digest hash.Hash
	bytes  int64
}

func (b *blobs) begin(hash string) (*upload, error) {
	if !isHash(hash) {
		return nil, fmt.Errorf("%q is no SHA-256 in hexadecimal digits", hash)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.writing >= uploadsMax {
		return nil, errBlobsBusy
	}
	f, err := os.CreateTemp(b.folder, "upload-")
	if err != nil {
		return nil, err
	}
	b.writing++
	return &upload{b: b, hash: hash, file: f, digest: sha256.New()}, nil
}

func (u *upload) write(data []byte) error {
	if err := u.b.reserve(int64(len(data))); err != nil {
		return err
	}
	u.bytes += int64(len(data))
	u.digest.Write(data)
	_, err := u.file.Write(data)
	return err
}

// finish verifies the content and gives it its name, durably.
func (u *upload) finish() error {
	if got := hex.EncodeToString(u.digest.Sum(nil)); got != u.hash {
		u.abort()
		return fmt.Errorf("what arrived has the SHA-256 %s and not %s: it was damaged on the way, or changed while it was sent; send it again", got, u.hash)
	}
	err := u.file.Sync()
	if err == nil {
		err = os.Rename(u.file.Name(), filepath.Join(u.b.folder, u.hash))
	}
	if err != nil {
		u.abort()
		return err
	}
	u.file.Close()
	b := u.b
	b.mu.Lock()
	defer b.mu.Unlock()
	b.writing--
	if k, twice := b.kept[u.hash]; twice { // the same content, sent twice at once
		b.total -= k.bytes
		k.bytes, k.used = u.bytes, time.Now()
		return nil
	}
	b.kept[u.hash] = &blob{bytes: u.bytes, used: time.Now()}
	return nil
}

func (u *upload) abort() {
	u.file.Close()
	os.Remove(u.file.Name())
	u.b.mu.Lock()
	u.b.total -= u.bytes
	u.b.writing--
	u.b.mu.Unlock()
}

// reserve makes room for n more bytes.
func (b *blobs) reserve(n int64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.total+n > b.max {
		if err := b.evict(n); err != nil {
			return err
		}
	}
	b.total += n
	return nil
}

// evict is called with mu held, and gives it back while it asks who needs what.
func (b *blobs) evict(n int64) error {
	b.mu.Unlock()
	needed, err := b.needed()
	b.mu.Lock()
	if err != nil {
		return err
	}
	var old []string
	for hash, k := range b.kept {
		if k.open == 0 && !needed[hash] && time.Since(k.used) > blobGrace {
			old = append(old, hash)
		}
	}
	slices.SortFunc(old, func(x, y string) int { return b.kept[x].used.Compare(b.kept[y].used) })
	for _, hash := range old {
		if b.total+n <= b.max {
			return nil
		}
		if err := os.Remove(filepath.Join(b.folder, hash)); err != nil {
			return err
		}
		b.total -= b.kept[hash].bytes
		delete(b.kept, hash)
	}
	if b.total+n > b.max {
		return fmt.Errorf("the manager keeps at most %d bytes of programs and plans, and running jobs need what is there: wait for them to end, or raise manager.programs", b.max)
	}
	return nil
}

// blobGrace is how long a blob stays after its last use: a submitter asks for it
// or sends it a moment before the job that needs it exists.
const blobGrace = 10 * time.Minute
