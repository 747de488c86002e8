package hdfs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/hamadryad/hamadryad/sdk/storage"
	"github.com/hamadryad/hamadryad/sdk/storage/glob"
)

// entry is a file or folder that was found.
type entry struct {
	path string
	info fs.FileInfo
}

// List implements storage.Store.
func (s *Store) List(ctx context.Context, pattern string) ([]storage.Info, error) {
	p, err := s.find(pattern)
	if err != nil {
		return nil, err
	}
	var roots []entry
	info, err := p.stat(ctx, p)
	switch {
	case err == nil:
		if err := storage.NotAmbiguous(ctx, p, p.path); err != nil {
			return nil, err
		}
		roots = []entry{{p.path, info}}
	case glob.Special(p.path) && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid)):
		if roots, err = p.match(ctx); err != nil {
			return nil, err
		}
	default:
		return nil, err
	}
	prefix := strings.TrimSuffix(pattern, p.given())
	var found []storage.Info
	for _, root := range roots {
		err := p.below(ctx, root, func(e entry) { found = append(found, describe(prefix+e.path, e.info)) })
		if err != nil {
			return nil, err
		}
	}
	return storage.SortInfos(found), nil
}

// given returns the path as the URL has it.
func (p place) given() string {
	rest := strings.TrimPrefix(p.url, scheme+"://")
	if slash := strings.IndexByte(rest, '/'); slash >= 0 {
		return rest[slash:]
	}
	return ""
}

// match returns the entries that a pattern matches.
func (p place) match(ctx context.Context) ([]entry, error) {
	found, err := glob.Match(ctx, p, p.given()) // as written: .. after a pattern is refused
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", p.url, err)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("list %s: nothing matches: %w", p.url, fs.ErrNotExist)
	}
	all := make([]entry, len(found))
	for i, e := range found {
		all[i] = entry{e.Path, e.Info.(fs.FileInfo)}
	}
	return all, nil
}

// Look implements glob.Tree.
func (p place) Look(ctx context.Context, path string) (*glob.Entry, error) {
	p.path = path
	info, err := p.stat(ctx, p)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &glob.Entry{Path: path, Folder: info.IsDir(), File: !info.IsDir(), Info: info}, nil
}

// Read implements glob.Tree.
func (p place) Read(ctx context.Context, folder string) ([]glob.Entry, error) {
	all, err := p.readFolder(ctx, p, folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var entries []glob.Entry
	for _, info := range all {
		entries = append(entries, glob.Entry{Path: path.Join(folder, info.Name()), Folder: info.IsDir(), File: !info.IsDir(), Info: info})
	}
	return entries, nil
}

// below passes root itself to found if it is a file, or all visible files below a folder.
func (p place) below(ctx context.Context, root entry, found func(entry)) error {
	if !root.info.IsDir() {
		if root.info.Mode().IsRegular() {
			found(root)
		}
		return nil
	}
	all, err := p.readFolder(ctx, p, root.path)
	if err != nil {
		return err
	}
	for _, info := range all {
		if glob.Hidden(info.Name()) {
			continue
		}
		if err := p.below(ctx, entry{path.Join(root.path, info.Name()), info}, found); err != nil {
			return err
		}
	}
	return nil
}
