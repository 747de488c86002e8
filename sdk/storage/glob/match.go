package glob

import (
	"context"
	"path"
	"sort"
	"strings"
)

// Entry is a file or folder of a tree.
type Entry struct {
	Path   string
	Folder bool // ** descends into it
	File   bool // it has no children
	Info   any  // the tree's own data, returned with the match
}

// Tree is a tree of files and folders to match patterns against.
type Tree interface {
	// Read lists a folder, with whole paths. A path that is no folder, or does not exist, has no
	// entries and is no error.
	Read(ctx context.Context, folder string) ([]Entry, error)
	// Look finds one path; nil if it does not exist.
	Look(ctx context.Context, path string) (*Entry, error)
}

// Match returns the entries that a pattern matches, each once, in order of path. A pattern that
// begins with a slash is matched from "/", others from "".
func Match(ctx context.Context, t Tree, pattern string) ([]Entry, error) {
	all, err := parse(pattern)
	if err != nil {
		return nil, err
	}
	root := ""
	if strings.HasPrefix(pattern, "/") {
		root = "/"
	}
	m := matcher{tree: t, read: map[string][]Entry{}, found: map[string]Entry{}}
	for _, elements := range all {
		if err := m.walk(ctx, Entry{Path: root, Folder: true}, elements); err != nil {
			return nil, err
		}
	}
	found := make([]Entry, 0, len(m.found))
	for _, e := range m.found {
		found = append(found, e)
	}
	sort.Slice(found, func(a, b int) bool { return found[a].Path < found[b].Path }) // slices.SortFunc adds 10 KB to each program
	return found, nil
}

// Ambiguous returns another path that a pattern matches besides the existing path that it spells
// literally. It returns "" if there is none, or if the path is no pattern.
func Ambiguous(ctx context.Context, t Tree, pattern string) (string, error) {
	if !Special(pattern) {
		return "", nil
	}
	if _, err := parse(pattern); err != nil {
		return "", nil //nolint:nilerr // then it can only be a name
	}
	found, err := Match(ctx, t, pattern)
	for _, e := range found {
		if e.Path != path.Clean(pattern) {
			return e.Path, err
		}
	}
	return "", err
}

type matcher struct {
	tree  Tree
	read  map[string][]Entry // folders already listed: ** visits them twice
	found map[string]Entry
}

func (m *matcher) list(ctx context.Context, folder string) ([]Entry, error) {
	if all, ok := m.read[folder]; ok {
		return all, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	all, err := m.tree.Read(ctx, folder)
	if err == nil {
		m.read[folder] = all
	}
	return all, err
}

// walk finds what the elements match below an entry.
func (m *matcher) walk(ctx context.Context, at Entry, elements []string) error {
	if len(elements) == 0 {
		if at.Info == nil { // a folder reached only by **, or the root
			e, err := m.tree.Look(ctx, at.Path)
			if err != nil || e == nil {
				return err
			}
			at = *e
		}
		m.found[at.Path] = at
		return nil
	}
	if at.File {
		return nil
	}
	element, rest := elements[0], elements[1:]
	switch {
	case element == "**":
		return m.deep(ctx, at, elements)
	case !Special(strings.ReplaceAll(element, `\`, "")):
		e, err := m.tree.Look(ctx, path.Join(at.Path, unescape(element)))
		if err != nil || e == nil {
			return err
		}
		return m.walk(ctx, *e, rest)
	}
	all, err := m.list(ctx, at.Path)
	if err != nil {
		return err
	}
	for _, e := range all {
		ok, err := matches(element, path.Base(e.Path))
		if err != nil {
			return err
		}
		if ok {
			if err := m.walk(ctx, e, rest); err != nil {
				return err
			}
		}
	}
	return nil
}

// deep is walk for **: at this entry, and in every visible folder below.
func (m *matcher) deep(ctx context.Context, at Entry, elements []string) error {
	if err := m.walk(ctx, at, elements[1:]); err != nil || len(elements) == 1 {
		return err // a folder stands for everything below it
	}
	all, err := m.list(ctx, at.Path)
	if err != nil {
		return err
	}
	for _, e := range all {
		if e.Folder && !Hidden(path.Base(e.Path)) {
			if err := m.deep(ctx, e, elements); err != nil {
				return err
			}
		}
	}
	return nil
}

// Hidden reports whether patterns leave a name out unless they spell its first character.
func Hidden(name string) bool { return name != "" && (name[0] == '.' || name[0] == '_') }

// matches reports whether an element matches a name. A hidden name must be spelled.
func matches(element, name string) (bool, error) {
	if Hidden(name) && strings.TrimPrefix(element, `\`)[:1] != name[:1] {
		return false, nil
	}
	return path.Match(element, name)
}

// unescape returns the name that an element without wildcards spells.
func unescape(element string) string {
	var b strings.Builder
	for i := 0; i < len(element); i++ {
		if element[i] == '\\' && i+1 < len(element) {
			i++
		}
		b.WriteByte(element[i])
	}
	return b.String()
}
