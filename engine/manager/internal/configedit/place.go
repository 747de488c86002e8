package configedit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/hamadryad/hamadryad/internal/atomicfile"
)

// TextBytesMax bounds a text that is shown, checked or applied here. A larger configuration can be
// changed by hand alone.
const TextBytesMax = 1 << 20

// swapTries bounds how often a file that changed during the swap is put back.
const swapTries = 8

// Errors of an Editor, by which callers choose their answer.
var (
	ErrChanged  = errors.New("the file has changed since it was read")
	ErrReadOnly = errors.New("the configuration can't be changed here")
	ErrInvalid  = errors.New("the text is not taken")
	ErrNone     = errors.New("there is no such version")
)

// place is the configuration's file.
type place struct {
	path string // "": there is none
	// renaming exchanges the files at from and to; a test can act at that moment.
	renaming func(from, to string) error
	// prepared is called when a text lies beside the file; nil: by no test.
	prepared func()
}

// text reads the file.
func (p *place) text() ([]byte, error) {
	if p.path == "" {
		return nil, fmt.Errorf("%w: the manager was started without a configuration file (--config FILE, or $HAMADRYAD_CONFIG)", ErrReadOnly)
	}
	f, err := os.OpenFile(p.path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("%w: its file can't be read (%w): put it right where it lies", ErrReadOnly, err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, TextBytesMax+1))
	if err != nil {
		return nil, fmt.Errorf("%w: its file can't be read (%w): put it right where it lies", ErrReadOnly, err)
	}
	if len(text) > TextBytesMax {
		return nil, fmt.Errorf("%w: %s has more than %d bytes: edit it where it lies", ErrReadOnly, p.path, TextBytesMax)
	}
	if !utf8.Valid(text) {
		return nil, fmt.Errorf("%w: %s is not UTF-8: edit it where it lies", ErrReadOnly, p.path)
	}
	return text, nil
}

// writable returns why the file can't be replaced; nil: no obstacle is known.
func (p *place) writable() error {
	if p.path == "" {
		_, err := p.text()
		return err
	}
	info, err := os.Lstat(p.path)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrReadOnly, err)
	}
	folder := filepath.Dir(p.path)
	own, _ := info.Sys().(*syscall.Stat_t)
	switch {
	case info.Mode().Type() == os.ModeSymlink:
		return fmt.Errorf("%w: %s is a symbolic link, and what it leads to is somebody else's to keep (a ConfigMap of Kubernetes, say): change it there, or name the file itself with --config", ErrReadOnly, p.path)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%w: %s is no file", ErrReadOnly, p.path)
	case own != nil && own.Nlink > 1:
		return fmt.Errorf("%w: %s has other names (hard links), which would keep the old text: change it by hand", ErrReadOnly, p.path)
	case own != nil && int(own.Uid) != os.Geteuid() && os.Geteuid() != 0:
		return fmt.Errorf("%w: %s is user %d's, and the manager runs as %d: it can't put a file of that user in its place; change it by hand, or make it the manager's", ErrReadOnly, p.path, own.Uid, os.Geteuid())
	}
	for _, what := range []string{folder, p.path} {
		if err := unix.Access(what, unix.W_OK); err != nil {
			return fmt.Errorf("%w: the manager can't write %s (%w): change it where it comes from", ErrReadOnly, what, err)
		}
	}
	return nil
}

// beside is an unused path in the file's folder for a text that is to replace the file.
func (p *place) beside() string {
	return filepath.Join(filepath.Dir(p.path), fmt.Sprintf(".%s.new-%d", filepath.Base(p.path), rand.Uint64()))
}

// prepare writes a text at a path beside the file, durably, with the file's mode and owner. After
// an error it leaves no file.
func (p *place) prepare(at string, text []byte) error {
	info, err := os.Lstat(p.path)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(at, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrReadOnly, err)
	}
	_, err = f.Write(text)
	if own, ok := info.Sys().(*syscall.Stat_t); ok && err == nil {
		err = f.Chown(int(own.Uid), int(own.Gid))
	}
	if err == nil {
		err = f.Chmod(info.Mode().Perm())
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("the new text can't be written beside %s, which stays as it is: %w", p.path, errors.Join(err, os.Remove(at)))
	}
	if p.prepared != nil {
		p.prepared()
	}
	return nil
}

// swap puts the prepared file at from in the file's place, if the file has the text old. The two
// are exchanged in one step. So a text written at the last moment is detected, and put back.
func (p *place) swap(from string, old, text []byte) error {
	rename := p.renaming
	if rename == nil {
		rename = exchange
	}
	err := rename(from, p.path)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) { // the file system can't exchange files
		return p.replace(from, old)
	}
	if err != nil {
		return errors.Join(p.notReplaced(err), os.Remove(from))
	}
	out, err := os.ReadFile(from)
	if err == nil && bytes.Equal(out, old) {
		if err := atomicfile.SyncFolder(filepath.Dir(p.path)); err != nil {
			return errors.Join(err, rename(from, p.path), os.Remove(from))
		}
		_ = os.Remove(from) // a leftover does no harm
		return nil
	}
	in := text
	for range swapTries { // the replaced text is newer than the seen one: it is put back
		if err != nil {
			break
		}
		if err := rename(from, p.path); err != nil {
			return fmt.Errorf("%w while it was replaced; what was in it lies in %s: %w", ErrChanged, from, err)
		}
		put := out
		if out, err = os.ReadFile(from); err == nil && bytes.Equal(out, in) { // not written since
			return errors.Join(ErrChanged, atomicfile.SyncFolder(filepath.Dir(p.path)), os.Remove(from))
		}
		in = put
	}
	return fmt.Errorf("%w again and again; a text that was in it lies in %s", ErrChanged, from)
}

// replace is swap for systems that can't exchange files. A text written between the check and the
// rename is lost.
func (p *place) replace(from string, old []byte) error {
	now, err := p.text()
	if err == nil && !bytes.Equal(now, old) {
		err = ErrChanged
	}
	if err == nil {
		err = os.Rename(from, p.path)
	}
	if err != nil {
		return errors.Join(p.notReplaced(err), os.Remove(from))
	}
	return atomicfile.SyncFolder(filepath.Dir(p.path))
}

func (p *place) notReplaced(err error) error {
	switch {
	case errors.Is(err, ErrChanged):
		return err
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: %s was removed", ErrChanged, p.path)
	case errors.Is(err, unix.EBUSY):
		return fmt.Errorf("%w: %s is mounted by itself, so no other file takes its place: mount its folder", ErrReadOnly, p.path)
	}
	return fmt.Errorf("%w: %w", ErrReadOnly, err)
}

func exchange(from, to string) error {
	return unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_EXCHANGE)
}
