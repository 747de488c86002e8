// Package atomicfile writes small files so that a power cut leaves the old one or the new
// one, and never a part.
package atomicfile

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// temporary is how the names of files begin that are not whole yet.
const temporary = "new-"

// Replace writes a file: whole, durable and in the old one's place if there is one, or
// not at all. Its owner alone may read it. Several may write the same file at once: one
// of them is the last.
func Replace(path string, content []byte) error {
	return ReplaceFrom(path, bytes.NewReader(content), time.Time{})
}

// ReplaceFrom is Replace with what a reader has, to its end. The file has changed last at a time, unless
// that is zero.
func ReplaceFrom(path string, content io.Reader, changed time.Time) error {
	return ReplaceBy(path, func(f *os.File) error {
		_, err := io.Copy(f, content)
		if err == nil && !changed.IsZero() {
			err = os.Chtimes(f.Name(), changed, changed)
		}
		return err
	})
}

// ReplaceBy is Replace with what a function writes to the file, which has its last inode already.
func ReplaceBy(path string, write func(*os.File) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), temporary)
	if err != nil {
		return err
	}
	if err = write(f); err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return SyncFolder(filepath.Dir(path))
}

// IsTemporary tells whether a name is that of a file that Replace has not finished. After a
// crash nobody does.
func IsTemporary(name string) bool { return strings.HasPrefix(name, temporary) }

// SyncFolder makes durable which names a folder has.
func SyncFolder(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
