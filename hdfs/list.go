package hdfs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/hamadryad/hamadryad/sdk/storage"
)

// special are the characters that make a pattern.
const special = `*?[\`

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
		roots = []entry{{p.path, info}}
	case errors.Is(err, fs.ErrNotExist) && strings.ContainsAny(p.path, special):
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
	slices.SortFunc(found, func(a, b storage.Info) int { return cmp.Compare(a.Path, b.Path) })
	return found, nil
}

// given is the path as the URL has it.
func (p place) given() string {
	rest := strings.TrimPrefix(p.url, scheme+"://")
	if slash := strings.IndexByte(rest, '/'); slash >= 0 {
		return rest[slash:]
	}
	return ""
}

// match returns what a pattern matches, element by element.
func (p place) match(ctx context.Context) ([]entry, error) {
	if _, err := path.Match(p.path, ""); err != nil {
		return nil, fmt.Errorf("list %s: %w", p.url, err)
	}
	at := []entry{{path: "/"}}
	for element := range strings.SplitSeq(strings.TrimPrefix(p.path, "/"), "/") {
		var next []entry
		for _, folder := range at {
			if folder.info != nil && !folder.info.IsDir() {
				continue
			}
			found, err := p.matchIn(ctx, folder.path, element)
			if err != nil {
				return nil, err
			}
			next = append(next, found...)
		}
		at = next
	}
	if len(at) == 0 {
		return nil, fmt.Errorf("list %s: nothing matches: %w", p.url, fs.ErrNotExist)
	}
	return at, nil
}

// matchIn returns the entries of a folder that one element of a pattern matches.
func (p place) matchIn(ctx context.Context, folder, element string) ([]entry, error) {
	if !strings.ContainsAny(element, special) {
		one := p
		one.path = path.Join(folder, element)
		info, err := p.stat(ctx, one)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return []entry{{one.path, info}}, err
	}
	all, err := p.readFolder(ctx, p, folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var found []entry
	for _, info := range all {
		name := info.Name()
		if hidden(name) && element[0] != name[0] {
			continue
		}
		ok, err := path.Match(element, name)
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", p.url, err)
		}
		if ok {
			found = append(found, entry{path.Join(folder, name), info})
		}
	}
	return found, nil
}

func hidden(name string) bool { return name[0] == '.' || name[0] == '_' }

// below hands over a file itself, or all visible files below a folder.
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
		if hidden(info.Name()) {
			continue
		}
		if err := p.below(ctx, entry{path.Join(root.path, info.Name()), info}, found); err != nil {
			return err
		}
	}
	return nil
}
