package configedit

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hamadryad/hamadryad/internal/atomicfile"
)

// KeepDefault is Options.Keep by default.
const KeepDefault = 50

// Options name the folder of versions, and their file.
type Options struct {
	Folder string           // made when missing
	File   string           // of the configuration; "": there is none, and nothing is changed
	Keep   int              // versions; the oldest go; KeepDefault
	Now    func() time.Time // nil: time.Now
	Log    *slog.Logger     // nil: slog.Default
}

// Version is a text that was in force.
type Version struct {
	Number  uint64    `json:"version"`
	At      time.Time `json:"time"`
	Who     string    `json:"who,omitempty"` // "": unknown, someone who may write the file
	By      string    `json:"by,omitempty"`  // the user who acts in the name of Who
	Comment string    `json:"comment,omitempty"`
	Origin  string    `json:"origin"` // its origin: one of the constants, or "rolled back to N"
	Before  string    `json:"before,omitempty"`
	Tag     string    `json:"sha256"` // of Text, as Tag makes it
	Text    []byte    `json:"text,omitempty"`
}

// Origins of a Version.
const (
	Applied = "applied"
	ByHand  = "changed by hand"
	Found   = "found at a start"
)

// Tag is a text's SHA-256 in hex. Texts with equal tags are equal.
func Tag(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// pendingFile has the version that is being put in place. With it, a manager killed in the middle
// of that knows the author of the file's text.
const pendingFile = "pending.json"

// pending is the content of pendingFile.
type pending struct {
	Version
	Temporary string `json:"temporary"` // the text's path until it is in the file
}

// VersionStore keeps versions. Safe for concurrent use.
type VersionStore struct {
	o     Options
	place place

	changing sync.Mutex // held while the file or the newest version changes

	mu   sync.Mutex
	list []Version // without texts, the oldest first
}

// Open opens the versions in a folder. An unreadable version is logged, and left out.
func Open(o Options) (*VersionStore, error) {
	o.Keep, o.Log = cmp.Or(o.Keep, KeepDefault), cmp.Or(o.Log, slog.Default())
	if o.Now == nil {
		o.Now = time.Now
	}
	b := &VersionStore{o: o, place: place{path: o.File}}
	if err := os.MkdirAll(o.Folder, 0o700); err != nil {
		return nil, fmt.Errorf("settings: %w", err)
	}
	entries, err := os.ReadDir(o.Folder)
	if err != nil {
		return nil, fmt.Errorf("settings: %w", err)
	}
	for _, e := range entries {
		name := e.Name()
		if atomicfile.IsTemporary(name) {
			_ = os.Remove(filepath.Join(o.Folder, name)) // it does no harm
		}
		n, err := strconv.ParseUint(strings.TrimSuffix(name, ".json"), 10, 64)
		if err != nil || name != fileName(n) {
			continue
		}
		v, err := b.read(n)
		if err != nil {
			o.Log.Warn("a version of the configuration can't be read: it is left out", "error", err)
			continue
		}
		v.Text = nil
		b.list = append(b.list, v)
	}
	slices.SortFunc(b.list, func(x, y Version) int { return cmp.Compare(x.Number, y.Number) })
	return b, nil
}

func fileName(n uint64) string { return strconv.FormatUint(n, 10) + ".json" }

func (b *VersionStore) path(name string) string { return filepath.Join(b.o.Folder, name) }

func (b *VersionStore) read(n uint64) (Version, error) {
	var v Version
	text, err := os.ReadFile(b.path(fileName(n)))
	if err == nil {
		err = json.Unmarshal(text, &v)
	}
	if err == nil && (v.Number != n || v.Tag != Tag(v.Text)) {
		err = errors.New("it is damaged")
	}
	if err != nil {
		return v, fmt.Errorf("%s: %w", b.path(fileName(n)), err)
	}
	return v, nil
}

// newest is the last version; its number is 0 when there is none.
func (b *VersionStore) newest() Version {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.list) == 0 {
		return Version{}
	}
	return b.list[len(b.list)-1]
}

// Versions lists the kept versions, without texts, the newest first.
func (b *VersionStore) Versions() []Version {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := slices.Clone(b.list)
	slices.Reverse(list)
	return list
}

// NumberOf returns the newest version with a text; 0: none.
func (b *VersionStore) NumberOf(text []byte) uint64 {
	for _, v := range b.Versions() {
		if v.Tag == Tag(text) {
			return v.Number
		}
	}
	return 0
}

// Version returns a version with its text. The error matches ErrNone when it is not kept.
func (b *VersionStore) Version(n uint64) (Version, error) {
	v, err := b.read(n)
	if errors.Is(err, fs.ErrNotExist) {
		return v, fmt.Errorf("%w: %d is not among the %d that are kept", ErrNone, n, len(b.Versions()))
	}
	return v, err
}

// BeginWith resolves the pending change of an earlier life, and returns the version of the text
// that the manager starts with.
func (b *VersionStore) BeginWith(text []byte) (Version, error) {
	b.changing.Lock()
	defer b.changing.Unlock()
	left, err := os.ReadFile(b.path(pendingFile))
	var p pending
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return b.add(text, Found)
	case err != nil:
		return Version{}, err
	}
	if json.Unmarshal(left, &p) == nil && p.Tag == Tag(text) && p.Number > b.newest().Number {
		c := &Replacement{versions: b, p: p}
		v, err := c.keepVersion()
		return v, errors.Join(err, b.sweep(p))
	}
	if err := errors.Join(os.Remove(b.path(pendingFile)), b.sweep(p)); err != nil {
		return Version{}, err
	}
	return b.add(text, Found)
}

