package file

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/hamadryad/hamadryad/engine/channel"
	"github.com/hamadryad/hamadryad/sdk/storage"
)

// tmpSuffix marks a file that is being written.
const tmpSuffix = ".tmp"

// localSink is a local file that appears under its name at Commit.
type localSink struct {
	*os.File
	path    string
	durable bool
	done    bool
}

var _ storage.File = (*localSink)(nil)

func createLocal(path string, durable bool) (*localSink, error) {
	if _, err := os.Lstat(path); err == nil {
		return nil, fmt.Errorf("channel file %s: %w: each attempt writes its own file once", path, fs.ErrExist)
	}
	f, err := os.OpenFile(path+tmpSuffix, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, explain(path, err)
	}
	return &localSink{File: f, path: path, durable: durable}, nil
}

// Commit renames the file to its name, with fsync before and after if Sync is set.
func (s *localSink) Commit() error {
	err := s.commit()
	if err != nil {
		_ = s.Abort()
	}
	s.done = true
	return err
}

func (s *localSink) commit() error {
	if s.durable {
		if err := s.Sync(); err != nil {
			return err
		}
	}
	if err := s.Close(); err != nil {
		return err
	}
	if err := os.Rename(s.path+tmpSuffix, s.path); err != nil {
		return err
	}
	if !s.durable {
		return nil
	}
	folder, err := os.Open(filepath.Dir(s.path))
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// Abort removes the unfinished file.
func (s *localSink) Abort() error {
	if s.done {
		return nil
	}
	s.done = true
	_ = s.Close() // it may be closed already; the file is removed anyway
	if err := os.Remove(s.path + tmpSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// explain adds the file's name and, for a full disk, the remedy.
func explain(path string, err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("channel file %s: %w: free some space or give the launcher a work folder on a larger disk (%w)", path, channel.ErrDiskFull, err)
	}
	return fmt.Errorf("channel file %s: %w", path, err)
}
