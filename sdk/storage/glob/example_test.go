package glob_test

import (
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/hamadryad/hamadryad/sdk/storage/glob"
)

// files is a tree of files by their whole paths.
type files []string

func (all files) Read(_ context.Context, folder string) (entries []glob.Entry, err error) {
	seen := map[string]bool{}
	for _, file := range all {
		rest, below := strings.CutPrefix(file, strings.TrimSuffix(folder, "/")+"/")
		name, _, deeper := strings.Cut(rest, "/")
		if below && !seen[name] {
			seen[name] = true
			entries = append(entries, glob.Entry{Path: path.Join(folder, name), Folder: deeper, File: !deeper})
		}
	}
	return entries, nil
}

func (all files) Look(_ context.Context, name string) (*glob.Entry, error) {
	for _, file := range all {
		if file == name {
			return &glob.Entry{Path: name, File: true}, nil
		}
		if strings.HasPrefix(file, strings.TrimSuffix(name, "/")+"/") {
			return &glob.Entry{Path: name, Folder: true}, nil
		}
	}
	return nil, nil
}

// A store brings its tree, and patterns mean what they mean in every store.
func ExampleMatch() {
	tree := files{"/logs/2026/a.log", "/logs/2026/b.txt", "/logs/2025/a.log", "/logs/_tmp/a.log"}
	found, err := glob.Match(context.Background(), tree, "/logs/**/*.log")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, entry := range found {
		fmt.Println(entry.Path)
	}
	// Output:
	// /logs/2025/a.log
	// /logs/2026/a.log
}
