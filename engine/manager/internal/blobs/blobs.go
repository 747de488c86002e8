// Package blobs keeps the programs, plans and large graphs that submitters send, each in a
// file under its SHA-256.
//
// # Invariants
//
// Content served under a hash was checked, or is checked by its reader. Blobs that are written,
// read, or needed by a live job stay. Together they are bounded in bytes.
//
// Content that several users sent is kept once, and the file HASH.users beside it names them. A
// user learns only of blobs that the user sent whole, so a hash reveals nothing of others. A user's
// bytes and uploads at once are bounded. Uploads of equal content wait for the first of them.
//
// An upload that sends nothing for half a minute is given up.
package blobs

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hamadryad/hamadryad/internal/atomicfile"
)

// Store keeps programs and plans in a folder, each under its SHA-256. It holds a bounded number of
// bytes: the least recently used blobs are evicted, but never one that a live job needs or that is
// being written or read.
type Store struct {
	folder string
	Options

	mu      sync.Mutex
	kept    map[string]*blob
	total   int64 // of kept blobs and uploads in progress
	writing int
	users   map[string]*sending
	ended   chan struct{} // closed, and replaced, when an upload ends
	waiting int           // uploads that wait to begin

	noting sync.Mutex // held while a file of users is written
}

// Options bound a Store.
type Options struct {
	Bytes       int64 // of everything
	UserBytes   int64 // of one user's blobs and uploads; 0: UserBytesDefault
	UserUploads int   // uploads of one user at once, further ones wait; 0: UserUploadsDefault
	// Needed returns the blobs that live jobs need.
	Needed func() (map[string]bool, error)
}

// Defaults of Options.
const (
	UserBytesDefault   = 4 << 30
	UserUploadsDefault = 8
)

type blob struct {
	bytes int64
	used  time.Time
	open  int      // readers
	sound fileID   // the file whose content was verified; zero: none in this life
	users []string // senders
}

// fileID shows whether a file is still the verified one.
type fileID struct {
	inode   uint64
	size    int64
	changed time.Time
}

func idOf(info fs.FileInfo) fileID {
	id := fileID{size: info.Size(), changed: info.ModTime()}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		id.inode = st.Ino
	}
	return id
}

const (
	// uploadsMax is how many blobs are written at the same time, and waitingMax how many more wait.
	uploadsMax = 32
	waitingMax = 256
)

// What can be wrong with a blob.
var (
	ErrMissing = errors.New("the manager does not have it")
	ErrDamaged = errors.New("the manager's copy of it is damaged, and was dropped")
	ErrBusy    = errors.New("too many programs are being sent at once")
)

// Open reads the folder, without the contents: they are verified at their first use. Blobs in
// needed stay.
func Open(folder string, o Options) (*Store, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("programs: %w", err)
	}
	if err := atomicfile.SyncFolder(filepath.Dir(folder)); err != nil {
		return nil, fmt.Errorf("programs: %w", err)
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("programs: %w", err)
	}
	o.UserBytes, o.UserUploads = cmp.Or(o.UserBytes, UserBytesDefault), cmp.Or(o.UserUploads, UserUploadsDefault)
	b := &Store{folder: folder, Options: o, kept: map[string]*blob{}, users: map[string]*sending{}, ended: make(chan struct{})}
	for _, e := range entries {
		if hash, names := strings.CutSuffix(e.Name(), usersSuffix); names && IsHash(hash) {
			continue
		}
		info, err := e.Info()
		if err != nil || !IsHash(e.Name()) {
			os.Remove(filepath.Join(folder, e.Name())) // left by an interrupted upload
			continue
		}
		b.kept[e.Name()] = &blob{bytes: info.Size(), used: info.ModTime()}
		b.total += info.Size()
	}
	for _, e := range entries {
		if hash, names := strings.CutSuffix(e.Name(), usersSuffix); names {
			b.readUsers(hash)
		}
	}
	return b, nil
}

// Fill is how full a store is.
type Fill struct {
	Uploads, UploadsMax int   // blobs being written
	Bytes, BytesMax     int64 // of kept blobs and uploads in progress
}

