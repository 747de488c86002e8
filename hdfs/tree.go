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

// version is a file's size, its modification time in milliseconds and its inode number. An append
// changes the first two; a replacement changes the inode.
func version(about *lib.FileStatus) string {
	return fmt.Sprintf("%x-%x-%x", about.GetLength(), about.GetModificationTime(), about.GetFileId())
}

// Mkdir implements storage.Store.
func (s *Store) Mkdir(ctx context.Context, url string) error { return s.mkdir(ctx, url, 0o777) }

// MkdirGuarded implements storage.Guarded.
func (s *Store) MkdirGuarded(ctx context.Context, url string) error { return s.mkdir(ctx, url, 0o775) }

// Access implements storage.Guarded.
func (s *Store) Access(ctx context.Context, url string) (storage.Access, error) {
	p, err := s.find(url)
	if err != nil {
		return storage.Access{}, err
	}
	info, err := p.stat(ctx, p)
	if err != nil {
		return storage.Access{}, err
	}
	a := storage.Access{Folder: info.IsDir(), Mode: info.Mode() & fs.ModePerm}
	if about, ok := info.Sys().(*lib.FileStatus); ok {
		a.Owner = about.GetOwner()
		a.Own = a.Owner != "" && a.Owner == p.user()
		if about.GetPermission().GetPerm()&stickyBit != 0 {
			a.Mode |= fs.ModeSticky
		}
	}
	return a, nil
}

// stickyBit is the sticky bit in HDFS's permissions, as in Unix.
const stickyBit = 0o1000

func (s *Store) mkdir(ctx context.Context, url string, mode fs.FileMode) error {
	p, err := s.find(url)
	if err != nil {
		return err
	}
	asked := false // an earlier call was sent, and its answer was lost
	return p.call(ctx, "make folder", p, func(s *session) error {
		err := s.client.Mkdir(p.path, mode&^p.umask)
		if asked && errors.Is(err, fs.ErrExist) && p.isMade(s, mode&^p.umask) {
			return nil
		}
		asked = asked || !inStep(err)
		return err
	})
}

// user returns our user name at the NameNode; "" under Kerberos, where the NameNode's rules derive
// it from a ticket.
func (c *cluster) user() string {
	if c.base.KerberosClient != nil {
		return ""
	}
	return c.base.User
}

// isMade reports whether a folder is as if a call with a lost answer had made it. It must be empty
// and owned by our user, if that is known, and grant no more permissions than requested.
func (p place) isMade(s *session, mode fs.FileMode) bool {
	info, err := s.client.Stat(p.path)
	if err != nil || !info.IsDir() || info.Mode().Perm()&^mode != 0 {
		return false
	}
	if about, ok := info.Sys().(*lib.FileStatus); ok && p.user() != "" && about.GetOwner() != p.user() {
		return false
	}
	entries, err := s.client.ReadDir(p.path)
	return err == nil && len(entries) == 0
}

// Delete implements storage.Store. A missing path is no error.
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
