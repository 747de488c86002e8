package hdfs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	lib "github.com/colinmarc/hdfs/v2"

	"github.com/hamadryad/hamadryad/sdk/storage"
)

// Stat implements storage.Store.
func (s *Store) Stat(ctx context.Context, url string) (storage.Info, error) {
	p, err := s.find(url)
	if err != nil {
		return storage.Info{}, err
	}
	info, err := p.stat(ctx, p)
	if err != nil {
		return storage.Info{}, err
	}
	return describe(url, info), nil
}

func (c *cluster) stat(ctx context.Context, p place) (info fs.FileInfo, err error) {
	err = c.call(ctx, "stat", p, func(s *session) error {
		info, err = s.client.Stat(p.path)
		return err
	})
	return info, err
}

func describe(url string, info fs.FileInfo) storage.Info {
	i := storage.Info{Path: url, Size: info.Size(), Folder: info.IsDir(), Changed: info.ModTime()}
	if about, ok := info.Sys().(*lib.FileStatus); ok {
		i.Version = version(about)
	}
	return i
}

// version is a file's size, its time of change in milliseconds and its number: an
// append changes the first two, a file in its place the last.
func version(about *lib.FileStatus) string {
	return fmt.Sprintf("%x-%x-%x", about.GetLength(), about.GetModificationTime(), about.GetFileId())
}

// Mkdir implements storage.Store.
func (s *Store) Mkdir(ctx context.Context, url string) error {
	p, err := s.find(url)
	if err != nil {
		return err
	}
	asked := false // and the answer did not come
	return p.call(ctx, "make folder", p, func(s *session) error {
		err := s.client.Mkdir(p.path, 0o777&^p.umask)
		if asked && errors.Is(err, fs.ErrExist) {
			// Most likely this call's own: an empty folder is as good as made.
			if entries, listErr := s.client.ReadDir(p.path); listErr == nil && len(entries) == 0 {
				return nil
			}
		}
		asked = asked || !inStep(err)
		return err
	})
}

// Delete implements storage.Store. What is not there is no error.
func (s *Store) Delete(ctx context.Context, url string) error {
	p, err := s.find(url)
	if err != nil {
		return err
	}
	if p.path == "/" {
		return fmt.Errorf("delete %s: that is no folder of a job", url)
	}
	return p.delete(ctx, p)
}

func (c *cluster) delete(ctx context.Context, p place) error {
	return c.call(ctx, "delete", p, func(s *session) error {
		err := s.client.RemoveAll(p.path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
}

// readFolder lists a folder, in order of name.
func (c *cluster) readFolder(ctx context.Context, p place, folder string) (all []fs.FileInfo, err error) {
	p.url = scheme + "://" + path.Join(c.name.Name, folder)
	err = c.call(ctx, "list", p, func(s *session) error {
		all, err = s.client.ReadDir(folder)
		return err
	})
	return all, err
}
