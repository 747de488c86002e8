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

// temporary is the prefix of the names of unfinished files.
const temporary = "new-"

// Replace writes a whole, durable file and replaces an existing one, or changes nothing. Only its
// owner may read it. Concurrent writers of one file are allowed: one of them wins.
func Replace(path string, content []byte) error {
	return ReplaceFrom(path, bytes.NewReader(content), time.Time{})
}

// ReplaceFrom is Replace with all that a reader returns. It sets the file's modification time,
// unless that is zero.
func ReplaceFrom(path string, content io.Reader, changed time.Time) error {
	return ReplaceBy(path, func(f *os.File) error {
		_, err := io.Copy(f, content)
		if err == nil && !changed.IsZero() {
			err = os.Chtimes(f.Name(), changed, changed)
		}
		return err
	})
}

// ReplaceBy is Replace with the content that a function writes to the file. The file already has
// its final inode.
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

// IsTemporary reports whether a name is that of an unfinished file of Replace. After a crash nobody
// finishes it.
func IsTemporary(name string) bool { return strings.HasPrefix(name, temporary) }

// SyncFolder makes the names in a folder durable.
func SyncFolder(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