// Fill returns how full the store is.
func (b *Store) Fill() Fill {
	b.mu.Lock()
	defer b.mu.Unlock()
	return Fill{Uploads: b.writing, UploadsMax: uploadsMax, Bytes: b.total, BytesMax: b.Bytes}
}

// IsHash accepts a SHA-256 in lower-case hex: what may become a file name.
func IsHash(s string) bool {
	return len(s) == 2*sha256.Size && strings.Trim(s, "0123456789abcdef") == ""
}

// Doubt has a blob's content read again, even if its file seems unchanged, and reports whether it
// was damaged: then it is dropped.
func (b *Store) Doubt(hash string) (damaged bool) {
	b.mu.Lock()
	k := b.kept[hash]
	if k != nil {
		k.sound = fileID{}
	}
	b.mu.Unlock()
	return k != nil && !b.Has(hash)
}

// Has reports whether a blob is there with the right content. The content is read once for each
// file that appears under the name. A damaged blob is dropped, so that it is sent again.
func (b *Store) Has(hash string) bool {
	b.mu.Lock()
	k, ok := b.kept[hash]
	var sound fileID
	if ok {
		k.used, sound = time.Now(), k.sound
	}
	b.mu.Unlock()
	if !ok {
		return false
	}
	info, err := os.Stat(b.path(hash))
	if err == nil && idOf(info) == sound {
		return true
	}
	if err == nil {
		err = verify(b.path(hash), hash)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.kept[hash] != k {
		return b.kept[hash] != nil // sent again meanwhile
	}
	if err != nil {
		b.drop(hash, k)
		return false
	}
	k.sound = idOf(info)
	return true
}

func (b *Store) path(hash string) string { return filepath.Join(b.folder, hash) }

// verify reads a file and compares its hash.
func verify(path, hash string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	digest := sha256.New()
	if _, err := io.Copy(digest, f); err != nil {
		return err
	}
	if hex.EncodeToString(digest.Sum(nil)) != hash {
		return ErrDamaged
	}
	return nil
}

// drop forgets a blob that is missing or damaged. The caller holds mu.
func (b *Store) drop(hash string, k *blob) {
	if b.kept[hash] == k {
		if b.remove(hash) != nil {
			b.forget(hash, k) // the next upload of that name replaces it
		}
	}
}

// Reader opens a blob. The blob stays until the reader is closed. The receiver compares its hash,
// and reports a doubt when it is wrong: so each receiver hashes the blob, and the store need not
// hash it again for each.
func (b *Store) Reader(hash string) (io.ReadCloser, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	k, ok := b.kept[hash]
	if !ok {
		return nil, ErrMissing
	}
	f, err := os.Open(b.path(hash))
	if errors.Is(err, fs.ErrNotExist) {
		b.drop(hash, k)
		return nil, ErrMissing
	}
	if err != nil {
		return nil, err
	}
	k.open++
	k.used = time.Now()
	return &blobReader{file: f, b: b, k: k, hash: hash}, nil
}

// blobReader reads a kept blob's content. A blob that the disk can't read is dropped.
type blobReader struct {
	file *os.File
	b    *Store
	k    *blob
	hash string
	once sync.Once
}

func (r *blobReader) Read(p []byte) (int, error) {
	n, err := r.file.Read(p)
	if err == nil || errors.Is(err, io.EOF) {
		return n, err
	}
	err = fmt.Errorf("%w: %w", ErrDamaged, err)
	r.b.mu.Lock()
	defer r.b.mu.Unlock()
	r.b.drop(r.hash, r.k)
	return n, err
}

func (r *blobReader) Close() error {
	r.once.Do(func() {
		r.b.mu.Lock()
		r.k.open--
		r.b.mu.Unlock()
	})
	return r.file.Close()
}

// Upload is a blob being written. Finish or Abort ends it.
type Upload struct {
	b      *Store
	hash   string
	user   string
	file   *os.File
	digest hash.Hash
	bytes  int64
}

// openUpload begins a user's upload of a blob. The caller holds mu.
func (b *Store) openUpload(hash, user string) (*Upload, error) {
	f, err := os.CreateTemp(b.folder, "upload-")
	if err != nil {
		return nil, err
	}
	b.writing++
	b.sends(user).uploads[hash] = true
	return &Upload{b: b, hash: hash, user: user, file: f, digest: sha256.New()}, nil
}

// Write adds to it.
func (u *Upload) Write(data []byte) error {
	if err := u.b.reserve(u.user, int64(len(data))); err != nil {
		return err
	}
	u.bytes += int64(len(data))
	u.digest.Write(data)
	_, err := u.file.Write(data)
	return err
}

// Finish verifies the content and gives it its name, durably.
func (u *Upload) Finish() error {
	if got := hex.EncodeToString(u.digest.Sum(nil)); got != u.hash {
		u.Abort()
		return fmt.Errorf("what arrived has the SHA-256 %s and not %s: it was damaged on the way, or changed while it was sent; send it again", got, u.hash)
	}
	if there, err := u.join(); there || err != nil {
		u.Abort()
		return err
	}
	err := u.file.Sync()
	var info fs.FileInfo
	if err == nil {
		info, err = u.file.Stat()
	}
	u.b.noting.Lock()
	defer u.b.noting.Unlock()
	if err == nil {
		err = os.Rename(u.file.Name(), u.b.path(u.hash))
	}
	if err == nil {
		err = atomicfile.SyncFolder(u.b.folder) // before any job that needs it is accepted
	}
	if err == nil {
		err = u.b.note(u.hash, u.user)
	}
	if err != nil {
		u.Abort()
		return err
	}
	u.file.Close()
	b := u.b
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sends(u.user).bytes -= u.bytes
	b.end(u)
	users := []string{}
	if k := b.kept[u.hash]; k != nil { // the same content, sent twice at once
		users = k.users
		b.forget(u.hash, k)
	}
	k := &blob{bytes: u.bytes, used: time.Now(), sound: idOf(info)}
	b.kept[u.hash] = k
	for _, user := range append(users, u.user) {
		b.own(k, user)
	}
	return nil
}

// Abort drops the upload.
func (u *Upload) Abort() {
	u.file.Close()
	os.Remove(u.file.Name())
	u.b.mu.Lock()
	u.b.total -= u.bytes
	u.b.sends(u.user).bytes -= u.bytes
	u.b.end(u)
	u.b.mu.Unlock()
}

// reserve makes room for n more bytes of a user.
func (b *Store) reserve(user string, n int64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.roomOf(user, n); err != nil {
		return err
	}
	if b.total+n > b.Bytes {
		if err := b.evict(n); err != nil {
			return err
		}
	}
	b.total += n
	b.sends(user).bytes += n
	return nil
}

// evict is called with mu held, and unlocks it while it asks which blobs are needed.
func (b *Store) evict(n int64) error {
	old, err := b.unneeded(func(*blob) bool { return true })
	if err != nil {
		return err
	}
	for _, hash := range old {
		if b.total+n <= b.Bytes {
			return nil
		}
		if err := b.remove(hash); err != nil {
			return err
		}
	}
	if b.total+n > b.Bytes {
		return fmt.Errorf("the manager keeps at most %d bytes of programs and plans, and running jobs need what is there: wait for them to end, or raise manager.programs", b.Bytes)
	}
	return nil
}

// unneeded lists those of some blobs that no job needs, the least recently used first. It is called
// with mu held, and unlocks it while it asks.
func (b *Store) unneeded(of func(*blob) bool) (old []string, err error) {
	b.mu.Unlock()
	needed, err := b.Needed()
	b.mu.Lock()
	for hash, k := range b.kept {
		if k.open == 0 && !needed[hash] && time.Since(k.used) > blobGrace && of(k) {
			old = append(old, hash)
		}
	}
	slices.SortFunc(old, func(x, y string) int { return b.kept[x].used.Compare(b.kept[y].used) })
	return old, err
}

// blobGrace is how long a blob stays after its last use: a submitter queries or sends it a moment
// before the job that needs it exists.
const blobGrace = 10 * time.Minute