// sweep removes leftovers of a swap beside the file: the new text, perhaps cut off, or the one
// before. Any other text is of somebody who wrote the file at that moment, and stays.
func (b *VersionStore) sweep(p pending) error {
	if p.Temporary == "" || filepath.Dir(p.Temporary) != filepath.Dir(b.o.File) {
		return nil
	}
	text, err := os.ReadFile(p.Temporary)
	if err == nil && !bytes.HasPrefix(p.Text, text) && Tag(text) != p.Before {
		b.o.Log.Warn("a text of the configuration's file lies beside it: somebody wrote it while another was put in its place, and it is not in force", "file", p.Temporary)
		return nil
	}
	if err == nil {
		err = os.Remove(p.Temporary)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// isCurrent reports whether the file has a text. A manager that was started without a file has any text.
// A file that was removed, or can't be read, has none.
func (b *VersionStore) isCurrent(text []byte) bool {
	if text == nil || b.place.path == "" {
		return true
	}
	now, err := b.place.text()
	return err == nil && Tag(now) == Tag(text)
}

// recordByHand makes a version of a text that was written into the file by hand, unless the file
// has another text by now: that one has a version, or gets one.
func (b *VersionStore) recordByHand(text []byte) error {
	b.changing.Lock()
	defer b.changing.Unlock()
	if text == nil || !b.isCurrent(text) {
		return nil
	}
	_, err := b.add(text, ByHand)
	return err
}

// add keeps a text as the newest version, unless it is.
func (b *VersionStore) add(text []byte, origin string) (Version, error) {
	last := b.newest()
	if tag := Tag(text); last.Number == 0 || last.Tag != tag {
		v := Version{Number: last.Number + 1, At: b.o.Now().UTC(), Origin: origin, Before: last.Tag, Tag: tag, Text: text}
		content, err := json.Marshal(v)
		if err == nil {
			err = atomicfile.Replace(b.path(fileName(v.Number)), content)
		}
		if err != nil {
			return last, fmt.Errorf("a version of the configuration can't be kept: %w", err)
		}
		last = b.kept(v)
	}
	return last, nil
}

// kept records a version whose file exists, and removes the oldest beyond the bound.
func (b *VersionStore) kept(v Version) Version {
	v.Text = nil
	b.mu.Lock()
	defer b.mu.Unlock()
	b.list = append(b.list, v)
	for len(b.list) > b.o.Keep {
		if err := os.Remove(b.path(fileName(b.list[0].Number))); err != nil && !errors.Is(err, fs.ErrNotExist) {
			b.o.Log.Warn("an old version of the configuration can't be removed", "error", err)
			break
		}
		b.list = b.list[1:]
	}
	return v
}

// Replacement is a text in the file that is not in force yet. It is kept or undone.
type Replacement struct {
	versions *VersionStore
	p        pending
	old      []byte
	done     bool // kept or undone
}

// ReplaceText puts a text in place of the file's text old. v has the version's other fields.
func (b *VersionStore) ReplaceText(old, text []byte, v Version) (*Replacement, error) {
	b.changing.Lock()
	defer b.changing.Unlock()
	if err := b.place.writable(); err != nil {
		return nil, err
	}
	v.Number, v.At, v.Before, v.Tag, v.Text = b.newest().Number+1, b.o.Now().UTC(), Tag(old), Tag(text), text
	c := &Replacement{versions: b, p: pending{Version: v}, old: old}
	if err := c.swap(old, text); err != nil {
		return nil, errors.Join(err, os.Remove(b.path(pendingFile)))
	}
	return c, nil
}

// swap puts a text in the place of another. Its temporary name is recorded first, so that the next
// manager finds the leftovers of a killed one.
func (c *Replacement) swap(old, text []byte) error {
	b := c.versions
	c.p.Temporary = b.place.beside()
	content, err := json.Marshal(c.p)
	if err == nil {
		err = atomicfile.Replace(b.path(pendingFile), content)
	}
	if err != nil {
		return fmt.Errorf("a version of the configuration can't be kept, so nothing was changed: %w", err)
	}
	if err := b.place.prepare(c.p.Temporary, text); err != nil {
		return err
	}
	return b.place.swap(c.p.Temporary, old, text)
}

// errUndone is the error for a text that is no longer in the file.
var errUndone = errors.New("the text was taken out of the file before the policy accepted it")

// KeepVersion makes it a version.
func (c *Replacement) KeepVersion() (Version, error) {
	c.versions.changing.Lock()
	defer c.versions.changing.Unlock()
	if c.done {
		return Version{}, errUndone
	}
	return c.keepVersion()
}

func (c *Replacement) keepVersion() (Version, error) {
	b := c.versions
	c.done = true
	if err := os.Rename(b.path(pendingFile), b.path(fileName(c.p.Number))); err != nil {
		return Version{}, fmt.Errorf("a version of the configuration can't be kept: %w", err)
	}
	return b.kept(c.p.Version), atomicfile.SyncFolder(b.o.Folder)
}

// Undo puts the old text back, unless the file was written since. It is false when it does nothing,
// because the text has become a version.
func (c *Replacement) Undo() (bool, error) {
	c.versions.changing.Lock()
	defer c.versions.changing.Unlock()
	if c.done {
		return false, nil
	}
	c.done = true
	err := c.swap(c.p.Text, c.old)
	if errors.Is(err, ErrChanged) {
		err = nil
	}
	return true, errors.Join(err, os.Remove(c.versions.path(pendingFile)))
}
